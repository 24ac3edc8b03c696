#!/usr/bin/env python3
"""Raw frames for the fabric tests: sends what no honest guest would, and says what arrives.

  frames.py send INTERFACE FRAME…         each FRAME is name=value,…: see build()
  frames.py tunnel HOST PORT VNI FRAME…   the frames in VXLAN packets, from this host
  frames.py forge INTERFACE FROM TO OTHER             all that station FROM may not send to TO, among it what speaks
  frames.py forge-tunnel HOST PORT VNI FROM TO OTHER  for OTHER, and then what it may (HONEST)
  frames.py honest                        the marks of the honest ones
  frames.py listen INTERFACE              prints the marks of frames that arrive, until one says "end"

FROM, TO and OTHER are stations: MAC/IPv4/IPv6.
"""

import collections
import ipaddress
import socket
import struct
import sys

ETH_P_ALL = 3
UDP, ICMPV6 = 17, 58
FORGER = 4788  # the UDP port that forged VXLAN packets come from, for captures to tell them apart
# What of forge arrives.
HONEST = "honest4 honest6 honest-options honest-piece honest-echo-piece"

Station = collections.namedtuple("Station", "mac v4 v6")


def mac(text):
    return bytes.fromhex(text.replace(":", ""))


def ip4_packet(field, mark):
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + 8 + len(mark), 0, 0, 64, UDP, 0,
                       socket.inet_aton(field["source"]), socket.inet_aton(field["target"]))
    total = sum(struct.unpack("!10H", head))
    total = (total & 0xFFFF) + (total >> 16)
    head = head[:10] + struct.pack("!H", ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF) + head[12:]
    return head + struct.pack("!HHHH", 9, 9, 8 + len(mark), 0) + mark


# By name: the number of an extension header and what it is, given what follows it.
EXTENSIONS = {
    "hop": (0, lambda following: bytes([following, 0, 1, 4, 0, 0, 0, 0])),
    "options": (60, lambda following: bytes([following, 0, 1, 4, 0, 0, 0, 0])),
    "routing": (43, lambda following: bytes([following, 0, 4, 0, 0, 0, 0, 0])),
    "auth": (51, lambda following: bytes([following, 1]) + bytes(10)),
    "atomic": (44, lambda following: struct.pack("!BBHI", following, 0, 0, 7)),  # a fragment, and the only one
    "first": (44, lambda following: struct.pack("!BBHI", following, 0, 1, 7)),   # more follow
    "cut": (60, lambda following: bytes([following, 255, 1, 4, 0, 0, 0, 0])),    # it ends behind the packet
}


def ip6_packet(field, protocol, message, hops):
    for name in reversed(field["behind"].split("+") if "behind" in field else []):
        number, header = EXTENSIONS[name]
        protocol, message = number, header(protocol) + message
    return (struct.pack("!IHBB", 6 << 28, len(message), protocol, int(field.get("hops", hops))) +
            ipaddress.ip_address(field["source"]).packed + ipaddress.ip_address(field["target"]).packed + message)


def build(text):
    """kind=ip4|ip6|echo|nd|arp|other, from=MAC, to=MAC, source=IP, target=IP, op=1|2, vlan=ID, mark=TEXT.
    nd: type=133…137 (136) about the address claim=IP. ip6, echo and nd: behind=EXTENSION+…, hops=LIMIT."""
    field = dict(pair.split("=", 1) for pair in text.split(","))
    mark = b"MARK:" + field["mark"].encode() + b";"
    kind = field["kind"]
    if kind == "ip4":
        ether_type, body = 0x0800, ip4_packet(field, mark)
    elif kind == "ip6":
        ether_type = 0x86DD
        body = ip6_packet(field, UDP, struct.pack("!HHHH", 9, 9, 8 + len(mark), 0) + mark, 64)
    elif kind == "echo":
        ether_type, body = 0x86DD, ip6_packet(field, ICMPV6, struct.pack("!BBHHH", 128, 0, 0, 1, 1) + mark, 64)
    elif kind == "nd":
        ether_type = 0x86DD
        message = struct.pack("!BBHI", int(field.get("type", "136")), 0, 0, 0x20000000)
        message += ipaddress.ip_address(field["claim"]).packed + bytes([2, 1]) + mac(field["from"]) + mark
        body = ip6_packet(field, ICMPV6, message, 255)
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


