#!/usr/bin/env python3
"""Raw frames for the fabric tests: sends what no honest guest would, and says what arrives.

  frames.py send INTERFACE FRAME…      each FRAME is name=value,…: see build()
  frames.py tunnel HOST PORT VNI FRAME…  the frames in VXLAN packets, from this host
  frames.py listen INTERFACE           prints the marks of frames that arrive, until one says "end"
"""

import ipaddress
import socket
import struct
import sys

ETH_P_ALL = 3


def mac(text):
    return bytes.fromhex(text.replace(":", ""))


def build(text):
    """kind=ip4|ip6|nd|nd-hidden|arp|other, from=MAC, to=MAC, source=IP, target=IP, op=1|2, vlan=ID, mark=TEXT."""
    field = dict(pair.split("=", 1) for pair in text.split(","))
    mark = b"MARK:" + field["mark"].encode() + b";"
    kind = field["kind"]
    if kind == "ip4":
        ether_type = 0x0800
        head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + 8 + len(mark), 0, 0, 64, 17, 0,
                           socket.inet_aton(field["source"]), socket.inet_aton(field["target"]))
        words = struct.unpack("!10H", head)
        total = sum(words)
        total = (total & 0xFFFF) + (total >> 16)
        head = head[:10] + struct.pack("!H", ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF) + head[12:]
        body = head + struct.pack("!HHHH", 9, 9, 8 + len(mark), 0) + mark
    elif kind == "ip6":
        ether_type = 0x86DD
        body = struct.pack("!IHBB", 6 << 28, 8 + len(mark), 17, 64)
        body += ipaddress.ip_address(field["source"]).packed + ipaddress.ip_address(field["target"]).packed
        body += struct.pack("!HHHH", 9, 9, 8 + len(mark), 0) + mark
    elif kind in ("nd", "nd-hidden"):  # an advertisement that takes fd00::4; hidden behind an option header
        ether_type = 0x86DD
        message = struct.pack("!BBHI", 136, 0, 0, 0x20000000) + ipaddress.ip_address("fd00::4").packed + mark
        first = 58
        if kind == "nd-hidden":
            first, message = 60, bytes([58, 0, 1, 4, 0, 0, 0, 0]) + message
        body = struct.pack("!IHBB", 6 << 28, len(message), first, 255)
        body += ipaddress.ip_address(field["source"]).packed + ipaddress.ip_address(field["target"]).packed
        body += message
    elif kind == "arp":
        ether_type = 0x0806
        body = struct.pack("!HHBBH", 1, 0x0800, 6, 4, int(field.get("op", "1")))
        body += mac(field.get("sender", field["from"])) + socket.inet_aton(field["source"])
        body += b"\0" * 6 + socket.inet_aton(field["target"]) + mark
    else:
        ether_type = 0x88B5
        body = mark
    if "vlan" in field:
        body = struct.pack("!HH", int(field["vlan"]), ether_type) + body
        ether_type = 0x8100
    return mac(field["to"]) + mac(field["from"]) + struct.pack("!H", ether_type) + body.ljust(46, b"\0")


def main():
    verb, arguments = sys.argv[1], sys.argv[2:]
    if verb == "send":
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as out:
            out.bind((arguments[0], 0))
            for frame in arguments[1:]:
                out.send(build(frame))
    elif verb == "tunnel":
        host, port, vni = arguments[0], int(arguments[1]), int(arguments[2])
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as out:
            for frame in arguments[3:]:
                out.sendto(struct.pack("!II", 8 << 24, vni << 8) + build(frame), (host, port))
    elif verb == "listen":
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)) as into:
            into.bind((arguments[0], ETH_P_ALL))
            print("listening", flush=True)
            while True:
                frame, address = into.recvfrom(65536)
                if address[2] == socket.PACKET_OUTGOING or b"MARK:" not in frame:
                    continue
                mark = frame.split(b"MARK:", 1)[1].split(b";", 1)[0].decode()
                print(mark, flush=True)
                if mark == "end":
                    return


main()
