"""Two servers on three etcd members, writers and watchers on both, and everything that can go wrong with etcd.

usage: etcd_storm.py FAIRLEAD FOLDER SEED      (FOLDER holds ca.crt, etcd.crt and etcd.key)

Writers own a few objects each, written through one server and read back through either, and raise one
counter together. Watchers resume where they stood and list again only when told 410. etcd_judge.py says
whether the promises were kept.
"""

import http.client
import json
import os
import random
import sys
import threading
import time

import etcd_judge

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from processes import Etcd, Server, until  # noqa: E402

PATH = "/api/v1/namespaces/default/configmaps"
BROKEN = (OSError, http.client.HTTPException, ValueError)  # ValueError: half an answer
WRITERS_PER_SERVER = 3
KEYS = 6
REFUSED = {404, 409, 429, 503}  # surely not carried out
UNKNOWN = {504}                 # nobody knows


class Story:
    """What everybody tells."""

    def __init__(self):
        self.lock = threading.Lock()
        self.writes, self.failures = [], []
        self.counter = {"acknowledged": 0, "unknown": 0}
        self.stop_writing, self.stop_watching = threading.Event(), threading.Event()

    def fail(self, what):
        with self.lock:
            self.failures.append(what)


class Caller:
    """Keeps one connection; None for an answer that did not come."""

    def __init__(self, server):
        self.server, self.connection = server, None

    def call(self, method, path, body=None):
        try:
            if not self.connection:
                self.connection = self.server.connect()
            answer = self.server.request(self.connection, method, path, body)
            return answer.status, json.loads(answer.read())
        except BROKEN:
            self.connection = None
            time.sleep(0.02)  # a server that is down refuses at once
            return None, None


def version_of(thing):
    return int(thing["metadata"]["resourceVersion"])


