#!/usr/bin/env python3
"""Judges what the fences of several engines said (vip_lease_driver): no two nodes may answer for one VIP at one time.

    vip_leases_judge.py FILE…        one file of lines for each node, named NODE.fence; prints what happened
    vip_leases_judge.py              a test of itself

All nodes are on one machine, so their boot times are one clock. A fence that was opened is open until its deadline or
until it is closed, whichever comes first; what passed it may wait in a queue for less than the margin.
"""
import pathlib
import sys

MARGIN = 18_000_000  # ns; nine tenths of what the engines wait


def intervals(lines):
    """VIP → list of [from, until] in which the node may have answered."""
    result = {}
    for line in lines:
        words = line.split()
        if len(words) < 3 or words[0] not in ("open", "close"):
            continue  # the last line of a process that was killed
        now, vip = int(words[1]), words[2]
        known = result.setdefault(vip, [])
        if known and now < known[-1][1]:
            if words[0] == "close":
                known[-1][1] = now
            elif len(words) == 4:
                known[-1][1] = max(known[-1][1], int(words[3]))
        elif words[0] == "open" and len(words) == 4 and now < int(words[3]):
            known.append([now, int(words[3])])
    return result


def judge(nodes):
    """nodes: name → lines. Returns complaints, and the number of times that each VIP changed hands."""
    complaints, changes = [], {}
    spans = {}
    for node, lines in nodes.items():
        for vip, known in intervals(lines).items():
            spans.setdefault(vip, []).extend((begin, end + MARGIN, node) for begin, end in known)
    for vip, known in spans.items():
        known.sort()
        changes[vip] = sum(one[2] != other[2] for one, other in zip(known, known[1:]))
        for i, (begin, end, node) in enumerate(known):
            for later_begin, _, other in known[i + 1:]:
                if later_begin >= end:
                    break
                if other != node:
                    complaints.append(f"{vip}: {other} answers {(end - later_begin) / 1e6:.1f} ms before {node} has ended")
    return complaints, changes


def test_itself():
    alone = ["open 0 v 100000000", "open 50000000 v 150000000", "close 120000000 v"]
    assert judge({"a": alone, "b": ["open 140000000 v 300000000"]}) == ([], {"v": 1})
    assert judge({"a": alone, "b": ["open 130000000 v 300000000"]})[0]      # within the margin
    assert judge({"a": alone[:2], "b": ["open 155000000 v 300000000"]})[0]  # killed: until the deadline
    assert not judge({"a": alone[:2], "b": ["open 170000000 v 300000000"]})[0]
    assert not judge({"a": ["open 5 v 1", "clo"], "b": ["open 6 v 100"]})[0]


def main():
    if len(sys.argv) == 1:
        test_itself()
        return 0
    nodes = {}
    for name in sys.argv[1:]:
        path = pathlib.Path(name)
        nodes[path.name.removesuffix(".fence")] = path.read_text().splitlines()
    complaints, changes = judge(nodes)
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    print("changes:", " ".join(f"{vip}={count}" for vip, count in sorted(changes.items())))
    return 1 if complaints or not changes else 0


if __name__ == "__main__":
    sys.exit(main())
