"""The hostile peers of attack.sh: raw TLS, HTTP/1 and HTTP/2 from Python's standard library.

    attack.py HOST:PORT CA TOKEN PID MEMORY_MB CERTIFICATES [PATTERN | limits]

Each attack is a function below, run in order. During all of them a bystander keeps asking; after each the
server must have served it, must be the same process, and its memory must never have been above MEMORY_MB.
A wait ends with the server's answer; the limit on it only ends a hopeless one. With PATTERN only the attacks
whose name contains it are run.
"""

import json
import random
import resource
import select
import socket
import ssl
import struct
import sys
import threading
import time

HOPELESS = 60
LIST = "/api/v1/namespaces/default/configmaps"
BODY_LIMIT = 3 << 20
ALL_BODIES = 128 << 20


class Failure(Exception):
    pass


def want(condition, message):
    if not condition:
        raise Failure(message)


class Target:
    """The server under attack, and what a friendly client knows of it."""

    def __init__(self, arguments):
        place, self.ca, self.token, pid, memory, self.certificates = arguments[:6]
        host, port = place.rsplit(":", 1)
        self.address = (host, int(port))
        self.pid = int(pid)
        self.memory_limit = int(memory)

    def tcp(self, receive_buffer=None):
        connection = socket.socket()
        connection.settimeout(HOPELESS)
        if receive_buffer:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        connection.connect(self.address)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def context(self, alpn, certificate=None):
        context = ssl.create_default_context(cafile=self.ca)
        context.set_alpn_protocols([alpn])
        if certificate:
            context.load_cert_chain(f"{self.certificates}/{certificate}.crt", f"{self.certificates}/{certificate}.key")
        return context

    def tls(self, alpn="http/1.1", certificate=None, receive_buffer=None):
        raw = self.tcp(receive_buffer)
        return self.context(alpn, certificate).wrap_socket(raw, server_hostname=self.address[0])

    def head(self, method, path, headers=(), token=True):
        lines = [f"{method} {path} HTTP/1.1", "Host: attack"]
        if token:
            lines.append(f"Authorization: Bearer {self.token if token is True else token}")
        return "\r\n".join([*lines, *headers, "", ""]).encode()

    def ask(self, method, path, body=b"", headers=(), token=True, certificate=None):
        """One request on a connection of its own: (status, body)."""
        connection = self.tls(certificate=certificate)
        with connection:
            fields = [f"Content-Length: {len(body)}", "Connection: close", *headers]
            connection.sendall(self.head(method, path, fields, token) + body)
            return split_answer(read_to_end(connection))

    def metric(self, name):
        status, text = self.ask("GET", "/metrics")
        want(status == 200, f"/metrics answered {status}")
        for line in text.decode().splitlines():
            if line.startswith(name + " "):
                return float(line.split()[1])
        raise Failure(f"no metric {name}")

    def wait_for_metric(self, name, reached, what):
        end = time.monotonic() + HOPELESS
        while not reached(value := self.metric(name)):
            want(time.monotonic() < end, f"{what}: {name} is still {value}")
            time.sleep(0.1)

    def memory(self, field):
        with open(f"/proc/{self.pid}/status") as status:
            for line in status:
                if line.startswith(field + ":"):
                    return int(line.split()[1]) // 1024
        raise Failure("the server is gone")


def read_to_end(connection):
    """Everything until the peer ends the connection, in whatever way."""
    got = bytearray()
    try:
        while piece := connection.recv(1 << 16):
            got += piece
    except socket.timeout:
        raise Failure(f"the connection is still open after {HOPELESS} s; got {bytes(got[:200])!r}")
    except (OSError, ssl.SSLError):
        pass
    return bytes(got)


def status_of(answer):
    return int(answer[9:12]) if answer.startswith(b"HTTP/1.1 ") else 0


def split_answer(answer):
    return status_of(answer), answer.partition(b"\r\n\r\n")[2]


def send_until_refused(connection, pieces):
    """Sends until the peer has enough; an error is the peer's answer."""
    try:
        for piece in pieces:
            connection.sendall(piece)
    except socket.timeout:
        raise Failure("the peer neither takes more nor closes")
    except (OSError, ssl.SSLError):
        pass


