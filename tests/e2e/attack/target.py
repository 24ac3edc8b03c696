"""The server under attack as raw TLS and HTTP/1 reach it, and how an attack says that it succeeded."""

import os
import socket
import ssl
import subprocess
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
        self.data = os.environ["SERVER_DATA"]
        self.program = os.environ["FAIRLEAD"]
        self.controller = os.environ["CONTROLLER_TOKEN"]  # a user who is no administrator
        self.work = os.environ["WORK"]

    def tcp(self, receive_buffer=None, source=None):
        connection = socket.socket()
        connection.settimeout(HOPELESS)
        if receive_buffer:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        if source:
            connection.bind((source, 0))
        connection.connect(self.address)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def context(self, alpn, certificate=None):
        context = ssl.create_default_context(cafile=self.ca)
        context.set_alpn_protocols([alpn])
        if certificate:
            context.load_cert_chain(f"{self.certificates}/{certificate}.crt", f"{self.certificates}/{certificate}.key")
        return context

    def tls(self, alpn="http/1.1", certificate=None, receive_buffer=None, source=None):
        raw = self.tcp(receive_buffer, source)
        return self.context(alpn, certificate).wrap_socket(raw, server_hostname=self.address[0])

    def head(self, method, path, headers=(), token=True):
        lines = [f"{method} {path} HTTP/1.1", "Host: attack"]
        if token:
            lines.append(f"Authorization: Bearer {self.token if token is True else token}")
        return "\r\n".join([*lines, *headers, "", ""]).encode()

    def ask(self, method, path, body=b"", headers=(), token=True, certificate=None, source=None):
        """One request on a connection of its own: (status, body)."""
        connection = self.tls(certificate=certificate, source=source)
        with connection:
            fields = [f"Content-Length: {len(body)}", "Connection: close", *headers]
            connection.sendall(self.head(method, path, fields, token) + body)
            return split_answer(read_to_end(connection))

    def metric(self, name):
        status, text = self.ask("GET", "/metrics")
        want(status == 200, f"/metrics answered {status}")
        for line in text.decode().splitlines():
            if line.startswith(name + " "):
                return float(line.rsplit(None, 1)[1])
        raise Failure(f"no metric {name}")

    def refused(self, reason):
        """How often the HTTP server refused somebody for that reason."""
        return self.metric(f'fairlead_http_refused_total{{reason="{reason}"}}')

    def run(self, *arguments):
        """The program itself; what it printed."""
        done = subprocess.run([self.program, *arguments], capture_output=True, text=True, timeout=HOPELESS)
        want(done.returncode == 0, f"fairlead {' '.join(arguments[:2])}: {done.stderr or done.stdout}")
        return done.stdout

    def join(self, node):
        """A node that joined with a token; its credentials become those of a certificate of that name."""
        token = self.run("server", "token", "create", "--data", self.data).strip()
        folder = f"{self.work}/joined-{node}"
        self.run("join", "--server", "%s:%d" % self.address, "--token", token, "--node", node, "--data", folder)
        for kind in ("crt", "key"):
            os.replace(f"{folder}/node.{kind}", f"{self.certificates}/{node}.{kind}")
        return node

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
