"""The hostile peers of attack.sh: raw TLS, HTTP/1 and HTTP/2 from Python's standard library.

    attack.py HOST:PORT CA TOKEN PID MEMORY_MB CERTIFICATES (all | limits) [PATTERN]

The environment says FAIRLEAD, WORK, SERVER_DATA and CONTROLLER_TOKEN. `limits` is for a server that allows little.
Each attack is a function in the files beside this one that gets the target and fails by raising; they are run in
order. During all of them a bystander keeps asking; after each the server must have served it, must be the same
process, and its memory must never have been above MEMORY_MB. A wait ends with the server's answer; the limit on it
only ends a hopeless one. With PATTERN only the attacks whose name contains it are run.
"""

import json
import resource
import sys
import threading
import time

import credentials
import floods
import limits
import malformed
import nodes
import slow
import strangers
from target import HOPELESS, LIST, Failure, Target, want

SUITES = {
    "all": slow.ATTACKS + floods.ATTACKS + malformed.ATTACKS + credentials.ATTACKS + strangers.ATTACKS + nodes.ATTACKS,
    "limits": limits.ATTACKS,
}


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
    suite, pattern = sys.argv[7], sys.argv[8] if len(sys.argv) > 8 else ""
    prepare(target)
    bystander = Bystander(target)
    bystander.start()
    for one in SUITES[suite]:
        if pattern not in one.__name__:
            continue
        writer = LoudWriter(target) if one is slow.slow_watch_readers else None
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
