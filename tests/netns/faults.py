"""Faults in the middle of churn, on a lab: faults.py FAIRLEAD WORK FABRIC SEED.

Three hosts, two servers (each with its controllers) on an etcd of three, two networks with the same addresses.
Attachments come and go all the time while one thing after another is killed with -9 and started again, or cut
off. After each fault the churn pauses, and everything must come to rest as the promises say (faults_judge.py):
no address owned twice at any moment, locks that match the addresses, interfaces that match the attachments, and
frames that reach exactly those they should, by IPv4 and IPv6. While a fault lasts, too, frames are sent between the
stations of the churn: none may arrive at who lost the address to another, never had it, or is of another network.
Guests that nobody touches ping each other throughout; what they lose is counted and told for each fault. It must be
nothing where the kernel forwards. A switch in user space may lose what is sent from its being killed to the first
answer after its start, and as many more as found its sockets full because it had no processor time.
The network green has guests on host-1 and host-2 only: none of its packets may come to host-3, and of no network may
anything but unicast IP cross the switch.

Open vSwitch in user space loses packets of its tunnels, without anybody's help, whenever any interface of the host
comes or goes: it reads all routes anew and has none meanwhile. So with the fabric ovs the hosts of those guests see
no interfaces of the churn, only its flows; a guest on a host with interfaces that come and go may lose one with each.
"""

import http.client
import itertools
import ipaddress
import random
import re
import sys
import threading
import time

import faults_judge as judge
from faults_world import (Api, Capture, Etcd, FrameSockets, Lab, Pinger, Probe, Station, answer_in, attempt, count_lost,
                          data_frame, free_ports_in_a_row, mac_for, mark_in, overflows, question, run, until, vxlan_of,
                          vxlan_of_other_than_unicast_ip)

BLOCK = ipaddress.ip_network("10.20.0.0/28")
NETWORKS = {"red": 6001, "blue": 6002, "green": 6003}
CHURNED = ["red", "blue"]
FIXED = ["10.20.0.12", "10.20.0.13"]  # what several want at once, again and again
# Network, name, host, place in the block.
UNTOUCHED = [("red", "u1", 1, 2), ("red", "u2", 2, 3), ("red", "u3", 3, 4), ("blue", "v1", 1, 2), ("blue", "v2", 2, 5),
             ("green", "g1", 1, 2), ("green", "g2", 2, 3)]
AT_ONCE = 8  # attachments of the churn in a network
IPV6_PROBED = 40  # addresses that somebody had
ANSWER_WITHIN = 3  # seconds: a ping whose answer a switch took with it when it was killed


class Churn(threading.Thread):
    """Creates and deletes attachments on both servers while it is let: bursts as fast as they answer, each followed by
    a rest in which frames go between the stations that it left. (Without rests a fast machine deletes every station
    before one frame reaches it.)"""

    BURST, REST = 20, 0.3  # steps, seconds

    def __init__(self, lab, nodes, seed):
        super().__init__(daemon=True)
        self.apis = [Api(lab, first) for first in range(lab.servers)]
        self.random, self.nodes = random.Random(seed), nodes
        self.alive = {network: [] for network in CHURNED}
        self.count, self.done, self.failed = 0, 0, 0
        self.go, self.paused, self.broken = threading.Event(), threading.Event(), None

    def run(self):
        for number in itertools.count(1):
            if not self.go.is_set():
                self.paused.set()
                self.go.wait()
                self.paused.clear()
            if number % self.BURST == 0:
                time.sleep(self.REST)
            try:
                self.step()
            except Exception as problem:  # told by the main thread
                self.broken = problem
                self.paused.set()
                return

    def step(self):
        network = self.random.choice(CHURNED)
        alive, api = self.alive[network], self.random.choice(self.apis)
        if len(alive) < AT_ONCE and self.random.random() < 0.6:
            self.count += 1
            # A name that was used before, now and then.
            name = f"c{self.random.randrange(self.count) if self.random.random() < 0.2 else self.count}"
            spec = {"node": self.random.choice(self.nodes), "subnet": "main"}
            if self.random.random() < 0.3:
                spec["fixedIPv4"] = self.random.choice(FIXED)
            if name not in alive:
                alive.append(name)
            self.tell(lambda: api.create("NetworkAttachment", "networkattachments", network, name, spec),
                      (201, 409))
        elif alive:
            name = alive.pop(self.random.randrange(len(alive)))
            if not self.tell(lambda: api.delete("networkattachments", network, name), (200, 202, 404)):
                alive.append(name)  # who knows

    def tell(self, request, expected):
        try:
            status, answer = request()
        except (OSError, http.client.HTTPException):
            status, answer = 0, "no answer"
        if status in expected:
            self.done += 1
            return True
        if status not in (0, 429, 500, 503, 504):
            raise RuntimeError(f"{status}: {answer}")
        self.failed += 1
        time.sleep(0.05)  # no storm on a server that is away
        return False

    def more(self, operations):
        """Returns when so many more were acknowledged."""
        goal = self.done + operations
        until(120, f"{operations} operations", lambda: self.broken or self.done >= goal)

    def more_failures(self, failures):
        goal = self.failed + failures
        until(120, f"{failures} failures", lambda: self.broken or self.failed >= goal)

    def pause(self):
        self.go.clear()
        until(120, "end of the churn", self.paused.is_set)
        if self.broken:
            raise SystemExit(f"the churn broke: {self.broken}")


