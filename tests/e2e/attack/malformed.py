"""What no client would send: garbage, headers and bodies that are too large, documents that are too deep."""

import json
import random
import struct

from http2 import (CONTINUATION, DATA, END_HEADERS, END_STREAM, ENHANCE_YOUR_CALM, GOAWAY, HEADERS, SETTINGS,
                   WINDOW_UPDATE, Http2, field, frame, request_block, status_in)
from target import ALL_BODIES, BODY_LIMIT, LIST, read_to_end, send_until_refused, split_answer, status_of, want


def garbage_instead_of_tls(target):
    seeded = random.Random(4711)
    for size in (1, 5, 100, 10_000, 1_000_000):
        with target.tcp() as peer:
            send_until_refused(peer, [b"\x16\x03\x01" + seeded.randbytes(size)])
            read_to_end(peer)
    with target.tcp() as peer:
        send_until_refused(peer, [target.head("GET", LIST)])
        answer = read_to_end(peer)
        want(b"ConfigMap" not in answer, "a plain request was answered")
    with target.tls() as peer:  # garbage inside TLS is a malformed request
        send_until_refused(peer, [seeded.randbytes(1000) + b"\r\n\r\n"])
        status = status_of(read_to_end(peer))
        want(status == 400, f"garbage inside TLS: {status}")


def huge_header_list(target):
    """A little over the limit is refused with 431, far over it ends the connection."""
    with Http2(target) as peer:
        block = request_block(target, "GET", LIST) + field("x", "y" * 15_000) * 1
        peer.send(frame(HEADERS, 0, 1, block),
                  *[frame(CONTINUATION, 4 if i == 3 else 0, 1, field(f"x{i}", "y" * 15_000)) for i in range(4)])
        status = next((status_in(payload) for kind, _, stream, payload in peer.frames() if kind == HEADERS), None)
        want(status == 431, f"answered {status}")
    # One large entry in the peer's table, then named ten thousand times in a few bytes.
    bomb = request_block(target, "GET", LIST) + field("x", "y" * 3900, kind=b"\x40") + b"\xbe" * 10_000
    with Http2(target) as peer:
        code = peer.flood([frame(HEADERS, END_HEADERS | END_STREAM, 1, bomb)])
        want(code in (0, ENHANCE_YOUR_CALM), f"header bomb: GOAWAY {code}")
    with target.tls() as peer:
        peer.sendall(target.head("GET", LIST, [f"X-{i}: y" for i in range(300)]))
        want(status_of(read_to_end(peer)) == 431, "300 fields over HTTP/1")
    with target.tls() as peer:
        send_until_refused(peer, [b"GET / HTTP/1.1\r\nHost: a\r\nX: "] + [b"y" * 10_000] * 1000)
        want(status_of(read_to_end(peer)) in (0, 431), "an endless field over HTTP/1")


def deep_documents(target):
    deep = b'{"a":' * 10_000 + b"1" + b"}" * 10_000
    lists = b"[" * 10_000 + b"]" * 10_000
    aliases = b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
        f"{chr(98 + i)}: &{chr(98 + i)} [{','.join([f'*{chr(97 + i)}'] * 9)}]\n".encode() for i in range(9))
    bodies = [("application/json", deep), ("application/json", lists), ("application/yaml", deep),
              ("application/yaml", lists), ("application/yaml", aliases),
              ("application/yaml", b"".join(b" " * i + b"a:\n" for i in range(1000)))]
    for content_type, body in bodies:
        status, answer = target.ask("POST", LIST, body, [f"Content-Type: {content_type}"])
        want(status == 400, f"{content_type} {body[:10]!r}: {status} {answer[:200]!r}")
        reason = json.loads(answer)["reason"]
        want(reason == "BadRequest", f"{content_type}: {reason}")
    for content_type in ("application/merge-patch+json", "application/json-patch+json", "application/apply-patch+yaml",
                         "application/strategic-merge-patch+json"):
        status, answer = target.ask("PATCH", f"{LIST}/big-0?fieldManager=x", deep, [f"Content-Type: {content_type}"])
        want(status == 400, f"{content_type}: {status} {answer[:200]!r}")


