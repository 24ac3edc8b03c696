#!/usr/bin/env python3
"""Does the test of the alert rules notice a wrong `for:`, of each alert?

alert_patience.py FOLDER: with every `for:` of its rules.yml one minute longer, and with every one a minute shorter,
rules_test.yml must fail, and name each alert. (An alert without `for:` gets one; none gets shorter than nothing.)
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import yaml


def minutes(text):
    found = re.fullmatch(r"(\d+)([mh])", text or "0m")
    assert found, f"for: {text}: in whole minutes or hours, please"
    return int(found[1]) * {"m": 1, "h": 60}[found[2]]


def names_that_fail(folder, change):
    """The alerts that the test complains about when every `for:` is so many minutes longer."""
    rules = yaml.safe_load((folder / "rules.yml").read_text(encoding="utf-8"))
    changed = set()
    for rule in (rule for group in rules["groups"] for rule in group["rules"] if "alert" in rule):
        patience = minutes(rule.get("for"))
        if patience + change < 0:
            continue
        rule["for"] = f"{patience + change}m"
        changed.add(rule["alert"])
    with tempfile.TemporaryDirectory() as scratch:
        copy = pathlib.Path(scratch)
        (copy / "rules.yml").write_text(yaml.safe_dump(rules), encoding="utf-8")
        (copy / "rules_test.yml").write_bytes((folder / "rules_test.yml").read_bytes())
        run = subprocess.run(["promtool", "test", "rules", str(copy / "rules_test.yml")], capture_output=True, text=True)
    told = set(re.findall(r'count\(ALERTS\{alertname=\\?"(\w+)\\?"', run.stdout + run.stderr))
    return changed, told if run.returncode != 0 else set()


def main():
    folder, wrong = pathlib.Path(sys.argv[1]), []
    for change, word in ((1, "longer"), (-1, "shorter")):
        changed, told = names_that_fail(folder, change)
        wrong += [f"{alert}: no test fails when its `for:` is a minute {word}" for alert in sorted(changed - told)]
        print(f"{len(changed)} alerts with a `for:` a minute {word}: {len(changed & told)} noticed")
    print("\n".join(wrong))
    return 1 if wrong or not changed else 0


if __name__ == "__main__":
    sys.exit(main())
