"""Against a server that allows little, so that reaching its limits is cheap. What one user takes leaves room for others."""

import json
import struct
import time

from http2 import DATA, END_HEADERS, END_STREAM, HEADERS, SETTINGS, WINDOW_UPDATE, Http2, frame, request_block
from target import HOPELESS, LIST, Failure, read_to_end, status_of, want

CONNECTIONS = 40  # as attack.sh starts the server
SEATS = 20
ONE_USERS_SEATS = SEATS * 9 // 10
WINDOW = 256 << 10  # of a stream, as the server's settings say
EVENTS = "/api/v1/namespaces/default/events"


def event(name, size):
    return json.dumps({"metadata": {"name": name}, "message": "x" * size,
                       "involvedObject": {"kind": "ConfigMap", "name": "m", "namespace": "default"}}).encode()


def answered(peer, count):
    """The streams whose head came, until it is `count`."""
    begun = set()
    for kind, _, stream, _ in peer.frames():
        if kind == HEADERS:
            begun.add(stream)
        if len(begun) == count:
            return begun
    raise Failure(f"{len(begun)} of {count} requests were answered before the connection ended")


def told_to_come_back(target, method, path, body=b""):
    connection = target.tls()
    with connection:
        fields = ["Connection: close", "Content-Type: application/json", f"Content-Length: {len(body)}"]
        connection.sendall(target.head(method, path, fields, token=target.controller) + body)
        answer = read_to_end(connection)
    want(status_of(answer) == 429, f"{method} {path} over the limit: {status_of(answer)}")
    want(b"\r\nRetry-After: " in answer, "429 does not say when to come back")
    want(b'"reason":"TooManyRequests"' in answer, f"429 is no Status: {answer[-300:]!r}")


def rejected(target, reason):
    return target.metric(f'fairlead_apiserver_requests_rejected_total{{reason="{reason}"}}')


def limited_connections(target):
    """One user's connections: over the limit they are told so, the open ones are served, and room comes back."""
    peers, statuses = [], []
    for _ in range(CONNECTIONS):
        peer = target.tls()
        peer.sendall(target.head("GET", f"{LIST}/bystander", token=target.controller))
        statuses.append(status_of(peer.recv(1 << 16)))
        peers.append(peer)
    want(statuses == [200] * 32 + [429] * 8, f"connections of one user: {statuses}")
    peers[0].sendall(target.head("GET", f"{LIST}/bystander", ["Connection: close"], token=target.controller))
    want(status_of(read_to_end(peers[0])) == 200, "an open connection is not served")
    status, _ = target.ask("GET", f"{LIST}/bystander")
    want(status == 200, f"another user: {status}")
    for peer in peers:
        peer.close()
    wait_until_served(target, "GET", f"{LIST}/bystander")


def limited_reads(target):
    """Reads whose answers are not taken fill a user's seats; the next is told to come back later."""
    before = rejected(target, "user_reads")
    with Http2(target, struct.pack(">HI", 4, 0)) as peer:
        peer.send(*[frame(HEADERS, END_HEADERS | END_STREAM, 2 * i + 1,
                          request_block(target, "GET", LIST, token=target.controller))
                    for i in range(ONE_USERS_SEATS)])
        answered(peer, ONE_USERS_SEATS)
        told_to_come_back(target, "GET", LIST)
        status, answer = target.ask("POST", EVENTS, event("meanwhile", 1), ["Content-Type: application/json"],
                                    token=target.controller)
        want(status == 201, f"a write while reads are full: {status} {answer[:200]!r}")
    want(rejected(target, "user_reads") == before + 1, "a refused read was not counted")
    wait_until_served(target, "GET", LIST)


def limited_writes(target):
    """The same for writes: their answers, the objects, are too large to be sent off unread."""
    before = rejected(target, "user_writes")
    with Http2(target, struct.pack(">HI", 4, 0)) as peer:
        size = 400_000
        want(next(peer.frames())[0] == SETTINGS, "the server begins with its settings")  # answered by reading them
        for i in range(ONE_USERS_SEATS):
            body = event(f"stuck-{i}", size)
            peer.send(frame(HEADERS, END_HEADERS, 2 * i + 1,
                            request_block(target, "POST", EVENTS, token=target.controller,
                                          extra=[("content-type", "application/json")])))
            send_body(peer, 2 * i + 1, body)
        told_to_come_back(target, "POST", EVENTS, event("one-more", 1))
        status, _ = target.ask("GET", f"{LIST}/bystander", token=target.controller)
        want(status == 200, f"a read while writes are full: {status}")
    want(rejected(target, "user_writes") == before + 1, "a refused write was not counted")
    wait_until_served(target, "POST", EVENTS, event("afterwards", 1))


def send_body(peer, stream, body):
    """As the stream's window opens; until the answer's head has come."""
    sent, window = 0, WINDOW
    frames = peer.frames()
    while True:
        while sent < len(body) and window > 0:
            piece = body[sent : sent + min(16384, window)]
            sent, window = sent + len(piece), window - len(piece)
            peer.send(frame(DATA, END_STREAM if sent == len(body) else 0, stream, piece))
        kind, _, which, payload = next(frames, (None, 0, 0, b""))
        want(kind is not None, "the connection ended while a body was sent")
        if kind == WINDOW_UPDATE and which == stream:
            window += int.from_bytes(payload, "big")
        elif kind == HEADERS and which == stream:
            return


def limited_watches(target):
    """The same for watches, which are simply open."""
    before = rejected(target, "user_watches")
    with Http2(target) as peer:
        peer.send(*[frame(HEADERS, END_HEADERS | END_STREAM, 2 * i + 1,
                          request_block(target, "GET", f"{LIST}?watch=true", token=target.controller))
                    for i in range(ONE_USERS_SEATS)])
        answered(peer, ONE_USERS_SEATS)
        told_to_come_back(target, "GET", f"{LIST}?watch=true")
        with Http2(target) as other:
            other.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, request_block(target, "GET", f"{LIST}?watch=true")))
            answered(other, 1)
            for kind, _, _, _ in other.frames():
                if kind == DATA:  # an administrator's watch is served
                    break
    want(rejected(target, "user_watches") == before + 1, "a refused watch was not counted")
    target.wait_for_metric("fairlead_apiserver_watches", lambda open: open == 0, "watches")


def wait_until_served(target, method, path, body=b""):
    end, status = time.monotonic() + HOPELESS, 0
    while status not in (200, 201):
        want(time.monotonic() < end, f"not served again: {status}")
        status, _ = target.ask(method, path, body, ["Content-Type: application/json"], token=target.controller)


ATTACKS = [limited_connections, limited_reads, limited_writes, limited_watches]
