"""Real processes for the tests in Python: a cluster of etcd members, and servers on it.

Everything listens on 127.0.0.1. Start processes from the main thread only: they die with the thread that
started them, so that nothing outlives the test.
"""

import ctypes
import http.client
import json
import signal
import ssl
import subprocess
import time

from free_port import free_ports

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


class Process:
    def __init__(self, command, log):
        self.command, self.log, self.process = command, log, None

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                self.command, stdout=subprocess.PIPE if self.needs_output() else log, stderr=log,
                preexec_fn=lambda: LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL))

    def needs_output(self):
        return False

    def kill(self):
        self.process.kill()
        self.process.wait()

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)


class Etcd:
    """Members that find one another. With `tls` clients show a certificate: `folder` holds ca.crt, and etcd.crt and
    etcd.key for both sides."""

    def __init__(self, folder, tls, members=3):
        self.folder, self.tls = folder, tls
        ports = free_ports(2 * members)
        self.urls = [f"{'https' if tls else 'http'}://127.0.0.1:{port}" for port in ports[:members]]
        peers = [f"http://127.0.0.1:{port}" for port in ports[members:]]
        everyone = ",".join(f"m{i}={peer}" for i, peer in enumerate(peers))
        credentials = [] if not tls else [
            "--cert-file", f"{folder}/etcd.crt", "--key-file", f"{folder}/etcd.key",
            "--trusted-ca-file", f"{folder}/ca.crt", "--client-cert-auth"]
        self.members = [Process(
            ["etcd", "--name", f"m{i}", "--data-dir", f"{folder}/m{i}", "--initial-cluster", everyone,
             "--listen-peer-urls", peers[i], "--initial-advertise-peer-urls", peers[i],
             "--listen-client-urls", self.urls[i], "--advertise-client-urls", self.urls[i],
             *credentials, "--log-level", "error"], f"{folder}/m{i}.err") for i in range(members)]
        for member in self.members:
            member.start()

    def control(self, *words, members=None):
        urls = self.urls if members is None else [self.urls[i] for i in members]
        credentials = [] if not self.tls else [
            "--cacert", f"{self.folder}/ca.crt", "--cert", f"{self.folder}/etcd.crt",
            "--key", f"{self.folder}/etcd.key"]
        return subprocess.run(
            ["etcdctl", "--endpoints", ",".join(urls), *credentials, "--dial-timeout", "1s", "--command-timeout", "5s",
             *words], env={"ETCDCTL_API": "3", "PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False)

    def wait_healthy(self):
        until(60, "healthy etcd", lambda: self.control("endpoint", "health").returncode == 0)

    def statuses(self):
        told = self.control("endpoint", "status", "--write-out", "json").stdout
        return {self.urls.index(one["Endpoint"]): one["Status"] for one in json.loads(told or "[]")}

    def leader(self):
        """Which member leads, once one does."""
        found = []

        def ask():
            found[:] = [i for i, status in self.statuses().items()
                        if status["header"]["member_id"] == status.get("leader")]
            return len(found) == 1
        until(60, "leader", ask)
        return found[0]

    def compact(self, members=None):
        """Forgets all history, as seen by those members; says whether it was carried out."""
        told = self.control("get", "no-such-key", "--write-out", "json", members=members).stdout
        if not told:
            return False
        revision = json.loads(told)["header"]["revision"]
        return self.control("compact", str(revision), "--physical", members=members).returncode == 0

    def defragment(self):
        return self.control("defrag").returncode == 0


class Server(Process):
    def __init__(self, program, name, folder, etcd, first):
        self.name, self.data = name, f"{folder}/{name}"
        self.port = free_ports(1)[0]
        urls = ",".join(etcd.urls[first:] + etcd.urls[:first])
        super().__init__(
            [program, "server", "--data", self.data, "--listen", f"127.0.0.1:{self.port}",
             "--store", f"etcd:{urls}", "--etcd-ca", f"{etcd.folder}/ca.crt",
             "--etcd-cert", f"{etcd.folder}/etcd.crt", "--etcd-key", f"{etcd.folder}/etcd.key"],
            f"{folder}/{name}.err")

    def needs_output(self):
        return True

    def wait_ready(self):
        line = self.process.stdout.readline().decode()
        if "ready" not in line:
            raise SystemExit(f"server {self.name} did not start: {line}")
        with open(f"{self.data}/admin.token") as file:
            self.token = file.read().strip()
        self.tls = ssl.create_default_context(cafile=f"{self.data}/pki/ca.crt")

    def connect(self):
        return http.client.HTTPSConnection("127.0.0.1", self.port, context=self.tls, timeout=30)

    def request(self, connection, method, path, body=None):
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        connection.request(method, path, json.dumps(body) if body else None, headers)
        return connection.getresponse()


def until(limit, what, succeeds):
    """Tries until it succeeds; the limit only ends a hopeless wait."""
    end = time.monotonic() + limit
    while not succeeds():
        if time.monotonic() > end:
            raise SystemExit(f"no {what} after {limit} s")
        time.sleep(0.05)
