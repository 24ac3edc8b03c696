#!/usr/bin/env python3
"""Asks a host for virtual IPs in every way, and says when it answered; for vip_fence.sh.

  vip_answers.py ask INTERFACE MAC SECONDS INTERVAL VIP[@VLAN]…
      sends to that MAC, every INTERVAL seconds, an ARP request or neighbour solicitation, a ping and a TCP SYN for each VIP,
      and prints "asking", then a line "TIME VIP KIND" for each answer: ARP with the VIP as sender, an advertisement of it, any
      packet from it. TIME is the kernel's time stamp of the frame, as boot time in nanoseconds.
  vip_answers.py listen INTERFACE SECONDS VIP…
      only prints the answers.
  vip_answers.py silent FILE VIP…
      fails if FILE has any answer for one of these VIPs.
  vip_answers.py until FILE MARGIN [KIND,…]
      reads "VIP … DEADLINE" lines. Fails unless FILE has answers of each kind for each VIP before its deadline, and none of any
      kind later than MARGIN seconds after it. Kinds: if not given, all that the questions of "ask" have.
"""

import ipaddress
import select
import socket
import struct
import sys
import time

ETH_P_ALL = 3
SO_TIMESTAMPNS = 35
ICMP, TCP, UDP, ICMPV6 = 1, 6, 17, 58
SOLICITATION, ADVERTISEMENT = 135, 136
CALL = struct.pack("!H", 9001)  # the UDP port that a pod calls, not in reply
NAMES = {ICMP: "echo", TCP: "tcp", UDP: "udp", ICMPV6: "echo"}


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data[: len(data) & ~1])) + (data[-1] << 8 if len(data) % 2 else 0)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def put(data, offset, value):
    return data[:offset] + struct.pack("!H", value) + data[offset + 2:]


def packet(source, target, protocol, payload, checksum_at):
    """An IP packet whose payload's checksum is filled in."""
    pseudo = source.packed + target.packed + struct.pack("!II", len(payload), protocol)
    if protocol == ICMP:
        pseudo = b""
    payload = put(payload, checksum_at, checksum(pseudo + payload))
    if source.version == 6:
        return struct.pack("!IHBB", 6 << 28, len(payload), protocol, 255) + source.packed + target.packed + payload
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), 0, 0, 64, protocol, 0) + source.packed + target.packed
    return put(head, 10, checksum(head)) + payload


def questions(vip, asker, own, host):
    """Frames without VLAN tag: for the host's MAC, but for the ARP request and the solicitation."""
    syn = struct.pack("!HHIIBBHHH", 40000, 7, 1, 0, 5 << 4, 2, 1024, 0, 0)
    echo = struct.pack("!BBHHH", 128 if vip.version == 6 else 8, 0, 0, 1, 1)
    to_host = host + own + struct.pack("!H", 0x86DD if vip.version == 6 else 0x0800)
    yield to_host + packet(asker, vip, TCP, syn, 16)
    yield to_host + packet(asker, vip, ICMPV6 if vip.version == 6 else ICMP, echo, 2)
    if vip.version == 6:
        group = ipaddress.ip_address(bytes.fromhex("ff0200000000000000000001ff") + vip.packed[13:])
        ask = struct.pack("!BBHI", SOLICITATION, 0, 0, 0) + vip.packed + b"\x01\x01" + own
        yield b"\x33\x33" + group.packed[12:] + own + b"\x86\xdd" + packet(asker, group, ICMPV6, ask, 2)
    else:
        ask = struct.pack("!HHBBH", 1, 0x0800, 6, 4, 1) + own + asker.packed + bytes(6) + vip.packed
        yield b"\xff" * 6 + own + b"\x08\x06" + ask


def tagged(frame, vlan):
    return frame[:12] + struct.pack("!HH", 0x8100, vlan) + frame[12:] if vlan else frame