class Writer:
    def __init__(self, story, name, server, other, seed):
        self.story, self.name = story, name
        self.write_to, self.readers = Caller(server), [Caller(server), Caller(other)]
        self.chance = random.Random(f"{seed} {name}")
        self.known = {}  # by name: (version last acknowledged, whether it may be absent)

    def run(self):
        try:
            number = 0
            while not self.story.stop_writing.is_set():
                number += 1
                if number % 5 == 0:
                    self.count()
                else:
                    self.write_once(f"{self.name}-{self.chance.randrange(KEYS)}", f"{self.name}-{number}")
        except Exception as error:  # a broken test must not look like a quiet one
            self.story.fail(f"{self.name}: {error!r}")
            raise

    def read(self, name):
        status, found = self.chance.choice(self.readers).call("GET", f"{PATH}/{name}")
        if status not in (None, 200, 404, 429, 503, 504):
            self.story.fail(f"get {name}: {status} {found}")
        if status not in (200, 404):
            return False, None
        last, may_be_absent = self.known.get(name, (0, True))
        if status == 404 and not may_be_absent:
            self.story.fail(f"{name} was acknowledged at {last} and not found right after")
        if status == 200 and version_of(found) < last:
            self.story.fail(f"{name} was acknowledged at {last} and read at {version_of(found)} right after")
        return True, found if status == 200 else None

    def write_once(self, name, value):
        answered, found = self.read(name)
        if not answered:
            return
        if found is None:
            self.tell("create", name, value, None, self.write_to.call(
                "POST", PATH, {"metadata": {"name": name}, "data": {"value": value}}))
        elif self.chance.random() < 0.2:
            meta = found["metadata"]
            exactly = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
            self.tell("delete", name, "", found, self.write_to.call(
                "DELETE", f"{PATH}/{name}", {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": exactly}))
        else:
            found["data"] = {"value": value}
            self.tell("update", name, value, found, self.write_to.call("PUT", f"{PATH}/{name}", found))

    def tell(self, verb, name, value, base, answer):
        status, made = answer
        version, base_version, uid = 0, version_of(base) if base else 0, base and base["metadata"]["uid"]
        last, may_be_absent = self.known.get(name, (0, True))
        if status in (200, 201):
            fate = "acknowledged"
            if verb == "delete":
                self.known[name] = (base_version, True)
            else:
                version, uid = version_of(made), made["metadata"]["uid"]
                self.known[name] = (version, False)
        elif status is None or status in UNKNOWN:
            fate = "unknown"
            self.known[name] = (last, may_be_absent or verb == "delete")
        elif status in REFUSED:
            fate = "refused"
        else:
            self.story.fail(f"{verb} {name}: {status} {made}")
            return
        with self.story.lock:
            self.story.writes.append((fate, verb, name, value, base_version, version, uid))

    def count(self):
        answered, found = self.read("counter")
        if not answered:
            return
        base = version_of(found)
        found["data"]["value"] = str(int(found["data"]["value"]) + 1)
        status, made = self.write_to.call("PUT", f"{PATH}/counter", found)
        with self.story.lock:
            if status == 200:
                self.story.counter["acknowledged"] += 1
                self.story.writes.append(("acknowledged", "update", "counter", found["data"]["value"], base,
                                          version_of(made), made["metadata"]["uid"]))
            elif status is None or status in UNKNOWN:
                self.story.counter["unknown"] += 1
            elif status not in REFUSED:
                self.story.failures.append(f"count: {status} {made}")


class Watcher:
    """Follows the servers in turn, one after each end of a stream."""

    def __init__(self, story, name, servers, seconds, seed):
        self.story, self.name, self.servers, self.seconds = story, name, servers, seconds
        self.chance = random.Random(f"{seed} {name}")
        self.steps, self.version, self.turn = [], None, 0
        self.lists = self.resumes = 0
        self.last_seen = None

    def run(self):
        try:
            while not self.story.stop_watching.is_set():
                server = self.servers[self.turn % len(self.servers)]
                self.turn += 1
                try:
                    if self.version is None:
                        self.list(server)
                    else:
                        self.watch(server)
                except BROKEN:
                    time.sleep(0.05)
        except Exception as error:
            self.story.fail(f"{self.name}: {error!r}")
            raise

    def list(self, server):
        answer = server.request(server.connect(), "GET", PATH)
        listed = json.loads(answer.read())
        if answer.status != 200:
            if answer.status not in (429, 503, 504):
                self.story.fail(f"{self.name}: list: {answer.status} {listed}")
            time.sleep(0.05)
            return
        self.lists += 1
        self.version = version_of(listed)
        self.steps.append(("list", self.version, {
            item["metadata"]["name"]: (version_of(item), item["data"]["value"]) for item in listed["items"]}))

    def watch(self, server):
        seconds = self.chance.randint(*self.seconds)
        connection = server.connect()
        answer = server.request(connection, "GET", f"{PATH}?watch=true&allowWatchBookmarks=true"
                                f"&resourceVersion={self.version}&timeoutSeconds={seconds}")
        if answer.status != 200:
            told = json.loads(answer.read())
            if answer.status == 410:
                self.version = None
            elif answer.status not in (429, 503, 504):
                self.story.fail(f"{self.name}: watch: {answer.status} {told}")
            return
        self.resumes += 1
        while not self.story.stop_watching.is_set():
            line = answer.readline()
            if not line.endswith(b"\n"):
                return
            if not self.take(json.loads(line)):
                return

    def take(self, event):
        kind, thing = event["type"], event["object"]
        if kind == "ERROR":
            if thing["code"] == 410:
                self.version = None
            else:
                self.story.fail(f"{self.name}: {thing}")
            return False
        self.version = version_of(thing)
        if kind == "BOOKMARK":
            self.steps.append(("bookmark", self.version))
        else:
            self.last_seen = thing["metadata"]["name"]
            self.steps.append(("event", self.version, kind, self.last_seen, thing["data"]["value"]))
        return True


class Storm:
    """Everything that goes wrong, in a random order, one thing after another."""

    def __init__(self, etcd, victim, other, chance):
        self.etcd, self.victim, self.other, self.chance = etcd, victim, other, chance
        self.compactions = 0

    def wait(self, least, most):
        time.sleep(self.chance.uniform(least, most))

    def rage(self):
        faults = [self.kill_leader, self.kill_follower, self.freeze_leader, self.freeze_two, self.compact,
                  self.kill_server, self.kill_server_without_leader, self.freeze_server, self.kill_and_compact]
        faults += [lambda i=i: self.freeze_and_compact(i) for i in range(len(self.etcd.members))]
        self.chance.shuffle(faults)
        for fault in faults:
            self.wait(0.2, 0.8)
            fault()
        if self.compactions == 0:
            raise SystemExit("nothing was compacted: the test tested nothing")

    def follower(self):
        leader = self.etcd.leader()
        return self.chance.choice([i for i in range(len(self.etcd.members)) if i != leader])

    def others(self, member):
        return [i for i in range(len(self.etcd.members)) if i != member]

    def count_compaction(self, done):
        self.compactions += bool(done)

    def kill_leader(self):
        self.kill_member(self.etcd.leader())

    def kill_follower(self):
        self.kill_member(self.follower())

    def kill_member(self, member):
        self.etcd.members[member].kill()
        self.wait(0.3, 2)
        self.etcd.members[member].start()

    def freeze_leader(self):
        member = self.etcd.members[self.etcd.leader()]
        member.freeze()
        self.wait(0.5, 3)
        member.thaw()

    def freeze_two(self):
        members = self.chance.sample(self.etcd.members, 2)
        for member in members:
            member.freeze()
        self.wait(0.5, 2.5)
        for member in members:
            member.thaw()

    def compact(self):
        self.count_compaction(self.etcd.compact())
        self.etcd.defragment()

    # A server whose watch hangs on that member finds the history that it needs gone.
    def freeze_and_compact(self, member):
        self.etcd.members[member].freeze()
        self.wait(0.2, 0.6)
        self.count_compaction(self.etcd.compact(self.others(member)))
        self.wait(1, 2)
        self.etcd.members[member].thaw()

    def kill_and_compact(self):
        member = self.follower()
        self.etcd.members[member].kill()
        self.wait(0.2, 0.5)
        self.count_compaction(self.etcd.compact(self.others(member)))
        self.etcd.members[member].start()

    def kill_server(self):
        self.victim.kill()
        self.wait(0.1, 0.5)
        self.victim.start()
        self.victim.wait_ready()

    def kill_server_without_leader(self):
        member = self.etcd.members[self.etcd.leader()]
        member.freeze()
        self.kill_server()
        member.thaw()

    def freeze_server(self):
        self.other.freeze()
        self.wait(0.3, 1.5)
        self.count_compaction(self.etcd.compact())
        self.wait(0.1, 0.5)
        self.other.thaw()


def insist(server, method, path, body=None, good=(200, 201)):
    """Until it is answered; for the beginning and the end, when nothing goes wrong any more."""
    caller, found = Caller(server), []

    def ask():
        status, answer = caller.call(method, path, body)
        found[:] = [answer]
        return status in good
    until(60, f"answer to {method} {path} from {server.name}", ask)
    return found[0]


def judge(story, watchers, servers, etcd):
    listings = [insist(server, "GET", PATH)["items"] for server in servers]
    if listings[0] != listings[1]:
        raise etcd_judge.Verdict("the servers list different objects")
    present = {item["metadata"]["name"]: (version_of(item), item["data"]["value"], item["metadata"]["uid"])
               for item in listings[0]}
    kept = json.loads(etcd.control("get", "--prefix", "/fairlead/data/core/configmaps/default/", "--keys-only",
                                   "--write-out", "json").stdout)["kvs"]
    if sorted(kv["mod_revision"] for kv in kept) != sorted(version // 1024 for version, _, _ in present.values()):
        raise etcd_judge.Verdict("the servers list other objects than etcd holds")
    stretches = {}
    for watcher in watchers:
        contents, stretches[watcher.name] = etcd_judge.replay(watcher.name, watcher.steps)
        listed = {name: (version, value) for name, (version, value, _) in present.items()}
        if contents != listed:
            wrong = {name for name in contents.keys() | listed.keys() if contents.get(name) != listed.get(name)}
            raise etcd_judge.Verdict(f"{watcher.name} does not end with what is listed: {sorted(wrong)}")
    shared = [etcd_judge.compare(a.name, stretches[a.name], b.name, stretches[b.name])
              for i, a in enumerate(watchers) for b in watchers[:i]]
    history = etcd_judge.History([one for some in stretches.values() for one in some])
    acknowledged = etcd_judge.check_writes(story.writes, history, present)
    etcd_judge.check_counter("counter", history, story.counter["acknowledged"], story.counter["unknown"],
                             int(present["counter"][1]))
    return acknowledged, min(shared)


def main():
    program, folder, seed = sys.argv[1:4]
    print(f"seed {seed}", flush=True)
    etcd = Etcd(folder, tls=True)
    etcd.wait_healthy()
    servers = [Server(program, name, folder, etcd, first) for first, name in enumerate(["left", "right"])]
    for server in servers:
        server.start()
    for server in servers:
        server.wait_ready()
    left, right = servers
    insist(left, "POST", PATH, {"metadata": {"name": "counter"}, "data": {"value": "0"}}, good=(201, 409))

    story = Story()
    watchers = [Watcher(story, "left, patient", [left], (120, 120), seed),
                Watcher(story, "left, restless", [left], (3, 6), seed),
                Watcher(story, "right, patient", [right], (120, 120), seed),
                Watcher(story, "right, restless", [right], (3, 6), seed),
                Watcher(story, "left and right", [left, right], (3, 6), seed)]
    writers = [Writer(story, f"{server.name}{i}", server, other, seed)
               for server, other in ((left, right), (right, left)) for i in range(WRITERS_PER_SERVER)]
    watching = [threading.Thread(target=watcher.run, daemon=True) for watcher in watchers]
    writing = [threading.Thread(target=writer.run, daemon=True) for writer in writers]
    for thread in watching + writing:
        thread.start()
    storm = Storm(etcd, right, left, random.Random(seed))
    storm.rage()
    etcd.wait_healthy()
    story.stop_writing.set()
    for thread in writing:
        thread.join(60)
        if thread.is_alive():
            raise SystemExit("a writer still waits for an answer")

    insist(left, "POST", PATH, {"metadata": {"name": "the-end"}, "data": {"value": ""}}, good=(201, 409))
    for watcher in watchers:
        until(60, f"end of the history at {watcher.name}",
              lambda: watcher.last_seen == "the-end" or not all(thread.is_alive() for thread in watching)
              or (watcher.steps and watcher.steps[-1][0] == "list" and "the-end" in watcher.steps[-1][2]))
    story.stop_watching.set()
    if story.failures:
        raise SystemExit("\n".join(story.failures[:20]))
    acknowledged, shared = judge(story, watchers, servers, etcd)
    unknown = sum(write[0] == "unknown" for write in story.writes) + story.counter["unknown"]
    again = sum(watcher.lists - 1 for watcher in watchers)
    resumed = sum(watcher.resumes - 1 for watcher in watchers)
    if acknowledged < 200 or shared < 20 or again == 0:
        raise SystemExit(f"{acknowledged} acknowledged, {shared} shared, {again} lists: the test tested nothing")
    print(f"{acknowledged} acknowledged writes, none lost; {unknown} of unknown fate; "
          f"{storm.compactions} compactions; watches resumed {resumed} times, listed again {again} times; "
          f"any two watchers shared at least {shared} changes")


main()
