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