# --- HTTP/2, just enough to misuse it

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 2, 3, 4, 6, 7, 8, 9
END_STREAM = ACK = 1
END_HEADERS = 4
ENHANCE_YOUR_CALM = 11
STATIC_STATUS = {8: 200, 9: 204, 10: 206, 11: 304, 12: 400, 13: 404, 14: 500}
HUFFMAN_DIGITS = {"00000": "0", "00001": "1", "00010": "2", "011001": "3", "011010": "4", "011011": "5",
                  "011100": "6", "011101": "7", "011110": "8", "011111": "9"}


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def length_of(n):
    """An HPACK length with a 7-bit prefix, no Huffman coding."""
    if n < 127:
        return bytes([n])
    out, n = bytearray([127]), n - 127
    while n >= 128:
        out.append(n % 128 + 128)
        n //= 128
    return bytes(out + bytes([n]))


def field(name, value, kind=b"\x00"):
    name, value = name.encode(), value.encode()
    return kind + length_of(len(name)) + name + length_of(len(value)) + value


def request_block(target, method, path, token=True, extra=()):
    pairs = [(":method", method), (":path", path), (":scheme", "https"), (":authority", "attack")]
    if token:
        pairs.append(("authorization", f"Bearer {target.token}"))
    return b"".join(field(name, value) for name, value in [*pairs, *extra])


def status_in(block):
    """The status in a header block that is the first on its connection."""
    i = 0
    while block[i] & 0xE0 == 0x20:  # a change of the table's size
        i += 1
    if block[i] & 0x80:
        return STATIC_STATUS[block[i] & 0x7F]
    length, coded = block[i + 1] & 0x7F, block[i + 1] & 0x80
    value = block[i + 2 : i + 2 + length]
    if not coded:
        return int(value)
    bits, digits = "".join(f"{byte:08b}" for byte in value), ""
    while len(digits) < 3:
        size = next(n for n in (5, 6) if bits[:n] in HUFFMAN_DIGITS)
        digits, bits = digits + HUFFMAN_DIGITS[bits[:size]], bits[size:]
    return int(digits)


class Http2:
    def __init__(self, target, settings=b"", receive_buffer=None):
        self.connection = target.tls("h2", receive_buffer=receive_buffer)
        self.connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0, settings))
        self.pending = bytearray()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()

    def send(self, *frames):
        self.connection.sendall(b"".join(frames))

    def frames(self):
        """(kind, flags, stream, payload) until the connection ends."""
        while True:
            while len(self.pending) >= 9:
                size = int.from_bytes(self.pending[:3], "big")
                if len(self.pending) < 9 + size:
                    break
                kind, flags, stream = self.pending[3], self.pending[4], int.from_bytes(self.pending[5:9], "big")
                payload = bytes(self.pending[9 : 9 + size])
                del self.pending[: 9 + size]
                if kind == SETTINGS and not flags & ACK:
                    self.send(frame(SETTINGS, ACK, 0))
                yield kind, flags, stream, payload
            try:
                piece = self.connection.recv(1 << 16)
            except socket.timeout:
                raise Failure(f"HTTP/2: nothing happened for {HOPELESS} s")
            except (OSError, ssl.SSLError):
                return
            if not piece:
                return
            self.pending += piece

    def flood(self, units):
        """Sends the units while reading what comes back; the code of the GOAWAY, 0 for a closed connection."""
        code, buffer = 0, bytearray()
        self.connection.settimeout(0)
        units = iter(units)
        out = memoryview(b"")
        end = time.monotonic() + HOPELESS
        while time.monotonic() < end:
            if not out:
                unit = next(units, None)
                out = memoryview(unit) if unit is not None else None
            readable, writable = [self.connection], [self.connection] if out is not None else []
            select.select(readable, writable, [], 1)
            try:
                while piece := self.connection.recv(1 << 16):
                    buffer += piece
                else:
                    return self.goaway_in(buffer)
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                pass
            except (OSError, ssl.SSLError):
                return self.goaway_in(buffer)
            if out is None:
                continue
            try:
                out = out[self.connection.send(out) :]
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                pass
            except (OSError, ssl.SSLError):
                self.connection.settimeout(HOPELESS)
                return self.goaway_in(buffer + read_to_end(self.connection))
        raise Failure(f"the flood was not stopped; last code {code}")

    @staticmethod
    def goaway_in(buffer):
        code = 0
        while len(buffer) >= 9:
            size = int.from_bytes(buffer[:3], "big")
            if buffer[3] == GOAWAY and len(buffer) >= 17:
                code = int.from_bytes(buffer[13:17], "big")
            del buffer[: 9 + size]
        return code


