"""What must be true of the objects and of the hosts, over plain values. Run alone, it proves that it can say no.

Every function returns a list of sentences; an empty one is a pass. Attachments and IPLocks are as the API
lists them.
"""

import ipaddress


def addresses(attachment):
    """(VNI, address, UID of its lock) for each address it has."""
    status = attachment.get("status", {})
    for field, lock in (("ipv4", "lockUID"), ("ipv6", "ipv6LockUID")):
        if status.get(field):
            yield status.get("addressVNI", 0), ipaddress.ip_address(status[field]), status.get(lock, "")


def name(item):
    return f"{item['metadata']['namespace']}/{item['metadata']['name']}"


def lock_name(vni, address):
    if address.version == 4:
        return f"v1-{vni}-" + str(address).replace(".", "-")
    return f"v2-{vni}-" + "-".join(f"{int(part, 16):x}" for part in address.exploded.split(":"))


def owned_twice(attachments):
    """Never, not even for a moment: one list is one moment."""
    owners, wrong = {}, []
    for one in attachments:
        for vni, address, _ in addresses(one):
            other = owners.setdefault((vni, address), one)
            if other is not one:
                wrong.append(f"{address} of network {vni} belongs to {name(other)} and {name(one)}")
    return wrong


def locks_wrong(attachments, locks):
    """At rest each address has its lock, and each lock its address."""
    wrong, expected = [], {}
    for one in attachments:
        for vni, address, lock_uid in addresses(one):
            expected[one["metadata"]["namespace"], lock_name(vni, address)] = (one, lock_uid)
    for lock in locks:
        meta = lock["metadata"]
        owner, lock_uid = expected.pop((meta["namespace"], meta["name"]), (None, None))
        if owner is None:
            awaited = meta.get("annotations", {}).get("fairlead.dev/awaits", "nobody")
            wrong.append(f"lock {meta['name']} is left over" +
                         (f", released, and waits for {awaited}" if "deletionTimestamp" in meta else ""))
        elif meta["uid"] != lock_uid:
            wrong.append(f"{name(owner)} names another lock than {meta['name']}")
        elif [ref["uid"] for ref in meta.get("ownerReferences", [])] != [owner["metadata"]["uid"]]:
            wrong.append(f"lock {meta['name']} does not belong to {name(owner)}")
        elif "deletionTimestamp" in meta:
            wrong.append(f"lock {meta['name']} of {name(owner)} is released")
    wrong += [f"{name(one)} has no lock {lock}" for (_, lock), (one, _) in expected.items()]
    return wrong


def unserved(attachments):
    """At rest everybody has an interface, but for who wants an address that another has."""
    taken = {(vni, str(address)) for one in attachments for vni, address, _ in addresses(one)}
    networks = {one["metadata"]["namespace"]: vni for one in attachments for vni, _, _ in addresses(one)}
    wrong = []
    for one in attachments:
        status, wanted = one.get("status", {}), one["spec"].get("fixedIPv4", "")
        errors = status.get("errors", {})
        if "deletionTimestamp" in one["metadata"]:
            wrong.append(f"{name(one)} is still being deleted")
        elif not status.get("ipv4"):
            if (networks.get(one["metadata"]["namespace"]), wanted) not in taken:
                wrong.append(f"{name(one)} has no address: {errors}")
        elif not status.get("ifcName") or not status.get("hostIP") or errors:
            wrong.append(f"{name(one)} has no interface: {errors}")
    return wrong


def interfaces_wrong(attachments, found):
    """`found` is {node: names of interfaces}, in the host or with its guests."""
    wanted = {node: {} for node in found}
    for one in attachments:
        if one.get("status", {}).get("ifcName"):
            wanted[one["spec"]["node"]][one["status"]["ifcName"]] = name(one)
    wrong = []
    for node in found:
        wrong += [f"{node} lacks {interface} of {whose}" for interface, whose in wanted[node].items()
                  if interface not in found[node]]
        wrong += [f"{node} has {interface}, which nobody asked for" for interface in found[node]
                  if interface not in wanted[node]]
    return wrong


