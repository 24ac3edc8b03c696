"""HTTP/2 peers that send without end what costs them little."""

import struct

from http2 import (CONTINUATION, DATA, END_HEADERS, END_STREAM, ENHANCE_YOUR_CALM, HEADERS, PING, PRIORITY, RST_STREAM,
                   SETTINGS, Http2, field, frame, request_block)
from target import LIST, want


def flood_ends(target, units, codes=(0, ENHANCE_YOUR_CALM), settings=b""):
    # The last word may be lost: the server does not read on, so its end of the connection is a reset.
    with Http2(target, settings) as peer:
        code = peer.flood(units)
        want(code in codes, f"GOAWAY {code}, wanted one of {codes}")


def rapid_reset(target):
    block = request_block(target, "GET", LIST)
    flood_ends(target, (frame(HEADERS, END_HEADERS | END_STREAM, 2 * i + 1, block) +
                        frame(RST_STREAM, 0, 2 * i + 1, struct.pack(">I", 8)) for i in range(100_000)))


def settings_flood(target):
    flood_ends(target, (frame(SETTINGS, 0, 0) * 100 for _ in range(10_000)))


def ping_flood(target):
    flood_ends(target, (frame(PING, 0, 0, b"12345678") * 100 for _ in range(10_000)))


def priority_flood(target):
    flood_ends(target, (frame(PRIORITY, 0, 2 * i + 1, b"\0\0\0\0\x10") for i in range(1_000_000)))


def empty_data_flood(target):
    def units():
        yield frame(HEADERS, END_HEADERS, 1, request_block(target, "POST", LIST))
        for _ in range(10_000):
            yield frame(DATA, 0, 1) * 100

    flood_ends(target, units())


def continuation_flood(target):
    def units():
        yield frame(HEADERS, 0, 1, request_block(target, "GET", LIST))
        for i in range(1_000_000):
            yield frame(CONTINUATION, 0, 1, field(f"x-{i}", "y"))

    flood_ends(target, units(), codes=(0, 1, 2, ENHANCE_YOUR_CALM))


ATTACKS = [rapid_reset, settings_flood, ping_flood, priority_flood, empty_data_flood, continuation_flood]
