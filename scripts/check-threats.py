#!/usr/bin/env python3
"""Checks that every test that THREATS.md and docs/promises.md name exists.

A name in backticks is a unit test or scenario ("Suite.Name"), an attack ("attack:name", one that tests/e2e/attack
runs), a script of tests/e2e, tests/netns or tests/vm ("name.sh"), a fuzz target ("name_fuzz") or a checker of the
simulation ("NameChecker", a class in sim/checkers). A path ("tests/…", "sim/…", "scripts/…") must exist. An attack is
run when it is in the list ATTACKS of its file and attack.py uses that list; one that is written and not run is an error
too.

In THREATS.md every row of a table with a column "shown by" must name at least one. In docs/promises.md every promise
has the next number, and each of its two cells of checks names at least one or says "none yet".
"""

import ast
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
UNIT = re.compile(r"^TEST(?:_[FP])?\((\w+),\s*(\w+)\)", re.MULTILINE)
ATTACKS = ROOT / "tests" / "e2e" / "attack"
CHECKER = re.compile(r"^class (\w+Checker)\b", re.MULTILINE)
NAMED = re.compile(r"`([A-Z]\w+\.\w+|[A-Z]\w+Checker|attack:\w+|\w+\.sh|\w+_fuzz|(?:tests|sim|scripts)/[\w./]+)`")


def known_tests():
    names = {path.name for folder in ("e2e", "netns", "vm") for path in (ROOT / "tests" / folder).glob("*.sh")}
    names |= {path.stem for path in ROOT.glob("tests/fuzz/*_fuzz.cc")}
    for folder in ("src", "sim", "tests"):
        for source in (ROOT / folder).glob("**/*_test.cc"):
            names |= {".".join(match) for match in UNIT.findall(source.read_text())}
    for header in ROOT.glob("sim/checkers/*.h"):
        names |= set(CHECKER.findall(header.read_text()))
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


def exists(name, known):
    return (ROOT / name).exists() if "/" in name else name in known or name.endswith(".md")


def unknown_names(document, known):
    for number, line in enumerate((ROOT / document).read_text().splitlines(), 1):
        yield from (f"{document}:{number}: no test {name}" for name in NAMED.findall(line) if not exists(name, known))


def threats_without_test():
    shown_by = False
    for number, line in enumerate((ROOT / "THREATS.md").read_text().splitlines(), 1):
        if not line.startswith("|"):
            shown_by = False
        elif "shown by" in line:
            shown_by = True
        elif shown_by and not line.startswith("|---") and not NAMED.findall(line):
            yield f"THREATS.md:{number}: this row names no test"


def promises_without_check():
    rows = [(number, [cell.strip() for cell in line.strip("|").split("|")])
            for number, line in enumerate((ROOT / "docs/promises.md").read_text().splitlines(), 1)
            if line.startswith("|")][2:]
    if not rows:
        yield "docs/promises.md: no table of promises"
    for expected, (number, cells) in enumerate(rows, 1):
        where = f"docs/promises.md:{number}"
        if len(cells) != 4 or cells[0] != str(expected):
            yield f"{where}: not promise {expected} with two cells of checks"
            continue
        for column, cell in zip(("in simulation", "for real"), cells[2:]):
            if not NAMED.findall(cell) and not cell.startswith("none yet"):
                yield f"{where}: promise {expected} names no check {column} and does not say \"none yet\""


def main():
    known = known_tests()
    problems = [*attacks()[1], *threats_without_test(), *promises_without_check()]
    for document in ("THREATS.md", "docs/promises.md"):
        problems += unknown_names(document, known)
    print("\n".join(problems), file=sys.stderr, end="\n" if problems else "")
    return 1 if problems else 0


sys.exit(main())