def crossed(frames):
    """Never: `frames` are (VNI of the sender, VNI where it arrived, text)."""
    return [f"{text}: from network {source} into network {target}" for source, target, text in frames
            if source != target]


class Owners:
    """Who was seen to own an address, in that order. An interface belongs to one attachment for ever, and an attachment
    that lost an address never gets it again."""

    def __init__(self):
        self.history = {}     # (VNI, address) → UIDs
        self.interfaces = {}  # name → (UID, VNI)
        self.macs = {}        # UID → MAC

    def look(self, attachments):
        """All attachments, as of one moment."""
        for one in attachments:
            uid, status = one["metadata"]["uid"], one.get("status", {})
            for vni, address, _ in addresses(one):
                uids = self.history.setdefault((vni, address), [])
                if uid not in uids:
                    uids.append(uid)
                self.macs[uid] = status.get("macAddress", "")
                if status.get("ifcName"):
                    self.interfaces[status["ifcName"]] = (uid, vni)

    def now(self):
        """For each address its last owner so far, as a place in the history."""
        return {address: len(uids) - 1 for address, uids in self.history.items()}

    def misled(self, sent, receiver):
        """`sent` is (sender's interface, address, what now() was); where it arrived."""
        sender, address, then = sent
        if sender not in self.interfaces or receiver not in self.interfaces:
            return []  # too short-lived to be seen
        vni, (uid, other) = self.interfaces[sender][1], self.interfaces[receiver]
        if vni != other:
            return [f"a frame to {address}: from network {vni} into network {other}"]
        uids = self.history.get((vni, address), [])
        if uid not in uids:
            return [f"what was for {address} in {vni} arrived at {uid}, which never had it"]
        if uids.index(uid) < then.get((vni, address), 0):
            return [f"what was for {address} in {vni} arrived at {uid}, when it belonged to "
                    f"{uids[then[vni, address]]} already"]
        return []

    def misnamed(self, asked, mac):
        """`asked` is like `sent` above; and which MAC was the answer."""
        asker, address, then = asked
        if asker not in self.interfaces:
            return []
        vni = self.interfaces[asker][1]
        uids = self.history.get((vni, address), [])
        if mac not in [self.macs[uid] for uid in uids[then.get((vni, address), 0):]]:
            return [f"who has {address} in {vni}? {mac}, it was said, which is none of those who had it since"]
        return []


def prove_owners():
    """Frames that go to who had the address, or never had it, are told from those that go to who has it."""
    def attachment(uid, ip, vni=7):
        return {"metadata": {"uid": uid}, "status": {"ipv4": ip, "addressVNI": vni, "ifcName": "fl" + uid,
                                                     "macAddress": "m" + uid}}
    ip = ipaddress.ip_address("10.0.0.1")
    owners = Owners()
    owners.look([attachment("a", "10.0.0.1"), attachment("s", "10.0.0.9"), attachment("x", "10.0.0.1", 8)])
    before = owners.now()
    assert not owners.misled(("fls", ip, before), "fla") and not owners.misnamed(("fls", ip, before), "ma")
    assert owners.misled(("fls", ip, before), "flx"), "another network"
    assert owners.misled(("fls", ip, before), "fls"), "somebody who never had it"
    assert owners.misnamed(("fls", ip, before), "ms")
    owners.look([attachment("b", "10.0.0.1"), attachment("s", "10.0.0.9")])
    assert not owners.misled(("fls", ip, before), "fla"), "it was under way when the address changed hands"
    assert not owners.misled(("fls", ip, owners.now()), "flb") and not owners.misled(("fls", ip, before), "flb")
    assert owners.misled(("fls", ip, owners.now()), "fla"), "it belonged to another"
    assert owners.misnamed(("fls", ip, owners.now()), "ma") and not owners.misnamed(("fls", ip, owners.now()), "mb")
    assert not owners.misled(("fls", ip, owners.now()), "flz"), "never seen"