def answer(frame):
    """Who this frame speaks for, and how; tags were taken off by the kernel, or are skipped."""
    offset = 12
    while frame[offset:offset + 2] in (b"\x81\x00", b"\x88\xa8"):
        offset += 4
    kind, body = frame[offset:offset + 2], frame[offset + 2:]
    if kind == b"\x08\x06" and len(body) >= 28:
        return ipaddress.ip_address(body[14:18]), "arp"
    if kind == b"\x08\x00" and len(body) >= 20:
        kind = "call" if body[9] == UDP and body[22:24] == CALL else NAMES.get(body[9], "other")
        return ipaddress.ip_address(body[12:16]), kind
    if kind == b"\x86\xdd" and len(body) >= 41:
        if body[6] == ICMPV6 and body[40] == ADVERTISEMENT:
            return ipaddress.ip_address(body[48:64]), "nd"
        return ipaddress.ip_address(body[8:24]), NAMES.get(body[6], "other")
    return None, None


def boot_offset():
    """Boot time minus civil time: the pair that was read most closely together."""
    pairs = []
    for _ in range(5):
        before = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        civil = time.clock_gettime_ns(time.CLOCK_REALTIME)
        after = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        pairs.append((after - before, before - civil))
    return min(pairs)[1]


def receive(sock, vips, offset):
    while True:
        try:
            frame, ancillary, _, sender = sock.recvmsg(2048, 128, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        vip, kind = answer(frame)
        if sender[2] == socket.PACKET_OUTGOING or vip not in vips:
            continue
        stamp = next(data for level, option, data in ancillary if option == SO_TIMESTAMPNS)
        seconds, nanoseconds = struct.unpack("qq", stamp[:16])
        print(seconds * 10**9 + nanoseconds + offset, vip, kind, flush=True)


def run(interface, seconds, interval, vips, frames):
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    sock.bind((interface, 0))
    offset = boot_offset()
    print("asking", flush=True)
    end = time.monotonic() + seconds
    following = 0.0
    while (now := time.monotonic()) < end:
        if frames and now >= following:
            following = now + interval
            for frame in frames:
                sock.send(frame)
        select.select([sock], [], [], max(min(following, end) - time.monotonic(), 0) if frames else 0.05)
        receive(sock, vips, offset)


def ask(interface, mac, seconds, interval, *targets):
    with open(f"/sys/class/net/{interface}/address") as file:
        own = bytes.fromhex(file.read().strip().replace(":", ""))
    vips, frames = set(), []
    for target in targets:
        text, _, vlan = target.partition("@")
        vip = ipaddress.ip_address(text)
        asker = ipaddress.ip_address(int(vip) - int(vip) % 256 + 9)
        vips.add(vip)
        frames += [tagged(frame, int(vlan or 0)) for frame in questions(vip, asker, own, bytes.fromhex(mac.replace(":", "")))]
    run(interface, float(seconds), float(interval), vips, frames)


def listen(interface, seconds, *vips):
    run(interface, float(seconds), 0, {ipaddress.ip_address(vip) for vip in vips}, [])


def read_answers(path):
    """VIP → kind → time stamps."""
    answers = {}
    with open(path) as file:
        for line in file:
            if line != "asking\n":
                stamp, vip, kind = line.split()
                answers.setdefault(vip, {}).setdefault(kind, []).append(int(stamp))
    return answers


def silent(path, *vips):
    found = {vip: {kind: len(stamps) for kind, stamps in kinds.items()}
             for vip, kinds in read_answers(path).items() if vip in vips}
    return f"answered: {found}" if found else None


def until(path, margin, kinds=None):
    answers = read_answers(path)
    deadlines = {words[0]: int(words[-1]) for words in map(str.split, sys.stdin)}
    if not deadlines:
        return "no deadlines to judge by"
    for vip, deadline in deadlines.items():
        times = answers.get(vip, {})
        for kind in (kinds or ("nd,echo,tcp" if ":" in vip else "arp,echo,tcp")).split(","):
            if not any(stamp < deadline for stamp in times.get(kind, [])):
                return f"no {kind} of {vip} before the deadline"
        late = {kind: (max(stamps) - deadline) / 1e6 for kind, stamps in times.items()
                if max(stamps) > deadline + float(margin) * 1e9}
        if late:
            return f"{vip} was answered for after the deadline, by so many ms: {late}"
    return None


if __name__ == "__main__":
    complaint = {"ask": ask, "listen": listen, "silent": silent, "until": until}[sys.argv[1]](*sys.argv[2:])
    if complaint:
        sys.exit(complaint)
