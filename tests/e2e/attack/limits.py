"""Against a server that allows little, so that reaching its limits is cheap; no bystander could be served."""

import ssl
import struct
import time

from http2 import END_HEADERS, END_STREAM, HEADERS, Http2, frame, request_block
from target import HOPELESS, LIST, read_to_end, status_of, want


def limited_connections(target):
    """Over the limit connections are closed at once; those that are open are served, and room comes back."""
    peers, refused = [], 0
    for _ in range(60):
        try:
            peers.append(target.tls())
        except (OSError, ssl.SSLError):
            refused += 1
    want(len(peers) <= 40 and refused >= 20, f"{len(peers)} connections of 40 allowed, {refused} refused")
    peers[0].sendall(target.head("GET", f"{LIST}/bystander", ["Connection: close"]))
    want(status_of(read_to_end(peers[0])) == 200, "an open connection is not served")
    for peer in peers:
        peer.close()
    wait_until_served(target)


def limited_reads(target):
    """Reads whose answers are not taken fill the seats; the next is told to come back later."""
    with Http2(target, struct.pack(">HI", 4, 0)) as peer:
        peer.send(*[frame(HEADERS, END_HEADERS | END_STREAM, 2 * i + 1, request_block(target, "GET", LIST))
                    for i in range(3)])
        begun = set()
        for kind, _, stream, _ in peer.frames():
            if kind == HEADERS:
                begun.add(stream)
            if len(begun) == 3:
                break
        connection = target.tls()
        with connection:
            connection.sendall(target.head("GET", LIST, ["Connection: close"]))
            answer = read_to_end(connection)
        want(status_of(answer) == 429, f"a read over the limit: {status_of(answer)}")
        want(b"\r\nRetry-After: " in answer, "429 does not say when to come back")
        status, _ = target.ask("PATCH", f"{LIST}/bystander", b'{"data":{"a":"b"}}',
                               ["Content-Type: application/merge-patch+json"])
        want(status == 200, f"a write while reads are full: {status}")
    wait_until_served(target)


def wait_until_served(target):
    end, status = time.monotonic() + HOPELESS, 0
    while status != 200:
        want(time.monotonic() < end, f"not served again: {status}")
        try:
            status, _ = target.ask("GET", f"{LIST}/bystander")
        except (OSError, ssl.SSLError):
            time.sleep(0.1)


ATTACKS = [limited_connections, limited_reads]
