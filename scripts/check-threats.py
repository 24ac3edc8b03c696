#!/usr/bin/env python3
"""Checks that every test that THREATS.md names exists.

A name in backticks is a unit test ("Suite.Name"), an attack ("attack:name", one that tests/e2e/attack runs), or
a script of tests/e2e or tests/netns ("name.sh"). Every row of a table with a column "shown by" must name at least one. An attack
is run when it is in the list ATTACKS of its file and attack.py uses that list; one that is written and not run is
an error too.
"""

import ast
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
UNIT = re.compile(r"^TEST(?:_[FP])?\((\w+),\s*(\w+)\)", re.MULTILINE)
ATTACKS = ROOT / "tests" / "e2e" / "attack"
NAMED = re.compile(r"`([A-Z]\w+\.\w+|attack:\w+|\w+\.sh)`")


def known_tests():
    names = {path.name for folder in ("e2e", "netns") for path in (ROOT / "tests" / folder).glob("*.sh")}
    for source in [*ROOT.glob("src/**/*_test.cc"), *ROOT.glob("sim/**/*_test.cc")]:
        names |= {".".join(match) for match in UNIT.findall(source.read_text())}
    return names | {f"attack:{name}" for name in attacks()[0]}


def listed_in(tree):
    """What the list ATTACKS of a file names."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["ATTACKS"]:
            return [element.id for element in node.value.elts]
    return []


def attacks():
    """The names of those that are run, and what is wrong with the others."""
    used = {node.value.id for node in ast.walk(ast.parse((ATTACKS / "attack.py").read_text()))
            if isinstance(node, ast.Attribute) and node.attr == "ATTACKS" and isinstance(node.value, ast.Name)}
    run, problems = set(), []
    for path in sorted(ATTACKS.glob("*.py")):
        tree = ast.parse(path.read_text())
        listed = listed_in(tree)
        if listed and path.stem not in used:
            problems.append(f"{path.relative_to(ROOT)}: attack.py does not run its ATTACKS")
        elif listed:
            run |= set(listed)
        written = {node.name for node in tree.body
                   if isinstance(node, ast.FunctionDef) and [a.arg for a in node.args.args] == ["target"]}
        problems += [f"{path.relative_to(ROOT)}: {name} is an attack that is not in ATTACKS"
                     for name in sorted(written - set(listed)) if listed]
    return run, problems


def main():
    known, problems, shown_by = known_tests(), attacks()[1], False
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
