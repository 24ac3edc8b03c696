"""Peers without credentials who try to use up what everybody needs: memory, connections, the right to join."""

import json
import random
import socket
import ssl
import struct
import threading

from target import BODY_LIMIT, LIST, Failure, read_to_end, send_until_refused, split_answer, status_of, want

STRANGERS = 2000  # --max-strangers
STRANGERS_BYTES = (16 << 20) + (1 << 16)  # with what a bystander holds at that moment
FLOOD = "127.0.0.66"


def bodies_of_strangers(target):
    """More bodies than the server holds for everybody, and who they are from is not known: none is read."""
    before, peers = target.refused("body_of_stranger"), []
    for token in (False, "guessed"):
        for _ in range(50):
            peer = target.tls()
            peers.append(peer)
            send_until_refused(peer, [target.head("POST", LIST, [f"Content-Length: {BODY_LIMIT}"], token=token),
                                      b" " * (BODY_LIMIT // 2)])
    held = target.metric("fairlead_http_request_bytes")
    want(held < 1 << 20, f"bodies of strangers hold {held} bytes")
    status, answer = target.ask("PATCH", f"{LIST}/big-0", b'{"data":{"a":"b"}}',
                                ["Content-Type: application/merge-patch+json"])
    want(status == 200, f"a write meanwhile: {status} {answer[:200]!r}")
    for peer in peers:
        status, answer = split_answer(read_to_end(peer))
        want(status == 401 and json.loads(answer)["reason"] == "Unauthorized", f"{status} {answer[:200]!r}")
        peer.close()
    want(target.refused("body_of_stranger") == before + len(peers), "not all of them were counted")


def bare_connects(target):
    """Connections that never begin to speak: their own kind gives way, everyone else gets in, also from there."""
    before, peers = target.refused("strangers"), []
    for _ in range(STRANGERS + 3000):
        try:
            peers.append(target.tcp(source=FLOOD))
        except OSError as error:
            raise Failure(f"after {len(peers)} connections: {error}")
    target.wait_for_metric('fairlead_http_refused_total{reason="strangers"}', lambda n: n >= before + 3000, "flood")
    open_ones = target.metric("fairlead_http_stranger_connections")
    want(open_ones <= STRANGERS, f"{open_ones} connections of strangers")
    for source in ("127.0.0.1", "127.0.0.67", FLOOD):
        status, _ = target.ask("GET", f"{LIST}/bystander", source=source)
        want(status == 200, f"a client from {source}: {status}")
    for peer in peers:
        peer.close()


def long_certificates(target):
    """Certificates of nobody's, as long as the server takes them, from many addresses: all of them count together."""
    before, peers = target.refused("memory"), []
    context = target.context("http/1.1", "long")
    for i in range(600):
        try:
            raw = target.tcp(source=f"127.0.1.{1 + i % 50}")
            peers.append(context.wrap_socket(raw, server_hostname=target.address[0]))
        except OSError:
            pass  # it was told already
    target.wait_for_metric('fairlead_http_refused_total{reason="memory"}', lambda n: n >= before + 300, "certificates")
    held = target.metric("fairlead_http_request_bytes")
    want(12 << 20 < held <= STRANGERS_BYTES, f"certificates of strangers hold {held} bytes")
    for peer in peers:
        peer.close()


def long_hellos(target):
    """A hello that says it is as long as OpenSSL would take: nothing is set aside for it."""
    refused, peers = target.refused("handshake"), []
    claim = b"\x16\x03\x01\x40\x00" + b"\x01" + struct.pack(">I", 131_000)[1:]
    for _ in range(STRANGERS // 2):
        peer = target.tcp(source=FLOOD)
        peer.sendall(claim)
        peers.append(peer)
    target.wait_for_metric('fairlead_http_refused_total{reason="handshake"}',
                           lambda n: n >= refused + len(peers), "long hellos")
    for peer in peers:
        read_to_end(peer)
        peer.close()


def long_heads(target):
    """Heads as long as they may be, never ended, from many addresses."""
    peers = []
    for i in range(1000):
        peer = target.tls(source=f"127.0.2.{1 + i % 100}")
        send_until_refused(peer, [b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"y" * 60_000])
        peers.append(peer)
        if i % 100 == 99:
            held = target.metric("fairlead_http_request_bytes")
            want(held <= STRANGERS_BYTES, f"heads of strangers hold {held} bytes")
    want(target.refused("memory") > 0, "none was refused for lack of memory")
    for peer in peers:
        peer.close()


def everything_at_once(target):
    """All of it together, from many addresses: the memory that strangers hold is bounded in sum."""
    seeded, peers = random.Random(4711), []
    for i in range(STRANGERS):
        source = f"127.0.3.{1 + i % 200}"
        try:
            kind = seeded.randrange(4)
            if kind == 0:
                peer = target.tcp(source=source)
                peer.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"z" * 100)
            else:
                peer = target.tls("http/1.1", source=source)
                if kind == 1:
                    peer.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"y" * 20_000)
                elif kind == 2:
                    head = target.head("POST", "/fairlead.dev/join", ["Content-Length: 65536"], token=False)
                    peer.sendall(head + b" " * 60_000)
            peers.append(peer)
        except (OSError, ssl.SSLError, socket.timeout):
            pass
    held = target.metric("fairlead_http_request_bytes")
    want(held <= STRANGERS_BYTES, f"strangers hold {held} bytes")
    for peer in peers:
        peer.close()


def joins_without_tokens(target):
    """Requests to join that prove nothing, without pause: who has a token joins all the same."""
    ending, refused = threading.Event(), []

    def post():
        with target.tls() as peer:
            while not ending.is_set():
                peer.sendall(target.head("POST", "/fairlead.dev/join", ["Content-Length: 2"], token=False) + b"{}")
                refused.append(status_of(peer.recv(1 << 16)))

    flood = [threading.Thread(target=post, daemon=True) for _ in range(3)]
    for thread in flood:
        thread.start()
    try:
        while 429 not in refused:
            want(all(status in (400, 429) for status in refused), f"answered {set(refused)}")
        for i in range(3):
            target.join(f"joiner-{i}")
    finally:
        ending.set()
        for thread in flood:
            thread.join()
    want(set(refused) <= {400, 429}, f"answered {set(refused)}")


ATTACKS = [bodies_of_strangers, bare_connects, long_certificates, long_hellos, long_heads, everything_at_once, joins_without_tokens]