class Watcher(threading.Thread):
    """Looks at the attachments all the time: no address may be owned twice, ever. Remembers who owned what."""

    def __init__(self, lab):
        super().__init__(daemon=True)
        self.api, self.seen, self.wrong = Api(lab, 1), 0, []
        self.lock, self.owners, self.last = threading.Lock(), judge.Owners(), []

    def run(self):
        while not self.wrong:
            attachments = self.api.list("networkattachments")
            self.wrong = judge.owned_twice(attachments)
            with self.lock:
                self.owners.look(attachments)
                self.last = attachments
            self.seen += 1
            time.sleep(0.05)

    def look_again(self):
        """Returns when it has seen what there is now."""
        goal = self.seen + 2
        until(90, "a look at the attachments", lambda: self.wrong or self.seen >= goal)


def stations_of(attachments, guests):
    """Those of the churn that can send."""
    stations = []
    for one in attachments:
        status = one.get("status", {})
        if status.get("ipv4") and status.get("ifcName") and status["ifcName"] not in guests:
            stations.append(Station(one["spec"]["node"], status["ifcName"], status["addressVNI"],
                                    ipaddress.ip_address(status["ipv4"]),
                                    ipaddress.ip_address(status["ipv6"]) if status.get("ipv6") else None,
                                    status["macAddress"]))
    return stations


class Sentry(threading.Thread):
    """Sends frames between the stations of the churn, also while things are killed and cut off, above all to addresses
    that change hands; keeps what arrived where, to be judged when all is known that happened meanwhile."""

    AT_ONCE, ROUND, GRACE = 40, 0.1, 20  # pairs in a round, seconds, rounds that an answer may take

    def __init__(self, lab, watcher, guests, raise_interfaces, seed):
        super().__init__(daemon=True)
        self.frames, self.watcher, self.guests, self.raise_interfaces = FrameSockets(lab), watcher, guests, raise_interfaces
        self.random, self.go, self.paused = random.Random(seed), threading.Event(), threading.Event()
        self.then, self.arrived, self.answers, self.before = [], set(), set(), {}

    def run(self):
        while True:
            if not self.go.is_set():
                self.paused.set()
                self.go.wait()
                self.paused.clear()
            self.round()

    def start_round(self):
        """Pairs of a station and an address, with its owner's MAC."""
        with self.watcher.lock:
            owners, then = self.watcher.owners, self.watcher.owners.now()
            stations = stations_of(self.watcher.last, self.guests)
            macs = {address: owners.macs[uids[-1]] for address, uids in owners.history.items()}
        self.then.append(then)
        self.before = self.before or then
        pairs = [(s, address) for s in stations for address in macs
                 if address[0] == s.vni and address[1] not in (s.ip, s.ip6) and (s.ip6 or address[1].version == 4)]
        self.random.shuffle(pairs)
        pairs.sort(key=lambda pair: then[pair[1]] == self.before.get(pair[1]))  # those that changed hands first
        return [(s, address[1], macs[address]) for s, address in pairs[:self.AT_ONCE]]

    def round(self):
        number = len(self.then)
        if number % 10 == 0:
            self.raise_interfaces()
        for station, ip, mac in self.start_round():
            self.frames.send(station, question(station, ip))
            # It goes where its MAC goes, which is by an IPv4 address.
            behind = ipaddress.ip_address(bytes.fromhex(mac.replace(":", ""))[2:])
            self.frames.send(station, data_frame(station, ip, mac, f"{station.interface}-{behind}-{number}"))
        end = time.monotonic() + self.ROUND
        while (left := end - time.monotonic()) > 0:
            self.frames.receive(left, self.take)

    def take(self, node, interface, frame):
        if answer := answer_in(frame):
            self.answers.add((interface, answer[0], answer[1], len(self.then) - 1))
        elif (mark := mark_in(frame)) and mark.count("-") == 2:
            sender, ip, number = mark.split("-")
            self.arrived.add((sender, ipaddress.ip_address(ip), int(number), interface))

    def stop(self):
        self.go.clear()
        until(60, "end of a round of frames", self.paused.is_set)

    def judge(self):
        """What went wrong since the last time, and how many frames and answers were judged."""
        with self.watcher.lock:
            owners, wrong = self.watcher.owners, []
            for sender, ip, number, receiver in self.arrived:
                wrong += owners.misled((sender, ip, self.then[number]), receiver)
            for asker, ip, mac, number in self.answers:
                wrong += owners.misnamed((asker, ip, self.then[max(0, number - self.GRACE)]), mac)
        counts = len(self.arrived), len(self.answers)
        self.then, self.arrived, self.answers, self.before = [], set(), set(), {}
        return wrong, counts


