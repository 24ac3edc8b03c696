#!/usr/bin/env python3
"""Judges whether two hosts answered for a virtual IP at the same time.

  vip_judge.py VIP[,VIP…] HOST=FILE.pcap …
  vip_judge.py                              a test of itself

Each file has what one host sent into its port of the switch. An answer is an ARP or neighbour claim for the VIP, or an IP
packet with it as source. The answers of all hosts, in the order of time, fall into runs of one host each. A host that
rightly takes the VIP announces it (gratuitous ARP, unsolicited advertisement), so a run without an announcement is a host
that went on answering beside another. (Two that answer at once make runs of a millisecond.)

The announcement counts if it comes in the first 100 ms of the run, or later by no more than the host was silent before the
run. So a host that has just taken the VIP may be as slow as the machine is, because nobody else answers meanwhile. But one
that goes on after another's announcement is not excused by the next announcement that it sends anyway.

A host that never announces is convicted also if it came after the other had fallen silent ("after" says by how many
nanoseconds): its neighbours do not know where the VIP is.

Prints what it saw as JSON; ends with 1 if two answered at once, with 3 if it saw nothing to judge.
"""
import ipaddress
import json
import struct
import sys

SOON = 100 * 10**6  # ns


def frames(path):
    """Time in nanoseconds and bytes of each frame; a file that is cut off ends there."""
    with open(path, "rb") as file:
        head = file.read(24)
        if len(head) < 24:
            return
        magic = struct.unpack("<I", head[:4])[0]
        unit = {0xA1B2C3D4: 1000, 0xA1B23C4D: 1}[magic]
        while True:
            record = file.read(16)
            if len(record) < 16:
                return
            seconds, fraction, length, _ = struct.unpack("<IIII", record)
            data = file.read(length)
            if len(data) < length:
                return
            yield seconds * 10**9 + fraction * unit, data


def answer(frame):
    """(address, is an announcement) of a frame that answers for an address, else None."""
    ethertype, at = struct.unpack("!H", frame[12:14])[0], 14
    while ethertype in (0x8100, 0x88A8):
        ethertype, at = struct.unpack("!H", frame[at + 2:at + 4])[0], at + 4
    body = frame[at:]
    if ethertype == 0x0806 and len(body) >= 28:
        sender, target = body[14:18], body[24:28]
        if sender == b"\0\0\0\0":
            return None  # a probe claims nothing
        return ipaddress.ip_address(sender), sender == target
    if ethertype == 0x0800 and len(body) >= 20:
        return ipaddress.ip_address(body[12:16]), False
    if ethertype == 0x86DD and len(body) >= 40:
        source, destination = body[8:24], body[24:40]
        if body[6] == 58 and len(body) >= 64 and body[40] == 136:  # neighbour advertisement
            all_nodes = destination == ipaddress.ip_address("ff02::1").packed
            return ipaddress.ip_address(body[48:64]), all_nodes
        return ipaddress.ip_address(source), False
    return None


def judge(vip, answers):
    """`answers` are (time, host, is an announcement), in the order of time."""
    runs, heard = [], {}  # heard: host → time of its last answer
    for time, host, announced in answers:
        if not runs or runs[-1]["host"] != host:
            patience = max(SOON, time - heard[host]) if host in heard else float("inf")
            runs.append({"host": host, "first": time, "last": time, "answers": 0, "announced": False, "patience": patience})
        run = runs[-1]
        run["last"] = heard[host] = time
        run["answers"] += 1
        run["announced"] |= announced and time - run["first"] <= run["patience"]
    faults = [{"at": run["first"], "host": run["host"], "answers": run["answers"], "beside": before["host"],
               "after": run["first"] - before["last"]}
              for before, run in zip(runs, runs[1:]) if not run["announced"]]
    return {"vip": vip, "answers": len(answers), "hosts": sorted({a[1] for a in answers}),
            "runs": [[run["host"], run["answers"]] for run in runs][-20:], "changes": max(0, len(runs) - 1),
            "last": runs[-1]["host"] if runs else "", "two": len(faults), "faults": faults[:5]}


def test_itself():
    def two(*spans):  # (host, from, until, announcements…), in ms: an answer each millisecond
        answers = [(ms * 10**6, host, ms in said) for host, begin, end, *said in spans for ms in range(begin, end)]
        return judge("v", sorted(answers))["two"]

    assert two(("a", 0, 500), ("b", 510, 900, 510, 700)) == 0                          # taken in order
    assert two(("a", 0, 500), ("b", 510, 900, 800)) == 0                               # announced late, and alone
    assert two(("a", 0, 500), ("b", 510, 900, 510), ("a", 1000, 1900, 1300)) == 0      # back again, late
    assert two(("a", 0, 500), ("b", 510, 900)) == 1                                    # never announced
    assert two(("a", 0, 500), ("b", 400, 900, 400, 600)) > 50                          # both for 100 ms
    assert two(("a", 0, 500), ("b", 510, 900, 510), ("a", 600, 601)) == 2              # one old answer; b goes on
    assert two(("a", 0, 500), ("b", 510, 1500, 510, 1000), ("a", 600, 601, 600)) == 1  # an old announcement; b goes on


def main():
    if len(sys.argv) == 1:
        test_itself()
        return
    vips = {ipaddress.ip_address(text): [] for text in sys.argv[1].split(",")}
    for word in sys.argv[2:]:
        host, path = word.split("=", 1)
        for time, frame in frames(path):
            seen = answer(frame)
            if seen and seen[0] in vips:
                vips[seen[0]].append((time, host, seen[1]))
    verdicts = [judge(str(vip), sorted(answers)) for vip, answers in vips.items()]
    print(json.dumps(verdicts))
    if any(v["two"] for v in verdicts):
        sys.exit(1)
    if not all(v["answers"] for v in verdicts):
        sys.exit(3)


main()
