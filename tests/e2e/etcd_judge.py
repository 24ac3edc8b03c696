"""What a run of etcd_storm.py must have kept, over plain values. Run alone, it proves that it can say no.

A watcher's story is a list of steps, in the order in which they came:
  ("list", version, {name: (version, value)})   it started over
  ("event", version, type, name, value)         ADDED, MODIFIED or DELETED
  ("bookmark", version)                         everything up to there was told
"""


class Verdict(Exception):
    pass


def replay(who, story):
    """Checks one watcher's order; returns what it holds at the end and its unbroken stretches.

    A stretch is [the version it listed at, the last one it was told, {version: event}].
    """
    contents, stretches, at = {}, [], 0
    for step in story:
        kind, version = step[0], step[1]
        if kind == "list":
            if version < at:
                raise Verdict(f"{who}: listed at {version} after it was told {at}")
            for name, (item_version, _) in step[2].items():
                if item_version > version:
                    raise Verdict(f"{who}: {name} is at {item_version} in a list at {version}")
                if item_version < contents.get(name, (0,))[0]:
                    raise Verdict(f"{who}: {name} went back in a list, to {item_version}")
            contents = dict(step[2])
            stretches.append([version, version, {}])
        elif kind == "bookmark":
            if version < at:
                raise Verdict(f"{who}: bookmark {version} after {at}")
            stretches[-1][1] = version
        else:
            _, _, change, name, value = step
            if version <= at:
                raise Verdict(f"{who}: {change} {name} at {version} after {at}")
            if (change == "ADDED") == (name in contents):
                raise Verdict(f"{who}: {change} {name} at {version}, which it "
                              f"{'had' if name in contents else 'did not have'}")
            if change == "DELETED":
                del contents[name]
            else:
                contents[name] = (version, value)
            stretches[-1][1] = version
            stretches[-1][2][version] = (change, name, value)
        at = version
    return contents, stretches


def compare(first, first_stretches, second, second_stretches):
    """Where both watched without a break they were told the same; returns how many changes that were."""
    shared = 0
    for begin, end, told in first_stretches:
        for other_begin, other_end, other_told in second_stretches:
            low, high = max(begin, other_begin), min(end, other_end)
            ours = {version: event for version, event in told.items() if low < version <= high}
            theirs = {version: event for version, event in other_told.items() if low < version <= high}
            for version in sorted(ours.keys() | theirs.keys()):
                if ours.get(version) != theirs.get(version):
                    raise Verdict(f"at {version} {first} was told {ours.get(version)}, "
                                  f"{second} {theirs.get(version)}")
            shared += len(ours)
    return shared


class History:
    """Everything that any watcher was told, and where that is all there was."""

    def __init__(self, all_stretches):
        self.events, self.whole = {}, []
        for begin, end, told in sorted(all_stretches, key=lambda stretch: stretch[:2]):
            self.events.update(told)
            if self.whole and begin <= self.whole[-1][1]:
                self.whole[-1][1] = max(self.whole[-1][1], end)
            else:
                self.whole.append([begin, end])
        self.versions_of = {}
        for version in sorted(self.events):
            self.versions_of.setdefault(self.events[version][1], []).append(version)

    def covers(self, low, high):
        return any(begin <= low and high <= end for begin, end in self.whole)


def check_writes(writes, history, present):
    """Acknowledged: it happened just so, and nothing but a later change took it away. Refused: it did not happen.

    A write is (fate, verb, name, value, base, version, uid): `base` is the version it was allowed to
    change. `present` is {name: (version, value, uid)} at the end. Returns how many were acknowledged.
    """
    values = {(name, value) for change, name, value in history.events.values() if change != "DELETED"}
    values |= {(name, value) for name, (_, value, _) in present.items()}
    acknowledged = 0
    for fate, verb, name, value, base, version, uid in writes:
        found = present.get(name)
        if fate == "refused":
            if verb != "delete" and (name, value) in values:
                raise Verdict(f"refused and made: {verb} {name} = {value}")
        elif fate == "acknowledged":
            acknowledged += 1
            if verb == "delete":
                check_delete(name, base, uid, history, found)
                continue
            if found and found[0] < version:
                raise Verdict(f"{name} went back: acknowledged at {version}, found at {found[0]}")
            if found and found[0] == version and found[1] != value:
                raise Verdict(f"{name} was acknowledged as {value} and holds {found[1]}")
            if history.covers(version - 1, version) and history.events.get(version, ())[1:] != (name, value):
                raise Verdict(f"{verb} {name} = {value} was acknowledged at {version}, where "
                              f"{history.events.get(version)} happened")
            if not found and not any(later > version and history.events[later][0] == "DELETED"
                                     for later in history.versions_of.get(name, ())):
                if history.covers(version, history.whole[-1][1]):
                    raise Verdict(f"{name} was acknowledged at {version} and is gone")
    return acknowledged