# --- the attacks; each gets the target, and fails by raising

ATTACKS = []


def attack(function):
    ATTACKS.append(function)
    return function


@attack
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


@attack
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


@attack
def stalled_http2_bodies(target):
    with Http2(target) as peer:
        peer.send(frame(HEADERS, END_HEADERS, 1, request_block(target, "POST", LIST)), frame(DATA, 0, 1, b"{"))
        for kind, _, stream, payload in peer.frames():
            if kind == HEADERS and stream == 1:
                want(status_in(payload) == 408, f"answered {status_in(payload)}")
                return
    raise Failure("the connection ended without 408")


@attack
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


@attack
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


@attack
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


@attack
def slow_list_readers(target):
    """A large list is asked for and never read, small receive window; then the same slowly."""
    before = target.metric("fairlead_http_connections")
    peers = [target.tls(receive_buffer=4096) for _ in range(30)]
    for peer in peers:
        peer.sendall(target.head("GET", LIST))
    target.wait_for_metric("fairlead_http_connections", lambda open: open <= before + 5, "list readers")
    for peer in peers:
        peer.close()


@attack
def slow_watch_readers(target):
    """A watch that is never read while its objects change: ended, not waited for."""
    before = target.metric("fairlead_http_connections")
    peers = [target.tls(receive_buffer=4096) for _ in range(30)]
    for peer in peers:
        peer.sendall(target.head("GET", f"{LIST}?watch=true"))
    wide = Http2(target, struct.pack(">HI", 4, 0))  # no window: not one event can be sent
    wide.send(*[frame(HEADERS, END_HEADERS | END_STREAM, 2 * i + 1,
                      request_block(target, "GET", f"{LIST}?watch=true")) for i in range(100)])
    ended = set()
    for kind, flags, stream, _ in wide.frames():
        if kind == RST_STREAM or (kind in (DATA, HEADERS) and flags & END_STREAM):
            ended.add(stream)
        if len(ended) == 100:
            break
    want(len(ended) == 100, f"{len(ended)} of 100 watches without a window were ended")
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
        ended = set()
        for kind, flags, stream, _ in peer.frames():
            if kind == RST_STREAM or (kind in (DATA, HEADERS) and flags & END_STREAM):
                ended.add(stream)
            if len(ended) == count:
                return
        raise Failure(f"{path}: {len(ended)} of {count} streams were ended before the connection")


@attack
def zero_window_stalls(target):
    """Large answers that may not be sent, because their window never opens."""
    zero_window(target, LIST, None, 300)


@attack
def zero_window_stalls_of_made_answers(target):
    """The same for answers that are made for each request (tables, indented text)."""
    zero_window(target, f"{LIST}?pretty=true", None, 300)
    zero_window(target, LIST, "application/json;as=Table;g=meta.k8s.io;v=v1", 300)
    zero_window(target, LIST, "application/yaml", 50)


def flood_ends(target, units, codes=(0, ENHANCE_YOUR_CALM), settings=b""):
    # The last word may be lost: the server does not read on, so its end of the connection is a reset.
    with Http2(target, settings) as peer:
        code = peer.flood(units)
        want(code in codes, f"GOAWAY {code}, wanted one of {codes}")


@attack
def rapid_reset(target):
    block = request_block(target, "GET", LIST)
    flood_ends(target, (frame(HEADERS, END_HEADERS | END_STREAM, 2 * i + 1, block) +
                        frame(RST_STREAM, 0, 2 * i + 1, struct.pack(">I", 8)) for i in range(100_000)))


