"""A node's credential in the wrong hands: what it may take leaves room for the others, and can be removed again."""

import json
import ssl
import struct

from http2 import (DATA, END_HEADERS, END_STREAM, HEADERS, SETTINGS, WINDOW_UPDATE, Http2, frame,
                   request_block)
from target import BODY_LIMIT, LIST, read_to_end, send_until_refused, status_of, want

EVENTS = ("/api/v1/namespaces/default/events", "/apis/events.k8s.io/v1/namespaces/default/events")
SUBNETS = "/apis/fairlead.dev/v1alpha1/subnets"
WATCHES = 2000  # a tenth of --max-watches
CONNECTIONS = 100  # a hundredth of --max-connections
UNREAD = 2 * (64 << 20) // 10  # what may wait for a node's watches: frames, and references to objects
FORMS = ["application/json", "application/json;as=Table;g=meta.k8s.io;v=v1",
         "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"]


def watches_of_a_node(target):
    """As many watches as it can get: a tenth, and an administrator's next one is served."""
    node, peers, opened, refused = target.join("watcher"), [], 0, 0
    while opened < WATCHES + 100 and refused == 0:
        peer = Http2(target, certificate=node)
        peers.append(peer)
        block = request_block(target, "GET", f"{SUBNETS}?watch=true", token=False)
        # The first request says who it is; only then is there room for many streams.
        peer.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, block))
        answers = 0
        for kind, flags, stream, _ in peer.frames():
            if kind != HEADERS:
                continue
            if stream == 1:
                peer.send(*[frame(HEADERS, END_HEADERS | END_STREAM, 2 * i + 1, block) for i in range(1, 500)])
            answers += 1
            if flags & END_STREAM:
                refused += 1
            if answers == 500:
                break
        opened = target.metric("fairlead_apiserver_watches")
        rejected = target.metric('fairlead_apiserver_requests_rejected_total{reason="user_watches"}')
        refused += rejected
    want(refused > 0 and opened <= WATCHES, f"{opened} watches of one node, {refused} refused")
    with Http2(target) as admin:
        admin.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, request_block(target, "GET", f"{LIST}?watch=true")))
        kinds = set()
        for kind, flags, _, _ in admin.frames():
            want(not (kind == HEADERS and flags & END_STREAM), "an administrator's watch was refused")
            kinds.add(kind)
            if DATA in kinds:
                break
    for peer in peers:
        peer.connection.close()
    target.wait_for_metric("fairlead_apiserver_watches", lambda open: open == 0, "watches of the node")


def unread_watches_of_a_node(target):
    """As many watches as it can get of its own, large object, none of them read: little waits for all of them together.
    Those that are read after all get everything."""
    node = target.join("sleeper")
    large = json.dumps({"metadata": {"annotations": {"example.com/large": "x" * 90_000}}}).encode()
    status, answer = target.ask("PATCH", f"/api/v1/nodes/{node}", large,
                                ["Content-Type: application/merge-patch+json"])
    want(status == 200, f"a large node: {status} {answer[:200]!r}")
    path = f"/api/v1/nodes?watch=true&includeObject=Object&fieldSelector=metadata.name%3D{node}"
    blocks = [request_block(target, "GET", path, token=False, extra=[("accept", form)]) for form in FORMS]
    before, peers, per_peer = target.memory("VmRSS"), [], 450
    for _ in range(4):
        peer = Http2(target, struct.pack(">HI", 4, 0), certificate=node)  # no window: not one event can be sent
        peers.append(peer)
        peer.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, blocks[0]))
        heads = 0
        for kind, flags, _, _ in peer.frames():
            if kind != HEADERS:
                continue
            want(not flags & END_STREAM, "a watch was refused")
            if heads == 0:
                peer.send(*[frame(HEADERS, END_HEADERS | END_STREAM, 2 * i + 1, blocks[i % 3])
                            for i in range(1, per_peer)])
            heads += 1
            if heads == per_peer:
                break
        waiting = target.metric("fairlead_apiserver_watch_bytes")
        want(waiting <= UNREAD, f"{waiting} bytes wait for the watches of one node")
    plain = [target.tls(certificate=node, receive_buffer=4096) for _ in range(CONNECTIONS - 10)]
    for peer in plain:
        peer.sendall(target.head("GET", path, token=False))
    target.wait_for_metric("fairlead_apiserver_watch_waits_total", lambda waits: waits > 1000, "watches that wait")
    waiting, grown = target.metric("fairlead_apiserver_watch_bytes"), target.memory("VmRSS") - before
    want(waiting <= UNREAD, f"{waiting} bytes wait for the watches of one node")
    print(f"     {4 * per_peer + len(plain)} unread watches: {int(waiting)} bytes wait, {grown} MB more in memory")
    for peer in peers + plain:
        (peer.connection if isinstance(peer, Http2) else peer).close()
    target.wait_for_metric("fairlead_apiserver_watches", lambda open: open == 0, "watches of the node")
    want(target.metric("fairlead_apiserver_watch_bytes") == 0, "bytes of watches that are gone are counted")
    read_at_last(target, node, blocks)