def check_delete(name, base, uid, history, found):
    if found and found[2] == uid:
        raise Verdict(f"{name} was deleted, acknowledged, and is there")
    after = [version for version in history.versions_of.get(name, ()) if version > base]
    if after and history.covers(base, after[0]) and history.events[after[0]][0] != "DELETED":
        raise Verdict(f"{name} was deleted at {base}, acknowledged, and next came {history.events[after[0]]}")


def check_counter(name, history, acknowledged, unknown, final):
    """A counter that everybody raises through every server: no step twice, none lost."""
    last = None
    for version in history.versions_of.get(name, ()):
        if last and history.covers(last[0], version) and int(history.events[version][2]) != last[1] + 1:
            raise Verdict(f"{name} went from {last[1]} to {history.events[version][2]} at {version}")
        last = (version, int(history.events[version][2]))
    if not acknowledged <= final <= acknowledged + unknown:
        raise Verdict(f"{name} is {final} after {acknowledged} acknowledged and {unknown} unknown steps")


def prove():
    """Every kind of broken promise is found."""
    listing = ("list", 5, {"a": (5, "x")})
    good = [listing, ("event", 11, "MODIFIED", "a", "y"), ("bookmark", 12), ("event", 13, "DELETED", "a", "y")]

    def refused(what, function, *arguments):
        try:
            function(*arguments)
        except Verdict:
            return
        raise SystemExit(f"the judge accepts {what}")

    contents, stretches = replay("w", good)
    assert contents == {} and [s[:2] for s in stretches] == [[5, 13]]
    assert compare("v", stretches, "w", stretches) == 2
    refused("a repeated event", replay, "w", good[:2] + good[1:])
    refused("an event before the bookmark", replay, "w", good[:3] + [("event", 12, "ADDED", "b", "")])
    refused("a second ADDED", replay, "w", [listing, ("event", 11, "ADDED", "a", "y")])
    refused("a deletion of nothing", replay, "w", [listing, ("event", 11, "DELETED", "b", "y")])
    refused("a list in the past", replay, "w", good + [listing])
    _, gap = replay("w", [listing, ("event", 13, "DELETED", "a", "y")])
    refused("a gap", compare, "v", stretches, "w", gap)

    history = History(stretches)
    acknowledged = ("acknowledged", "update", "a", "y", 5, 11, "u")
    assert check_writes([acknowledged], history, {}) == 1
    refused("a lost write", check_writes, [acknowledged], History(gap), {"a": (5, "x", "u")})
    refused("another's version", check_writes, [acknowledged[:5] + (13, "u")], history, {})
    lost = ("acknowledged", "create", "b", "z", 0, 12, "v")
    refused("a create that nobody saw", check_writes, [lost], history, {})
    refused("a refused write that was made", check_writes, [("refused",) + acknowledged[1:]], history, {})
    deleted = ("acknowledged", "delete", "a", "", 5, 0, "u")
    refused("an undone deletion", check_writes, [deleted], history, {"a": (14, "x", "u")})
    refused("a deletion of a newer state", check_writes, [deleted], history, {})
    steps = [("list", 1, {}), ("event", 2, "ADDED", "n", "0"), ("event", 3, "MODIFIED", "n", "1"),
             ("event", 4, "MODIFIED", "n", "1")]
    refused("a lost step", check_counter, "n", History(replay("w", steps)[1]), 1, 0, 1)
    check_counter("n", History(replay("w", steps[:3])[1]), 1, 0, 1)
    refused("a step too few", check_counter, "n", History(replay("w", steps[:3])[1]), 2, 0, 1)


if __name__ == "__main__":
    prove()
