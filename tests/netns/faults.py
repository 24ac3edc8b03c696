"""Faults in the middle of churn, on a lab: faults.py FAIRLEAD WORK FABRIC SEED.

Three hosts, two servers (each with its controllers) on an etcd of three, two networks with the same addresses.
Attachments come and go all the time while one thing after another is killed with -9 and started again, or cut
off. After each fault the churn pauses, and everything must come to rest as the promises say (faults_judge.py):
no address owned twice at any moment, locks that match the addresses, interfaces that match the attachments, and
frames that reach exactly those they should. Guests that nobody touches ping each other throughout; what they
lose is counted and told for each fault. It must be nothing where the kernel forwards; a switch in user space, which forwards
only while it has the processor, must not have stopped for good.
The network green has guests on host-1 and host-2 only: none of its packets may come to host-3, and of no network may
anything but unicast IP cross the switch.

Open vSwitch in user space loses packets of its tunnels, without anybody's help, whenever any interface of the host
comes or goes: it reads all routes anew and has none meanwhile. So with the fabric ovs the hosts of those guests see
no interfaces of the churn, only its flows; a guest on a host with interfaces that come and go is counted beside.
"""

import http.client
import ipaddress
import random
import sys
import threading
import time

import faults_judge as judge
from faults_world import (Api, Capture, Etcd, Lab, Pinger, Probe, Station, attempt, count_lost, free_ports_in_a_row,
                          mac_for, run, until, vxlan_of, vxlan_of_other_than_unicast_ip)

BLOCK = ipaddress.ip_network("10.20.0.0/28")
NETWORKS = {"red": 6001, "blue": 6002, "green": 6003}
CHURNED = ["red", "blue"]
FIXED = ["10.20.0.12", "10.20.0.13"]  # what several want at once, again and again
# Network, name, host, place in the block.
UNTOUCHED = [("red", "u1", 1, 2), ("red", "u2", 2, 3), ("red", "u3", 3, 4), ("blue", "v1", 1, 2), ("blue", "v2", 2, 5),
             ("green", "g1", 1, 2), ("green", "g2", 2, 3)]
AT_ONCE = 8  # attachments of the churn in a network


class Churn(threading.Thread):
    """Creates and deletes attachments on both servers as fast as they answer, while it is let."""

    def __init__(self, lab, nodes, seed):
        super().__init__(daemon=True)
        self.apis = [Api(lab, first) for first in range(lab.servers)]
        self.random, self.nodes = random.Random(seed), nodes
        self.alive = {network: [] for network in CHURNED}
        self.count, self.done, self.failed = 0, 0, 0
        self.go, self.paused, self.broken = threading.Event(), threading.Event(), None

    def run(self):
        while True:
            if not self.go.is_set():
                self.paused.set()
                self.go.wait()
                self.paused.clear()
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
    """Looks at the attachments all the time: no address may be owned twice, ever."""

    def __init__(self, lab):
        super().__init__(daemon=True)
        self.api, self.seen, self.wrong = Api(lab, 1), 0, []

    def run(self):
        while not self.wrong:
            self.wrong = judge.owned_twice(self.api.list("networkattachments"))
            self.seen += 1
            time.sleep(0.05)


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
        self.pingers = [Pinger("u1 → u2", self.lab.guest("u1"), self.ip["u2"]),
                        Pinger("v2 → v1", self.lab.guest("v2"), self.ip["v1"]),
                        Pinger("u2 → u1 by IPv6", self.lab.guest("u2"), self.ip6["u1"]),
                        Pinger("g1 → g2", self.lab.guest("g1"), self.ip["g2"]),
                        Pinger("u3 → u1", self.lab.guest("u3"), self.ip["u1"])]
        # A switch in user space forwards as well as it gets the processor, and not while it is itself stopped.
        self.may_lose = 0.9 if self.fabric == "ovs" else 0
        self.may_lose_one = {"u3 → u1"} if quiet else set()
        for pinger in self.pingers:
            until(60, f"answer for {pinger.name}", pinger.answered)
        self.churn, self.watcher = Churn(self.lab, self.lab.nodes[quiet:], seed), Watcher(self.lab)
        self.churn.start()
        self.watcher.start()

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
        stations, owners = [], {}
        for one in attachments:
            status = one["status"]
            if not status.get("ipv4"):
                continue
            station = Station(one["spec"]["node"], status["ifcName"], status["addressVNI"],
                              ipaddress.ip_address(status["ipv4"]), status["macAddress"])
            if station.interface not in self.guests:
                stations.append(station)
            owners[station.vni, station.ip] = (station.mac, None if station.interface in self.guests else station)
        assert all(mac == mac_for(ip) for (_, ip), (mac, _) in owners.items())
        wrong, frames = Probe(self.lab, stations, list(BLOCK.hosts())).run(owners)
        if judge.crossed(frames):
            raise SystemExit("\n".join(judge.crossed(frames)))
        self.stations, self.frames = len(stations), len(frames)
        return wrong

    def fault(self, what, begin, end, operations=25):
        """Begins, lets the churn go on in the middle of it, ends it, and looks at the world at rest."""
        count_lost(self.pingers)
        started = time.monotonic()
        self.churn.go.set()
        self.churn.more(10)
        begin()
        operations() if callable(operations) else self.churn.more(operations)
        end()
        self.churn.more(10)
        self.churn.pause()
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
        lost = count_lost(self.pingers)
        print(f"{self.fabric}: {what}: at rest, {self.stations} stations and {self.frames} frames as they should be; "
              "pings lost: " + ", ".join(f"{name} {count} of {sent}" for name, (sent, count) in lost.items()) +
              f" ({time.monotonic() - started:.1f} s)", flush=True)
        if any(count > sent * self.may_lose for name, (sent, count) in lost.items() if name not in self.may_lose_one):
            raise SystemExit(f"{what}: pings of untouched guests were lost")

    def kill(self, *processes, operations=25):
        def begin():
            for process in processes:
                self.lab.kill(process)

        def end():
            for process in processes:
                self.lab.start(process)
        self.fault(f"killed {' and '.join(processes)}", begin, end, operations)

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
