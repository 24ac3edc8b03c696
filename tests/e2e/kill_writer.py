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
        self.data, self.port = data, port
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

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def write(server, acknowledged, prefix, lock):
    """Creates and updates objects until the connection breaks."""
    try:
        connection = server.connect()
        for number in range(1_000_000):
            name = f"{prefix}-{number}"
            status, made = server.call(connection, "POST", PATH, {"metadata": {"name": name}, "data": {"n": "0"}})
            if status != 201:
                raise SystemExit(f"create {name}: {status} {made}")
            with lock:
                acknowledged[name] = ("0", int(made["metadata"]["resourceVersion"]))
            if number % 3 == 0:
                made["data"]["n"] = "1"
                status, made = server.call(connection, "PUT", f"{PATH}/{name}", made)
                if status == 200:
                    with lock:
                        acknowledged[name] = ("1", int(made["metadata"]["resourceVersion"]))
    except (OSError, http.client.HTTPException, ValueError):
        pass  # killed under us: what was being written may or may not be there


def verify(server, acknowledged):
    status, listed = server.call(server.connect(), "GET", PATH)
    if status != 200:
        raise SystemExit(f"list: {status} {listed}")
    present = {item["metadata"]["name"]: item for item in listed["items"]}
    for name, (value, version) in acknowledged.items():
        item = present.get(name)
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
    acknowledged, lock = {}, threading.Lock()
    for round_number in range(kills):
        server = Server(program, data, port)
        verify(server, acknowledged)
        threads = [threading.Thread(target=write, args=(server, acknowledged, f"r{round_number}-w{i}", lock))
                   for i in range(WRITERS)]
        for thread in threads:
            thread.start()
        time.sleep(chance.uniform(0.02, 0.4))
        server.kill()
        for thread in threads:
            thread.join()
    server = Server(program, data, port)
    verify(server, acknowledged)
    server.kill()
    if len(acknowledged) < kills:
        raise SystemExit(f"only {len(acknowledged)} writes were acknowledged: the test tested nothing")
    print(f"{len(acknowledged)} acknowledged writes, {kills} kills, none lost")


main()
