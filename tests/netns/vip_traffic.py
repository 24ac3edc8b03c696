#!/usr/bin/env python3
"""Traffic to and from virtual IPs, for tests and benchmarks.

  vip_traffic.py serve PORT             answers datagrams on every address of this host, from the address they were sent to
  vip_traffic.py push VIP CLIENT PORT   sends a datagram from VIP to the client every millisecond, whenever this host has VIP
  vip_traffic.py ask VIP PORT INTERFACE OUT   until SIGTERM: a datagram to VIP every millisecond, and every 10 ms a question
                                        to everybody who has it; then writes to OUT what came back:
      {"sent": …, "answered": …, "lost": [[from, to], …], "gaps": [[from, length], …]}
                                        lost: numbers of datagrams without an answer, the last 100 ms left out
                                        gaps: between answers, over 5 ms, in ms since the start
  vip_traffic.py ask-all FILE PORT OUT  until SIGTERM: a datagram to each VIP of FILE every 50 ms; then writes to OUT the longest time
                                        between two answers of each, in ms: {"VIP": …}
"""
import ipaddress
import json
import select
import signal
import socket
import struct
import sys
import time

IPV6_RECVPKTINFO, IPV6_PKTINFO = 49, 50
IP_PKTINFO = 8


def serve(port):
    socks = []
    for family in (socket.AF_INET, socket.AF_INET6):
        sock = socket.socket(family, socket.SOCK_DGRAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            sock.setsockopt(socket.IPPROTO_IPV6, IPV6_RECVPKTINFO, 1)
        else:
            sock.setsockopt(socket.IPPROTO_IP, IP_PKTINFO, 1)
        sock.bind(("::" if family == socket.AF_INET6 else "0.0.0.0", port))
        socks.append(sock)
    print("ready", flush=True)
    while True:
        for sock in select.select(socks, [], [])[0]:
            data, ancillary, _, peer = sock.recvmsg(2048, 256)
            for level, kind, info in ancillary:
                if kind == IP_PKTINFO and level == socket.IPPROTO_IP:
                    info = struct.pack("I4s4s", 0, info[8:12], b"\0" * 4)
                elif kind == IPV6_PKTINFO and level == socket.IPPROTO_IPV6:
                    info = info[:16] + struct.pack("I", 0)
                else:
                    continue
                try:
                    sock.sendmsg([data], [(level, kind, info)], 0, peer)
                except OSError:
                    pass  # the address has just gone


def push(vip, client, port):
    family = socket.AF_INET6 if ":" in vip else socket.AF_INET
    sock = None
    while True:
        time.sleep(0.001)
        try:
            if sock is None:
                sock = socket.socket(family, socket.SOCK_DGRAM)
                sock.bind((vip, 0))
            sock.sendto(b"push", (client, port))
        except OSError:
            if sock is not None:
                sock.close()
            sock = None
            time.sleep(0.004)


def question(vip, mac):
    """A frame that asks everybody on the link who has the address."""
    address = ipaddress.ip_address(vip)
    if address.version == 4:
        body = struct.pack("!HHBBH6s4s6s4s", 1, 0x800, 6, 4, 1, mac, b"\0" * 4, b"\0" * 6, address.packed)
        return b"\xff" * 6 + mac + b"\x08\x06" + body
    source = ipaddress.ip_address("fe80::1").packed
    group = ipaddress.ip_address("ff02::1:ff00:0").packed[:13] + address.packed[13:]
    icmp = struct.pack("!BBHI", 135, 0, 0, 0) + address.packed + b"\x01\x01" + mac
    pseudo = source + group + struct.pack("!II", len(icmp), 58) + icmp
    total = sum(struct.unpack("!%dH" % (len(pseudo) // 2), pseudo))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    icmp = icmp[:2] + struct.pack("!H", ~total & 0xFFFF) + icmp[4:]
    head = struct.pack("!IHBB", 6 << 28, len(icmp), 58, 255) + source + group
    return b"\x33\x33" + group[12:] + mac + b"\x86\xdd" + head + icmp


def ask(vip, port, interface, out):
    family = socket.AF_INET6 if ":" in vip else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_DGRAM)
    sock.setblocking(False)
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    raw.bind((interface, 0))
    frame = question(vip, raw.getsockname()[4])
    stop = []
    signal.signal(signal.SIGTERM, lambda *_: stop.append(True))
    began = time.monotonic()
    sent, answered = 0, bytearray(3_600_000)
    last, gaps, step = None, [], 0
    print("ready", flush=True)
    while not stop:
        now = time.monotonic() - began
        if now * 1000 < step:
            select.select([sock], [], [], step / 1000 - now)
        else:
            step = int(now * 1000) + 1
            try:
                sock.sendto(struct.pack("!Q", sent), (vip, port))
                sent += 1
                if sent % 10 == 0:
                    raw.send(frame)
            except OSError:
                pass
        try:
            while True:
                answered[struct.unpack("!Q", sock.recv(64))[0]] = 1
                at = (time.monotonic() - began) * 1000
                if last is not None and at - last > 5:
                    gaps.append([round(last, 2), round(at - last, 2)])
                last = at
        except BlockingIOError:
            pass
        except OSError:
            pass
    end = (time.monotonic() - began) * 1000
    if last is not None and end - last > 5:
        gaps.append([round(last, 2), round(end - last, 2)])
    lost = []
    for number in range(max(0, sent - 100)):
        if not answered[number]:
            if lost and lost[-1][1] == number - 1:
                lost[-1][1] = number
            else:
                lost.append([number, number])
    with open(out, "w") as file:
        json.dump({"sent": sent, "answered": sum(answered), "lost": lost, "gaps": gaps}, file)


def ask_all(file, port, out):
    with open(file) as lines:
        vips = lines.read().split()
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    sock.setblocking(False)
    stop, last, longest = [], {}, dict.fromkeys(vips, 0.0)
    signal.signal(signal.SIGTERM, lambda *_: stop.append(True))
    step, began = 0, time.monotonic()
    print("ready", flush=True)
    while not stop:
        due = began + step * 0.05 / len(vips)
        if time.monotonic() < due:
            select.select([sock], [], [], max(0, due - time.monotonic()))
        else:
            try:
                sock.sendto(b"?", (vips[step % len(vips)], port))
            except OSError:
                pass  # the queue for a neighbour that does not answer is full
            step += 1
        try:
            while True:
                vip, now = sock.recvfrom(64)[1][0], time.monotonic()
                longest[vip] = max(longest[vip], (now - last.get(vip, now)) * 1000)
                last[vip] = now
        except BlockingIOError:
            pass
        except OSError:
            pass
    for vip in vips:
        longest[vip] = max(longest[vip], (time.monotonic() - last.get(vip, began)) * 1000)
    with open(out, "w") as file:
        json.dump(longest, file)


{"serve": lambda a: serve(int(a[0])), "push": lambda a: push(a[0], a[1], int(a[2])),
 "ask": lambda a: ask(a[0], int(a[1]), a[2], a[3]), "ask-all": lambda a: ask_all(a[0], int(a[1]), a[2])}[sys.argv[1]](sys.argv[2:])