def bad_text(target):
    bad = b'{"metadata":{"name":"a\xff\xfe"},"data":{"x":"\xc0\x80"}}'
    for content_type in ("application/json", "application/yaml"):
        status, answer = target.ask("POST", LIST, bad, [f"Content-Type: {content_type}"])
        want(status == 400, f"{content_type}: {status} {answer[:200]!r}")
    for path in (f"{LIST}/%ff%fe", f"{LIST}/%00", f"{LIST}/a%2fb", f"{LIST}?labelSelector=%ff", "/%c0%ae%c0%ae/"):
        status, answer = target.ask("GET", path)
        want(status in (400, 404), f"{path}: {status} {answer[:200]!r}")
        answer.decode()  # what is said about it is text again


def huge_bodies(target):
    """A hundred megabytes: refused by its length, by its first three, or by the sum of all."""
    with target.tls() as peer:
        peer.sendall(target.head("POST", LIST, ["Content-Length: 104857600", "Content-Type: application/json"]))
        status, body = split_answer(read_to_end(peer))
        want(status == 413, f"by its length: {status}")
        want(json.loads(body)["reason"] == "RequestEntityTooLarge", f"by its length: {body[:200]!r}")
    refused = target.refused("body_size")
    with target.tls() as peer:
        chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"
        send_until_refused(peer, [target.head("POST", LIST, ["Transfer-Encoding: chunked"])] + [chunk] * 1600)
        status = status_of(read_to_end(peer))
        want(status in (0, 413), f"in chunks: {status}")  # 0: lost on a peer that goes on sending
        want(target.refused("body_size") == refused + 1, "in chunks: not refused because of its size")
    with Http2(target) as peer:
        peer.send(frame(HEADERS, END_HEADERS, 1, request_block(target, "POST", LIST)))
        # The stream's window is opened as the server reads; 413 comes before 100 MB have been taken.
        sent, window, status = 0, 65535, None
        frames = peer.frames()
        while sent < 100 << 20 and status is None:
            while window >= 16384 and sent < 4 << 20:
                peer.send(frame(DATA, 0, 1, b" " * 16384))
                sent, window = sent + 16384, window - 16384
            kind, _, stream, payload = next(frames, (GOAWAY, 0, 0, b""))
            if kind == GOAWAY:
                break
            if kind == WINDOW_UPDATE and stream == 1:
                window += int.from_bytes(payload, "big")
            elif kind == SETTINGS and payload:
                entries = dict(struct.iter_unpack(">HI", payload))
                window += entries.get(4, 65535) - 65535
            elif kind == HEADERS:
                status = status_in(payload)
        want(status == 413, f"over HTTP/2: {status} after {sent} bytes")
    # Many bodies just below the limit, none of them ended: what one user may hold, and no more.
    part = b" " * (BODY_LIMIT - 1)
    peers, statuses = [], []
    for _ in range(ALL_BODIES // BODY_LIMIT + 10):
        peer = target.tls()
        peers.append(peer)
        head = target.head("POST", LIST, [f"Content-Length: {BODY_LIMIT}"], token=target.controller)
        send_until_refused(peer, [head + part])
    for peer in peers:
        statuses.append(status_of(read_to_end(peer)))
        peer.close()
    # 408: one of those that were held, in the end. 0: the answer was lost on its way.
    want(set(statuses) <= {0, 408, 429}, f"many at once: {statuses}")
    want(statuses.count(429) >= 10, f"many at once, hardly any was told to come back: {statuses}")


ATTACKS = [garbage_instead_of_tls, huge_header_list, deep_documents, bad_text, huge_bodies]