def forged(me, to, other):
    """The frames of `forge`, the honest ones last."""
    ends = f"from={me.mac},to={to.mac}"
    four, six = f"source={me.v4},target={to.v4}", f"source={me.v6},target={to.v6}"
    yield f"kind=ip4,from={other.mac},to={to.mac},{four},mark=mac"
    yield f"kind=ip4,from={other.mac},to={to.mac},source={other.v4},target={to.v4},mark=mac-and-ip4"
    for name, source in (("another's", other.v4), ("the receiver's", to.v4), ("none", "0.0.0.0")):
        yield f"kind=ip4,{ends},source={source},target={to.v4},mark=ip4 {name}"
        for op in (1, 2):
            yield f"kind=arp,{ends},op={op},source={source},target={to.v4},mark=arp {op} {name}"
    for name, source in (("another's", other.v6), ("the receiver's", to.v6), ("none", "::"), ("link-local", "fe80::1")):
        yield f"kind=ip6,{ends},source={source},target={to.v6},mark=ip6 {name}"
        yield f"kind=ip6,{ends},source={source},target={to.v6},behind=options,mark=ip6 {name} behind options"
        yield f"kind=ip6,{ends},source={source},target={to.v6},behind=first,mark=ip6 {name} in fragments"
    yield f"kind=arp,{ends},op=2,{four},mark=arp-answer"
    yield f"kind=arp,{ends},op=1,source={me.v4},target={me.v4},mark=arp-announcement"
    yield f"kind=arp,{ends},sender={other.mac},{four},mark=arp-mac"
    behinds = ["", "hop", "options", "routing", "auth", "atomic", "first", "options+first", "first+options",
               "atomic+options", "options+options+options+options+options", "cut", "first+cut"]
    for behind in behinds:
        more = f",behind={behind}" if behind else ""
        for kind in (134, 136, 137):
            yield f"kind=nd,{ends},type={kind},{six},claim={other.v6}{more},mark=nd {kind} {behind}"
        # To be about to take another's address; and to ask as another.
        yield f"kind=nd,{ends},type=135,source=::,target={to.v6},claim={other.v6}{more},mark=nd probe {behind}"
        yield f"kind=nd,{ends},type=135,source={other.v6},target={to.v6},claim={to.v6}{more},mark=nd asks {behind}"
    yield f"kind=ip6,{ends},{six},behind=first,hops=255,mark=fragment-255"
    yield f"kind=ip4,{ends},vlan=5,{four},mark=vlan4"
    yield f"kind=ip6,{ends},vlan=5,{six},mark=vlan6"
    yield f"kind=ip4,from={me.mac},to=ff:ff:ff:ff:ff:ff,source={me.v4},target=255.255.255.255,mark=broadcast"
    yield f"kind=ip4,from={me.mac},to=01:00:5e:00:00:01,source={me.v4},target=224.0.0.1,mark=multicast"
    yield f"kind=ip4,from={me.mac},to=02:00:00:00:00:99,{four},mark=nobody"
    yield f"kind=other,{ends},mark=other"
    yield f"kind=ip4,{ends},{four},mark=honest4"
    yield f"kind=ip6,{ends},{six},mark=honest6"
    yield f"kind=ip6,{ends},{six},behind=hop+options,mark=honest-options"
    yield f"kind=ip6,{ends},{six},behind=first,mark=honest-piece"
    yield f"kind=echo,{ends},{six},behind=first,mark=honest-echo-piece"


def send_tunnelled(host, port, vni, frames):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as out:
        out.bind(("", FORGER))
        for frame in frames:
            out.sendto(struct.pack("!II", 8 << 24, int(vni) << 8) + build(frame), (host, int(port)))


def send(interface, frames):
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as out:
        out.bind((interface, 0))
        for frame in frames:
            out.send(build(frame))


def stations(texts):
    return [Station(*text.split("/")) for text in texts]


def main():
    verb, arguments = sys.argv[1], sys.argv[2:]
    if verb == "send":
        send(arguments[0], arguments[1:])
    elif verb == "tunnel":
        send_tunnelled(*arguments[:3], arguments[3:])
    elif verb == "forge":
        send(arguments[0], forged(*stations(arguments[1:])))
    elif verb == "forge-tunnel":
        send_tunnelled(*arguments[:3], forged(*stations(arguments[3:])))
    elif verb == "honest":
        print(HONEST)
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