@attack
def settings_flood(target):
    flood_ends(target, (frame(SETTINGS, 0, 0) * 100 for _ in range(10_000)))


@attack
def ping_flood(target):
    flood_ends(target, (frame(PING, 0, 0, b"12345678") * 100 for _ in range(10_000)))


@attack
def priority_flood(target):
    flood_ends(target, (frame(PRIORITY, 0, 2 * i + 1, b"\0\0\0\0\x10") for i in range(1_000_000)))


@attack
def empty_data_flood(target):
    def units():
        yield frame(HEADERS, END_HEADERS, 1, request_block(target, "POST", LIST))
        for _ in range(10_000):
            yield frame(DATA, 0, 1) * 100

    flood_ends(target, units())


@attack
def continuation_flood(target):
    def units():
        yield frame(HEADERS, 0, 1, request_block(target, "GET", LIST))
        for i in range(1_000_000):
            yield frame(CONTINUATION, 0, 1, field(f"x-{i}", "y"))

    flood_ends(target, units(), codes=(0, 1, 2, ENHANCE_YOUR_CALM))


@attack
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


@attack
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


@attack
def bad_text(target):
    bad = b'{"metadata":{"name":"a\xff\xfe"},"data":{"x":"\xc0\x80"}}'
    for content_type in ("application/json", "application/yaml"):
        status, answer = target.ask("POST", LIST, bad, [f"Content-Type: {content_type}"])
        want(status == 400, f"{content_type}: {status} {answer[:200]!r}")
    for path in (f"{LIST}/%ff%fe", f"{LIST}/%00", f"{LIST}/a%2fb", f"{LIST}?labelSelector=%ff", "/%c0%ae%c0%ae/"):
        status, answer = target.ask("GET", path)
        want(status in (400, 404), f"{path}: {status} {answer[:200]!r}")
        answer.decode()  # what is said about it is text again


