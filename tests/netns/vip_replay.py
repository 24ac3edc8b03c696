#!/usr/bin/env python3
"""Datagrams of an election, sent once more by somebody else.

vip_replay.py CAPTURE       lists the UDP datagrams of a capture (pcap, Ethernet, IPv4): address, port, bytes in hexadecimal digits
vip_replay.py --send LIST   sends those of a list to where they went, in their order
"""
import socket
import struct
import sys


def datagrams(path):
    with open(path, "rb") as file:
        data = file.read()
    order = "<" if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    at = 24
    while at + 16 <= len(data):
        length = struct.unpack_from(order + "I", data, at + 8)[0]
        frame = data[at + 16 : at + 16 + length]
        at += 16 + length
        if frame[12:14] != b"\x08\x00" or frame[23] != 17:
            continue
        udp = 14 + (frame[14] & 15) * 4
        port, size = struct.unpack_from(">HH", frame, udp + 2)
        yield socket.inet_ntoa(frame[30:34]), port, frame[udp + 8 : udp + size]


def main():
    if sys.argv[1] != "--send":
        for address, port, payload in datagrams(sys.argv[1]):
            print(address, port, payload.hex())
        return
    with open(sys.argv[2], encoding="ascii") as file, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for line in file:
            address, port, payload = line.split()
            sender.sendto(bytes.fromhex(payload), (address, int(port)))


main()
