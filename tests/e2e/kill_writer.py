"""Writes to a server from several threads while killing it again and again; checks what survived.

usage: kill_writer.py FAIRLEAD DATA PORT KILLS SEED
"""

import http.client
import json
import random
import signal
import ssl
import subprocess
import sys
import threading
import time

WRITERS = 8
PATH = "/api/v1/namespaces/default/configmaps"


class Server:
    def __init__(self, program, data, port):
        self.data, self.port, self.killed = data, port, False
        self.process = subprocess.Popen(
            [program, "server", "--data", data, "--listen", f"127.0.0.1:{port}", "--log-level", "error"],
            stdout=subprocess.PIPE)
        line = self.process.stdout.readline().decode()
        if "ready" not in line:
            raise SystemExit(f"the server did not start: {line}")
        with open(f"{data}/admin.token") as file:
            self.token = file.read().strip()
        self.tls = ssl.create_default_context(cafile=f"{data}/pki/ca.crt")

    def connect(self):
        return http.client.HTTPSConnection("127.0.0.1", self.port, context=self.tls, timeout=20)

    def call(self, connection, method, path, body=None):
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        connection.request(method, path, json.dumps(body) if body else None, headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())

    def alive(self):
        return not self.killed

    def kill(self):
        self.killed = True
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


class Writer(threading.Thread):
    """Creates, updates and deletes objects until the server is killed under it.

    Acknowledged is, by name, the value and version that were told, or None and the version that was deleted. What it
    was about to do when the server died is unknown: until it is found out, either is right.
    """

    def __init__(self, server, acknowledged, prefix):
        super().__init__()
        self.server, self.acknowledged, self.prefix = server, acknowledged, prefix
        self.failure, self.deleted = None, 0

    def run(self):
        try:
            self.write()
        except (OSError, http.client.HTTPException):
            # Killed under us; without that there is no reason for it.
            if self.server.alive():
                self.failure = f"{self.prefix}: the connection was lost, but the server was not killed"
        except Exception as error:  # whatever else it is, the test must not pass
            self.failure = f"{self.prefix}: {error!r}"

    def insist(self, status, wanted, what, answer):
        if status != wanted:
            raise RuntimeError(f"{what}: {status} {answer}")

    def write(self):
        connection = self.server.connect()
        for number in range(1_000_000):
            name = f"{self.prefix}-{number}"
            body = {"metadata": {"name": name}, "data": {"n": "0"}}
            self.acknowledged.pop(name, None)
            status, made = self.server.call(connection, "POST", PATH, body)
            self.insist(status, 201, f"create {name}", made)
            self.acknowledged[name] = ("0", int(made["metadata"]["resourceVersion"]))
            if number % 3 == 0:
                made["data"]["n"] = "1"
                status, made = self.server.call(connection, "PUT", f"{PATH}/{name}", made)
                self.insist(status, 200, f"update {name}", made)
                self.acknowledged[name] = ("1", int(made["metadata"]["resourceVersion"]))
            elif number % 3 == 1:
                before = self.acknowledged.pop(name)  # unknown from now on
                status, answer = self.server.call(connection, "DELETE", f"{PATH}/{name}")
                self.insist(status, 200, f"delete {name}", answer)
                self.acknowledged[name] = (None, before[1])
                self.deleted += 1


def verify(server, acknowledged):
    status, listed = server.call(server.connect(), "GET", PATH)
    if status != 200:
        raise SystemExit(f"list: {status} {listed}")
    present = {item["metadata"]["name"]: item for item in listed["items"]}
    for name, (value, version) in acknowledged.items():
        item = present.get(name)
        if value is None:
            if item is not None:
                raise SystemExit(f"{name} was deleted, which was acknowledged, and is back: {item}")
            continue
        if item is None:
            raise SystemExit(f"{name} was acknowledged at version {version} and is gone")
        if int(item["metadata"]["resourceVersion"]) < version or item["data"]["n"] < value:
            raise SystemExit(f"{name} went back: {value}@{version} was acknowledged, found {item}")
    highest = max((version for _, version in acknowledged.values()), default=0)
    if int(listed["metadata"]["resourceVersion"]) < highest:
        raise SystemExit("the server's version went backwards")


def main():
    program, data, port, kills, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
    print(f"seed {seed}")
    chance = random.Random(seed)
    acknowledged, deleted = {}, 0
    for round_number in range(kills):
        server = Server(program, data, port)
        verify(server, acknowledged)
        writers = [Writer(server, acknowledged, f"r{round_number}-w{i}") for i in range(WRITERS)]
        for writer in writers:
            writer.start()
        time.sleep(chance.uniform(0.02, 0.4))
        server.kill()
        for writer in writers:
            writer.join()
        failures = [writer.failure for writer in writers if writer.failure]
        if failures:
            raise SystemExit("\n".join(failures))
        deleted += sum(writer.deleted for writer in writers)
    server = Server(program, data, port)
    verify(server, acknowledged)
    server.kill()
    if len(acknowledged) < 10 * kills or deleted < kills:
        raise SystemExit(f"only {len(acknowledged)} writes and {deleted} deletions were acknowledged: "
                         "the test tested hardly anything")
    print(f"{len(acknowledged)} acknowledged writes, {deleted} of them deletions, {kills} kills, none lost")


main()
