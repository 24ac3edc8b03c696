"""HTTP/2 peers that send without end what costs them little."""

import ssl
import struct

from http2 import (CONTINUATION, DATA, END_HEADERS, END_STREAM, ENHANCE_YOUR_CALM, HEADERS, PING, PRIORITY, RST_STREAM,
                   SETTINGS, Http2, field, frame, request_block)
from target import LIST, want


def flood_ends(target, units, codes=(ENHANCE_YOUR_CALM,)):
    """The server ends it, and because of the flood: one that is merely idle is no breach of the protocol."""
    breaches = target.metric("fairlead_http_protocol_errors_total")
    with Http2(target) as peer:
        code = peer.flood(units)
    # The last word may be lost on a peer that goes on sending: the server reads on only for a moment.
    want(code in (0, *codes), f"GOAWAY {code}, wanted one of {codes}")
    counted = target.metric("fairlead_http_protocol_errors_total") - breaches
    want(counted >= 1, f"the connection ended with {code}, but not because of the flood")


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

    flood_ends(target, units(), codes=(1, 2, ENHANCE_YOUR_CALM))


def reference_bomb(target):
    """One large field, named again and again in a byte, on requests that are never finished; from many connections."""
    entry, again = field("x", "y" * 3900, kind=b"\x40"), b"\xbe" * 14
    for token in (False, target.controller):
        block = request_block(target, "POST", LIST, token=token)
        peers = []
        for i in range(40):
            peer = Http2(target, source=f"127.0.1.{1 + i // 2}")
            peers.append(peer)
            streams = [frame(HEADERS, END_HEADERS, 1, block + entry + again)]
            streams += [frame(HEADERS, END_HEADERS, 2 * j + 1, block + again) for j in range(1, 1990)]
            try:
                for j in range(0, len(streams), 10):
                    peer.send(*streams[j : j + 10])
            except (OSError, ssl.SSLError):
                pass  # it is cut when there is no room
        held = target.metric("fairlead_http_request_bytes")
        want(held <= (65 if token else 17) << 20, f"unfinished heads hold {held / (1 << 20):.0f} MiB")
        for peer in peers:
            peer.connection.close()


ATTACKS = [rapid_reset, settings_flood, ping_flood, priority_flood, empty_data_flood, continuation_flood,
           reference_bomb]
