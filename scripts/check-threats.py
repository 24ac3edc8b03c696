#!/usr/bin/env python3
"""Checks that every test that THREATS.md names exists.

A name in backticks is a unit test ("Suite.Name"), an attack ("attack:name", a function in tests/e2e/attack), or
a script of tests/e2e or tests/netns ("name.sh"). Every row of a table with a column "shown by" must name at least one.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
UNIT = re.compile(r"^TEST(?:_[FP])?\((\w+),\s*(\w+)\)", re.MULTILINE)
NAMED = re.compile(r"`([A-Z]\w+\.\w+|attack:\w+|\w+\.sh)`")


def known_tests():
    names = {path.name for folder in ("e2e", "netns") for path in (ROOT / "tests" / folder).glob("*.sh")}
    for source in [*ROOT.glob("src/**/*_test.cc"), *ROOT.glob("sim/*_test.cc")]:
        names |= {".".join(match) for match in UNIT.findall(source.read_text())}
    attacks = "\n".join(path.read_text() for path in (ROOT / "tests" / "e2e" / "attack").glob("*.py"))
    return names | {f"attack:{name}" for name in re.findall(r"^def (\w+)\(target\)", attacks, re.MULTILINE)}


def main():
    known, problems, shown_by = known_tests(), [], False
    for number, line in enumerate((ROOT / "THREATS.md").read_text().splitlines(), 1):
        named = NAMED.findall(line)
        problems += [f"THREATS.md:{number}: no test {name}" for name in named
                     if name not in known and not name.endswith(".md")]
        if not line.startswith("|"):
            shown_by = False
        elif "shown by" in line:
            shown_by = True
        elif shown_by and not line.startswith("|---") and not named:
            problems.append(f"THREATS.md:{number}: this row names no test")
    print("\n".join(problems), file=sys.stderr, end="\n" if problems else "")
    return 1 if problems else 0


sys.exit(main())