class Story:
    def __init__(self, program, work, fabric, seed):
        self.fabric, self.seed = fabric, seed
        self.etcd = Etcd(work, tls=False)
        self.etcd.wait_healthy()
        port = free_ports_in_a_row()
        name = f"f{fabric[0]}{port % 10000}"
        with open(f"{work}.lab", "w") as file:
            file.write(f"{name}\n")
        hosts, quiet = (4, 2) if fabric == "ovs" else (3, 0)
        self.lab = Lab(program, name, fabric, hosts, port, "etcd:" + ",".join(self.etcd.urls), 2)
        self.api = Api(self.lab)
        green, unfit = vxlan_of(NETWORKS["green"]), vxlan_of_other_than_unicast_ip()
        self.green = {node: Capture(self.lab, node, green, f"{work}/green-{node}") for node in ("host-1", "host-3")}
        self.unfit = [Capture(self.lab, node, unfit, f"{work}/unfit-{node}") for node in ("host-1", "host-3")]
        self.make_networks()
        self.pingers = [self.pinger("u1", "u2", self.ip), self.pinger("v2", "v1", self.ip),
                        self.pinger("u2", "u1", self.ip6), self.pinger("g1", "g2", self.ip)]
        # On ovs the interfaces of host-3 come and go, see above: a ping may be lost with each.
        beside = self.pinger("u3", "u1", self.ip)
        self.beside = {beside.name} if quiet else set()
        self.pingers.append(beside)
        self.dark, self.full, self.changes = judge.Dark(), {}, {}
        for pinger in self.pingers:
            until(60, f"answer for {pinger.name}", pinger.answered)
        self.churn, self.watcher = Churn(self.lab, self.lab.nodes[quiet:], seed), Watcher(self.lab)
        self.sentry = Sentry(self.lab, self.watcher, self.guests, self.interfaces, seed)
        for thread in (self.churn, self.watcher, self.sentry):
            thread.start()

    def pinger(self, start, end, addresses):
        hosts = {f"host-{host}" for _, name, host, _ in UNTOUCHED if name in (start, end)}
        name = f"{start} → {end}" + (" by IPv6" if addresses is self.ip6 else "")
        return Pinger(name, hosts, self.lab.guest(start), addresses[end])

    def make_networks(self):
        for network, vni in NETWORKS.items():
            self.api.once("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace",
                                                         "metadata": {"name": network}})
            self.api.create("Subnet", "subnets", network, "main",
                            {"ipv4": str(BLOCK), "ipv6": "fd00:20::/64", "vni": vni})
        for network, name, host, number in UNTOUCHED:
            self.api.create("NetworkAttachment", "networkattachments", network, name,
                            {"node": f"host-{host}", "subnet": "main", "fixedIPv4": str(BLOCK[number])})
        until(60, "the guests' interfaces", lambda: not judge.unserved(self.api.list("networkattachments")))
        self.guests, self.ip, self.ip6 = {}, {}, {}
        for one in self.api.list("networkattachments"):
            name, status = one["metadata"]["name"], one["status"]
            guest, interface = self.lab.guest(name), status["ifcName"]
            self.guests[interface] = one["spec"]["node"]
            self.ip[name], self.ip6[name] = status["ipv4"], status["ipv6"]
            run("ip", "netns", "add", guest)
            run("ip", "-n", self.lab.netns(one["spec"]["node"]), "link", "set", interface, "netns", guest)
            run("ip", "-n", guest, "link", "set", interface, "up")
            run("ip", "-n", guest, "address", "add", f"{status['ipv4']}/{BLOCK.prefixlen}", "dev", interface)
            run("ip", "-n", guest, "address", "add", f"{status['ipv6']}/64", "dev", interface, "nodad")

    def interfaces(self):
        """By node, with those that guests have taken over; what is down is set up, as a guest would."""
        found = {}
        for node in self.lab.nodes:
            links = [link for link in self.lab.links(self.lab.netns(node)) if link["ifname"].startswith("fl") and
                     len(link["ifname"]) == 15]
            for link in links:
                if "UP" not in link["flags"]:  # it may go at any time
                    attempt("ip", "-n", self.lab.netns(node), "link", "set", link["ifname"], "up")
            found[node] = {link["ifname"] for link in links}
        for _, name, host, _ in UNTOUCHED:
            found[f"host-{host}"] |= {link["ifname"] for link in self.lab.links(self.lab.guest(name))
                                      if link["ifname"] in self.guests}
        return found

    def at_rest(self):
        """What is wrong with the world, now that nobody changes it."""
        attachments = self.api.list("networkattachments")
        wrong = (judge.unserved(attachments) + judge.locks_wrong(attachments, self.api.list("iplocks")) +
                 judge.interfaces_wrong(attachments, self.interfaces()))
        if wrong:
            return wrong
        stations, owners = stations_of(attachments, self.guests), {}
        reachable = {station.interface: station for station in stations}
        for one in attachments:
            status = one["status"]
            for field in ("ipv4", "ipv6"):
                if status.get(field):
                    owner = status["macAddress"], reachable.get(status["ifcName"])
                    owners[status["addressVNI"], ipaddress.ip_address(status[field])] = owner
        with self.watcher.lock:  # of those by IPv6 the last that somebody had
            known = [ip for _, ip in self.watcher.owners.history if ip.version == 6][-IPV6_PROBED:]
        block = {*BLOCK.hosts(), *known, *(ip for _, ip in owners)}
        assert all(mac == mac_for(ip) for (_, ip), (mac, _) in owners.items() if ip.version == 4)
        wrong, frames = Probe(self.lab, stations, block).run(owners)
        if judge.crossed(frames):
            raise SystemExit("\n".join(judge.crossed(frames)))
        self.stations, self.frames = len(stations), len(frames)
        if not wrong and {ip.version for _, ip in owners} != {4, 6} or not frames:
            raise SystemExit("nothing was sent by one of IPv4 and IPv6")
        return wrong

    def overflowed(self):
        """How many frames found a switch's sockets full, since the last time."""
        new = {}
        for node in self.lab.nodes if self.fabric == "ovs" else []:
            new |= overflows(self.lab.netns(node))
        grown = sum(count - self.full.get(socket, 0) for socket, count in new.items())
        self.full = new
        return grown

    def interface_changes(self):
        """How often a switch got or lost an interface where the churn's come and go, since the last time."""
        grown = 0
        for node in self.lab.nodes if self.fabric == "ovs" else []:
            with open(f"{self.lab.folder}/{node}-vswitchd.log") as log:
                count = len(re.findall(r"bridge fairlead: (?:added|deleted) interface", log.read()))
            before = self.changes.get(node, 0)
            grown += count - before if count >= before else count  # a new log
            self.changes[node] = count
        return grown

    def fault(self, what, begin, end, operations=25, switches=()):
        """Begins, lets the churn go on in the middle of it, ends it, and looks at the world at rest. `switches`: the hosts
        whose switch it stops."""
        count_lost(self.pingers)
        self.overflowed()
        self.interface_changes()
        started = time.monotonic()
        self.churn.go.set()
        self.sentry.go.set()
        self.churn.more(10)
        until(60, "frames between stations", lambda: self.sentry.arrived and self.sentry.answers)
        if switches:
            self.dark.begin(switches, time.monotonic())
        begin()
        operations() if callable(operations) else self.churn.more(operations)
        end()
        self.wait_for_switches(switches)
        self.churn.more(10)
        self.churn.pause()
        self.sentry.stop()
        wrong, limit = [], time.monotonic() + 120
        while wrong := self.at_rest():
            if time.monotonic() > limit:
                reports = {one["metadata"]["name"]: one.get("status") for one in self.api.list("nodereports")}
                raise SystemExit(f"{what}: no rest:\n  " + "\n  ".join(wrong[:20]) + f"\nreports: {reports}")
            time.sleep(0.1)
        if self.watcher.wrong or not self.watcher.is_alive():
            raise SystemExit(f"{what}: {self.watcher.wrong}")
        if not self.green["host-1"].lines():
            raise SystemExit(f"{what}: the capture sees nothing")
        for capture in [self.green["host-3"], *self.unfit]:
            if capture.lines():
                raise SystemExit(f"{what}: {capture.node} should not have seen {capture.lines()[:3]}")
        self.lab.command("status")  # fails if something died that nobody killed
        self.watcher.look_again()
        misled, (frames, answers) = self.sentry.judge()
        if misled:
            raise SystemExit(f"{what}: while it lasted:\n  " + "\n  ".join(misled[:20]))
        if frames == 0 or answers == 0:
            raise SystemExit(f"{what}: no frame arrived while it lasted")
        self.judge_lost(what, f"{self.fabric}: {what}: {frames} frames and {answers} answers meanwhile; at rest, "
                        f"{self.stations} stations and {self.frames} frames as they should be; pings lost: ", started)

    def wait_for_switches(self, hosts):
        """Until pings get through those that were stopped. It ends what their stopping explains."""
        touched = [(pinger, pinger.sent) for pinger in self.pingers if pinger.hosts & set(hosts)]
        for pinger, sent in touched:
            until(120, f"an answer for {pinger.name}", lambda: pinger.answered(sent))
        if hosts:
            self.dark.end(hosts, time.monotonic())

    def judge_lost(self, what, told, started):
        lost = count_lost(self.pingers)
        hosts = {pinger.name: pinger.hosts for pinger in self.pingers}
        without = judge.unexplained({name: (hosts[name], moments) for name, (_, moments) in lost.items()}, self.dark,
                                    ANSWER_WITHIN)
        judged = sum(len(moments) for name, moments in without.items() if name not in self.beside)
        beside = sum(len(moments) for name, moments in without.items() if name in self.beside)
        full, changes = self.overflowed(), self.interface_changes()
        print(told + ", ".join(f"{name} {len(moments)} of {sent}" for name, (sent, moments) in lost.items()) +
              f"; not explained by a switch that was stopped: {judged} where no interface changed, {beside} beside "
              f"{changes} changes; {full} frames found a switch's socket full ({time.monotonic() - started:.1f} s)", flush=True)
        if judged > full or beside > changes + full:
            raise SystemExit(f"{what}: pings of untouched guests were lost: " + ", ".join(
                f"{name} {[round(at - started, 2) for at in moments]}" for name, moments in without.items()))

    def kill(self, *processes, operations=25):
        def begin():
            for process in processes:
                self.lab.kill(process)

        def end():
            for process in processes:
                self.lab.start(process)
        switches = {process.rsplit("-", 1)[0] for process in processes if process.endswith(("-vswitchd", "-ovsdb"))}
        self.fault(f"killed {' and '.join(processes)}", begin, end, operations, switches)

    def etcd_member(self):
        lost = []

        def begin():
            lost.append(self.etcd.members[self.etcd.leader()])
            lost[0].kill()
        self.fault("killed etcd's leader", begin, lambda: lost[0].start())

    def tell(self):
        agents = ["host-1-agent", "host-3-agent"]
        self.fault("two servers with their controllers", lambda: None, lambda: None)
        self.kill(*agents)
        self.kill("server")
        self.kill("server", "server-2", operations=lambda: self.churn.more_failures(20))
        self.etcd_member()
        for node in ("host-1", "host-3"):
            self.fault(f"{node} cut from the API", lambda: self.lab.cut_from_api(node),
                       lambda: self.lab.join_to_api(node), operations=60)
        if self.fabric == "ovs":
            self.kill("host-1-ovsdb", "host-3-ovsdb")
            self.kill("host-1-vswitchd", "host-3-vswitchd")
            self.kill("host-3-vswitchd", "host-3-agent")
        print(f"{self.fabric}: {self.churn.done} changes, {self.watcher.seen} looks at all attachments")


def main():
    program, work, fabric, seed = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    print(f"{fabric}: seed {seed}", flush=True)
    story = Story(program, work, fabric, seed)
    story.tell()
    for part in [*story.pingers, *story.green.values(), *story.unfit]:
        part.stop()
    story.lab.down()


main()