class Dark:
    """When a switch could not forward, by what was done to it: nothing else explains a ping that was lost."""

    def __init__(self):
        self.spans = []  # [hosts, from, until or None]

    def begin(self, hosts, at):
        self.spans.append([set(hosts), at, None])

    def end(self, hosts, at):
        for span in self.spans:
            if span[0] == set(hosts) and span[2] is None:
                span[2] = at

    def explains(self, hosts, sent, answered_by):
        """A ping between these hosts, and when its answer would have been there."""
        return any(span[0] & set(hosts) and span[1] <= answered_by and (span[2] is None or sent <= span[2])
                   for span in self.spans)


def unexplained(lost, dark, answer_within):
    """`lost` is {name: (hosts, moments at which they were sent)}."""
    return {name: left for name, (hosts, moments) in lost.items()
            if (left := [at for at in moments if not dark.explains(hosts, at, at + answer_within)])}


def prove_dark():
    dark = Dark()
    dark.begin({"h1"}, 10)
    dark.end({"h1"}, 20)
    assert not unexplained({"p": ({"h1", "h2"}, [9.5, 10, 15, 20])}, dark, 1)
    assert unexplained({"p": ({"h1", "h2"}, [8, 15, 21])}, dark, 1) == {"p": [8, 21]}
    assert unexplained({"p": ({"h2", "h3"}, [15])}, dark, 1) == {"p": [15]}


def prove():
    """Every kind of broken promise is found."""
    def attachment(number, ip, **more):
        status = {"ipv4": ip, "addressVNI": 7, "lockUID": f"l{number}", "ifcName": f"fl{number}", "hostIP": "h"}
        status.update(more)
        return {"metadata": {"namespace": "n", "name": f"a{number}", "uid": f"u{number}"},
                "spec": {"node": "h1"}, "status": status}

    def lock(number, ip, owner=None, **more):
        return {"metadata": {"namespace": "n", "name": "v1-7-" + ip.replace(".", "-"), "uid": f"l{number}",
                             "ownerReferences": [{"uid": owner or f"u{number}"}], **more}}

    one, two = attachment(1, "10.0.0.1"), attachment(2, "10.0.0.2")
    locks = [lock(1, "10.0.0.1"), lock(2, "10.0.0.2")]
    six = attachment(3, "10.0.0.3", ipv6="fd00::3", ipv6LockUID="l9")
    six_lock = lock(9, "10.0.0.9", owner="u3")
    six_lock["metadata"]["name"] = "v2-7-fd00-0-0-0-0-0-0-3"
    assert not owned_twice([one, two]) and not locks_wrong([one, two], locks)
    assert not locks_wrong([six], [lock(3, "10.0.0.3"), six_lock])
    assert owned_twice([one, attachment(2, "10.0.0.1")])
    assert not owned_twice([one, attachment(2, "10.0.0.1", addressVNI=8)])
    assert locks_wrong([one], locks), "a leaked lock"
    assert locks_wrong([one, two], locks[:1]), "a missing lock"
    assert locks_wrong([one], [lock(1, "10.0.0.1", owner="u2")]), "another's lock"
    assert locks_wrong([one], [lock(5, "10.0.0.1", owner="u1")]), "a lock of before"
    assert locks_wrong([one], [lock(1, "10.0.0.1", deletionTimestamp="now")]), "a released lock"
    assert not unserved([one, two])
    assert unserved([one, attachment(2, "")]) and unserved([attachment(2, "10.0.0.2", ifcName="")])
    assert unserved([attachment(2, "10.0.0.2", errors={"host": ["no"]})])
    waiting = attachment(2, "", ifcName="")
    waiting["spec"]["fixedIPv4"] = "10.0.0.1"
    assert not unserved([one, waiting]) and unserved([waiting])
    assert not interfaces_wrong([one, two], {"h1": {"fl1", "fl2"}})
    assert interfaces_wrong([one, two], {"h1": {"fl1"}}) and interfaces_wrong([one], {"h1": {"fl1", "fl2"}})
    assert not crossed([(7, 7, "f")]) and crossed([(7, 8, "f")])


if __name__ == "__main__":
    prove()
    prove_owners()
    prove_dark()
