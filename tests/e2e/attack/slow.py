"""Peers that are slow to speak, to listen or to end, and those that never do."""

import select
import ssl
import struct

from http2 import DATA, END_HEADERS, END_STREAM, HEADERS, RST_STREAM, Http2, frame, request_block, status_in
from target import LIST, Failure, read_to_end, status_of, want


def slow_headers(target):
    """One byte at a time: the time for all headers counts, not the pause between two bytes."""
    text = target.head("GET", "/healthz", [f"X-{i}: y" for i in range(100)], token=False)[:-2]
    peers = [target.tls() for _ in range(50)]
    answers = {}
    for byte in text:
        for peer in [peer for peer in peers if peer not in answers]:
            try:
                peer.sendall(bytes([byte]))
            except (OSError, ssl.SSLError):
                answers[peer] = b""
        waiting = [peer for peer in peers if peer not in answers]
        if not waiting:
            break
        for peer in select.select(waiting, [], [], 0.05)[0]:
            answers[peer] = read_to_end(peer)
    want(len(answers) == len(peers), f"{len(peers) - len(answers)} of {len(peers)} slow senders are still connected")
    want(any(status_of(answer) == 408 for answer in answers.values()), "no slow sender was told 408")
    for peer in peers:
        peer.close()


def stalled_bodies(target):
    """A body that never comes to its end, with a length and in chunks."""
    for framing, part in (("Content-Length: 1000", b"{"), ("Transfer-Encoding: chunked", b"5\r\n{")):
        peers = [target.tls() for _ in range(20)]
        for peer in peers:
            peer.sendall(target.head("POST", LIST, [framing, "Content-Type: application/json"]) + part)
        for peer in peers:
            status = status_of(read_to_end(peer))
            want(status == 408, f"{framing}: answered {status}")
            peer.close()


def stalled_http2_bodies(target):
    with Http2(target) as peer:
        peer.send(frame(HEADERS, END_HEADERS, 1, request_block(target, "POST", LIST)), frame(DATA, 0, 1, b"{"))
        for kind, _, stream, payload in peer.frames():
            if kind == HEADERS and stream == 1:
                want(status_in(payload) == 408, f"answered {status_in(payload)}")
                return
    raise Failure("the connection ended without 408")


def slow_handshakes(target):
    """Nothing at all, half a hello, and a hello one byte at a time."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = target.context("http/1.1").wrap_bio(incoming, outgoing, server_hostname=target.address[0])
    try:
        client.do_handshake()
    except ssl.SSLWantReadError:
        pass
    hello = outgoing.read()
    for part in (b"", hello[: len(hello) // 2]):
        peers = [target.tcp() for _ in range(50)]
        for peer in peers:
            peer.sendall(part)
        for peer in peers:
            read_to_end(peer)
            peer.close()
    with target.tcp() as peer:
        for byte in hello[:-1]:
            try:
                peer.sendall(bytes([byte]))
            except OSError:
                return
            if select.select([peer], [], [], 0.05)[0]:
                read_to_end(peer)
                return
        raise Failure("the handshake may take for ever")


def idle_connections(target):
    """A thousand connections that never ask, over both protocols, are served nothing and closed."""
    before = target.metric("fairlead_http_connections")
    peers = []
    for i in range(1000):
        peers.append(target.tls("h2" if i % 4 == 0 else "http/1.1"))
    target.wait_for_metric("fairlead_http_connections", lambda open: open <= before + 10, "idle connections")
    for peer in peers:
        read_to_end(peer)
        peer.close()


def slow_list_readers(target):
    """A large list is asked for and never read, small receive window; then the same slowly."""
    before = target.metric("fairlead_http_connections")
    peers = [target.tls(receive_buffer=4096) for _ in range(30)]
    for peer in peers:
        peer.sendall(target.head("GET", LIST))
    target.wait_for_metric("fairlead_http_connections", lambda open: open <= before + 5, "list readers")
    for peer in peers:
        peer.close()


def streams_ended(peer, count):
    """How many the server ended before it ended the connection; looks no further than `count`."""
    ended = set()
    for kind, flags, stream, _ in peer.frames():
        if kind == RST_STREAM or (kind in (DATA, HEADERS) and flags & END_STREAM):
            ended.add(stream)
        if len(ended) == count:
            break
    return len(ended)


def slow_watch_readers(target):
    """A watch that is never read while its objects change: ended, not waited for."""
    before = target.metric("fairlead_http_connections")
    peers = [target.tls(receive_buffer=4096) for _ in range(30)]
    for peer in peers:
        peer.sendall(target.head("GET", f"{LIST}?watch=true"))
    wide = Http2(target, struct.pack(">HI", 4, 0))  # no window: not one event can be sent
    wide.send(*[frame(HEADERS, END_HEADERS | END_STREAM, 2 * i + 1,
                      request_block(target, "GET", f"{LIST}?watch=true")) for i in range(100)])
    ended = streams_ended(wide, 100)
    want(ended == 100, f"{ended} of 100 watches without a window were ended")
    wide.connection.close()
    target.wait_for_metric("fairlead_http_connections", lambda open: open <= before + 5, "watch readers")
    target.wait_for_metric("fairlead_apiserver_watches", lambda open: open <= 1, "watches")
    for peer in peers:
        peer.close()


def zero_window(target, path, accept, count):
    with Http2(target, struct.pack(">HI", 4, 0)) as peer:
        extra = [("accept", accept)] if accept else []
        peer.send(*[frame(HEADERS, END_HEADERS | END_STREAM, 2 * i + 1, request_block(target, "GET", path, extra=extra))
                    for i in range(count)])
        ended = streams_ended(peer, count)
        want(ended == count, f"{path}: {ended} of {count} streams were ended before the connection")


def zero_window_stalls(target):
    """Large answers that may not be sent, because their window never opens."""
    zero_window(target, LIST, None, 300)


def zero_window_stalls_of_made_answers(target):
    """The same for answers that are made for each request (tables, indented text)."""
    zero_window(target, f"{LIST}?pretty=true", None, 300)
    zero_window(target, LIST, "application/json;as=Table;g=meta.k8s.io;v=v1", 300)
    zero_window(target, LIST, "application/yaml", 50)


ATTACKS = [slow_headers, stalled_bodies, stalled_http2_bodies, slow_handshakes, idle_connections, slow_list_readers,
           slow_watch_readers, zero_window_stalls, zero_window_stalls_of_made_answers]