def read_at_last(target, node, blocks):
    """More watches than there is room for; then their windows open, and each is told everything."""
    count = 99
    with Http2(target, struct.pack(">HI", 4, 0), certificate=node) as peer:
        peer.send(*[frame(HEADERS, END_HEADERS | END_STREAM, 2 * i + 1, blocks[i % 3]) for i in range(count)])
        heads = 0
        for kind, _, _, _ in peer.frames():
            heads += kind == HEADERS
            if heads == count:
                break
        peer.send(frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 1 << 20)),
                  frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 1 << 30)))
        told = {}
        for kind, _, stream, payload in peer.frames():
            if kind == DATA:
                told[stream] = told.get(stream, b"") + payload
            if len(told) == count and all(text.endswith(b"}\n") for text in told.values()):
                break
        for text in told.values():
            want(json.loads(text)["type"] == "ADDED" and node.encode() in text, f"told {text[:200]!r}")


def events_of_a_node(target):
    """None at all: what becomes of things is the server's to tell."""
    node = target.join("talker")
    body = json.dumps({"metadata": {"name": "e"}, "message": "x" * 15_000,
                       "involvedObject": {"apiVersion": "v1", "kind": "Node", "name": node},
                       "source": {"component": "agent", "host": node}}).encode()
    for events in EVENTS:
        for method, path in (("POST", events), ("PUT", f"{events}/e")):
            status, answer = target.ask(method, path, body, ["Content-Type: application/json"],
                                        token=False, certificate=node)
            want(status == 403, f"{method} {path}: {status} {answer[:200]!r}")


def connections_of_a_node(target):
    """Connections and unfinished bodies: what one node may hold, and no more."""
    node, peers, statuses = target.join("hoarder"), [], []
    for _ in range(CONNECTIONS + 20):
        peer = target.tls(certificate=node)
        peers.append(peer)
        try:
            peer.sendall(target.head("GET", f"/api/v1/nodes/{node}", token=False))
            statuses.append(status_of(peer.recv(1 << 16)))
        except (OSError, ssl.SSLError):
            statuses.append(0)
    want(statuses.count(200) == CONNECTIONS and statuses.count(429) == 20, f"connections of one node: {statuses}")
    for peer in peers[:20]:
        head = target.head("PATCH", f"/api/v1/nodes/{node}/status", [f"Content-Length: {BODY_LIMIT}"], token=False)
        send_until_refused(peer, [head + b" " * (BODY_LIMIT - 1)])
    held = target.metric("fairlead_http_request_bytes")
    want(held <= 9 << 20, f"bodies of one node hold {held} bytes")
    ended = [status_of(read_to_end(peer)) for peer in peers[:20]]
    want(ended.count(429) >= 15, f"bodies of one node: {ended}")
    for peer in peers:
        peer.close()


ATTACKS = [watches_of_a_node, unread_watches_of_a_node, events_of_a_node, connections_of_a_node]