@attack
def huge_bodies(target):
    """A hundred megabytes: refused by its length, by its first three, or by the sum of all."""
    with target.tls() as peer:
        peer.sendall(target.head("POST", LIST, ["Content-Length: 104857600", "Content-Type: application/json"]))
        want(status_of(read_to_end(peer)) == 413, "by its length")
    with target.tls() as peer:
        chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"
        send_until_refused(peer, [target.head("POST", LIST, ["Transfer-Encoding: chunked"])] + [chunk] * 1600)
        status = status_of(read_to_end(peer))
        want(status in (0, 413), f"in chunks: {status}")
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
    # Many bodies just below the limit, none of them ended.
    part = b" " * (BODY_LIMIT - 1)
    peers, statuses = [], []
    for _ in range(ALL_BODIES // BODY_LIMIT + 10):
        peer = target.tls()
        peers.append(peer)
        send_until_refused(peer, [target.head("POST", LIST, [f"Content-Length: {BODY_LIMIT}"]) + part])
    for peer in peers:
        statuses.append(status_of(read_to_end(peer)))
        peer.close()
    want(set(statuses) <= {0, 408, 429}, f"many at once: {statuses}")


@attack
def wrong_certificates(target):
    status, _ = target.ask("GET", LIST, token=False, certificate="good")
    want(status == 200, f"the good certificate: {status}")
    for name in ("expired", "future", "foreign", "server", "node"):
        status, answer = target.ask("GET", LIST, token=False, certificate=name)
        want(status == 401, f"certificate {name}: {status} {answer[:200]!r}")
    # A wrong certificate is not made good by asking for what anonymous users may not have either.
    status, _ = target.ask("GET", "/api/v1/secrets", token=False, certificate="foreign")
    want(status == 401, f"foreign certificate, secrets: {status}")


@attack
def wrong_tokens(target):
    good = target.token
    for token in ("wrong", good[:-1], good + "x", good.swapcase(), good[::-1], "a.b.c", "Ünicode", "x" * 10_000,
                  "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZG1pbiJ9.", "abcdef.0123456789abcdef"):
        status, answer = target.ask("GET", LIST, token=token)
        want(status == 401, f"token {token[:20]}…: {status} {answer[:200]!r}")
    status, _ = target.ask("GET", LIST, token="x" * 100_000)
    want(status == 431, f"a token of 100 kB: {status}")
    status, _ = target.ask("GET", LIST, token=False, headers=["Authorization: Basic YWRtaW46YWRtaW4="])
    want(status == 401, f"basic authentication: {status}")
    status, _ = target.ask("GET", LIST, token=False, headers=[f"Authorization: Bearer {good}", "Authorization: Bearer x"])
    want(status in (400, 401), f"two tokens: {status}")


# --- limits: against a server that allows little, so that reaching it is cheap; no bystander could be served


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


# --- running them


class Bystander(threading.Thread):
    """Keeps asking, as a client that has nothing to do with all this; the server may never fail it."""

    def __init__(self, target):
        super().__init__(daemon=True)
        self.target, self.served, self.failure, self.ending = target, 0, None, False

    def run(self):
        number = 0
        while not self.ending:
            number += 1
            body = json.dumps({"data": {"count": str(number)}}).encode()
            try:
                status, answer = self.target.ask("PATCH", f"{LIST}/bystander", body,
                                                 ["Content-Type: application/merge-patch+json"])
                want(status == 200, f"write: {status} {answer[:200]!r}")
                status, answer = self.target.ask("GET", f"{LIST}/bystander")
                want(status == 200 and json.loads(answer)["data"]["count"] == str(number), f"read: {answer[:200]!r}")
                self.served += 1
            except Exception as error:
                self.failure = error
                return

    def must_be_served_again(self, process):
        before, end = self.served, time.monotonic() + HOPELESS
        while self.served < before + 2:  # the second was asked after this call
            want(self.failure is None, f"a bystander was failed: {self.failure}")
            want(time.monotonic() < end, "a bystander is not served")
            process.memory("VmRSS")
            time.sleep(0.01)


class LoudWriter(threading.Thread):
    """Changes large objects without pause while a watch is not read."""

    def __init__(self, target):
        super().__init__(daemon=True)
        self.target, self.ending = target, False

    def run(self):
        number = 0
        while not self.ending:
            number += 1
            body = json.dumps({"data": {"text": "z" * 100_000, "count": str(number)}}).encode()
            self.target.ask("PATCH", f"{LIST}/big-{number % 10}", body, ["Content-Type: application/merge-patch+json"])


def prepare(target):
    for name, size in [("bystander", 1)] + [(f"big-{i}", 100_000) for i in range(80)]:
        body = json.dumps({"metadata": {"name": name}, "data": {"text": "x" * size}}).encode()
        status, answer = target.ask("POST", LIST, body, ["Content-Type: application/json"])
        want(status == 201, f"{name}: {status} {answer[:200]!r}")


def main():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 8192)), hard))
    target = Target(sys.argv[1:])
    pattern = sys.argv[7] if len(sys.argv) > 7 else ""
    prepare(target)
    if pattern == "limits":
        try:
            limited_connections(target)
            limited_reads(target)
        except Failure as failure:
            sys.exit(f"FAILED: {failure}")
        return
    bystander = Bystander(target)
    bystander.start()
    for one in ATTACKS:
        if pattern not in one.__name__:
            continue
        writer = LoudWriter(target) if "watch" in one.__name__ else None
        if writer:
            writer.start()
        try:
            one(target)
            bystander.must_be_served_again(target)
        except Failure as failure:
            sys.exit(f"FAILED: {one.__name__}: {failure}")
        finally:
            if writer:
                writer.ending = True
                writer.join()
        peak = target.memory("VmHWM")
        print(f"{one.__name__}: {target.memory('VmRSS')} MB, peak {peak} MB, "
              f"{bystander.served} bystanders served", flush=True)
        if peak > target.memory_limit:
            sys.exit(f"FAILED: {one.__name__}: the server's memory reached {peak} MB, allowed are {target.memory_limit}")
    bystander.ending = True
    bystander.join()
    if bystander.failure:
        sys.exit(f"FAILED: a bystander was failed: {bystander.failure}")


main()
