"""HTTP/2, just enough to misuse it."""

import select
import socket
import ssl
import struct
import time

from target import HOPELESS, Failure, read_to_end

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
        pairs.append(("authorization", f"Bearer {target.token if token is True else token}"))
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
    def __init__(self, target, settings=b"", receive_buffer=None, certificate=None, source=None):
        self.connection = target.tls("h2", certificate, receive_buffer, source)
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
