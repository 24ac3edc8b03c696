"""The lab as faults.py sees it: its API, its processes, and what its networks do with frames."""

import collections
import ctypes
import http.client
import ipaddress
import json
import os
import re
import select
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from processes import Etcd, Process, free_ports, until  # noqa: E402, F401 (faults.py takes Etcd from here)

GROUP = "/apis/fairlead.dev/v1alpha1"
CLONE_NEWNET, SO_RCVBUFFORCE = 0x40000000, 33
LIBC = ctypes.CDLL(None, use_errno=True)


def in_netns(name, action):
    """What `action` returns; sockets that it opens belong to that namespace. Of this thread only."""
    with open("/proc/thread-self/ns/net") as home, open(f"/run/netns/{name}") as there:
        if LIBC.setns(there.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"enter {name}")
        try:
            return action()
        finally:
            LIBC.setns(home.fileno(), CLONE_NEWNET)


def free_ports_in_a_row():
    """The first of two."""
    while True:
        first = free_ports(1)[0]
        with socket.socket() as second:
            try:
                second.bind(("127.0.0.1", first + 1))
                return first
            except OSError:
                continue


def attempt(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


def run(*command):
    done = attempt(*command)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: {done.stderr}{done.stdout}")
    return done.stdout


class Lab:
    """`fairlead lab`, by its command line."""

    def __init__(self, program, name, fabric, hosts, port, store, servers):
        self.program, self.name, self.port, self.servers = program, name, port, servers
        self.folder = f"/run/fairlead-{name}"
        run(program, "lab", "up", "--name", name, "--fabric", fabric, "--port", str(port), "--store", store,
            "--servers", str(servers), "--hosts", str(hosts))
        self.nodes = [f"host-{i + 1}" for i in range(hosts)]

    def command(self, *words):
        return run(self.program, "lab", *words, "--name", self.name)

    def kill(self, process):
        self.command("kill", process)

    def start(self, process):
        self.command("start", process)

    def down(self):
        self.command("down")

    def netns(self, node):
        return f"fl-{self.name}-{node.removeprefix('host-')}"

    def guest(self, name):
        return f"fl-{self.name}-guest-{name}"

    # The server's packets to that host are dropped without a word; tunnels cross the switch as ever.
    def cut_from_api(self, node):
        run("ip", "-n", f"fl-{self.name}-switch", "route", "add", "blackhole", self.address(node))

    def join_to_api(self, node):
        run("ip", "-n", f"fl-{self.name}-switch", "route", "del", "blackhole", self.address(node))

    @staticmethod
    def address(node):
        return "10.231.0." + node.removeprefix("host-")

    def links(self, netns):
        return json.loads(run("ip", "-n", netns, "-j", "link"))


# What tcpdump calls the inside of a VXLAN packet: its network at udp[12], the inner frame from udp[16] on.
def vxlan_of(vni):
    return f"udp port 4789 and udp[12:4] & 0xffffff00 = {vni << 8}"


def vxlan_of_other_than_unicast_ip():
    return "udp port 4789 and (udp[16] & 1 != 0 or (udp[28:2] != 0x0800 and udp[28:2] != 0x86dd))"


class Capture:
    """What crosses a host's cable, at the switch's end of it: a line for each packet that fits."""

    def __init__(self, lab, node, what, file):
        self.node, self.file = node, file
        self.process = Process(["ip", "netns", "exec", f"fl-{lab.name}-switch", "tcpdump", "-i",
                                "p" + node.removeprefix("host-"), "-n", "-l", what], file)
        self.process.start()
        until(20, f"capture at {node}", lambda: any("listening on" in line for line in self.all_lines()))

    def all_lines(self):
        with open(self.file) as file:
            return file.read().splitlines()

    def lines(self):
        return [line for line in self.all_lines() if " IP" in line]

    def stop(self):
        self.process.kill()


def overflows(netns):
    """{packet socket: frames that found it full} in a namespace: what a switch in user space had no time to take."""
    counts = {}
    for line in run("ip", "netns", "exec", netns, "ss", "--packet", "-n", "-e", "-m", "-O", "-H").splitlines():
        inode, memory = re.search(r"ino:(\d+)", line), re.search(r"skmem:\([^)]*,d(\d+)\)", line)
        if inode and memory:
            counts[inode[1]] = int(memory[1])
    return counts


class Api:
    """Requests to whichever server answers. One for each thread."""

    def __init__(self, lab, first=0):
        folder = f"{lab.folder}/server"
        with open(f"{folder}/admin.token") as file:
            self.token = file.read().strip()
        self.tls = ssl.create_default_context(cafile=f"{folder}/pki/ca.crt")
        self.ports = [lab.port + (first + i) % lab.servers for i in range(lab.servers)]
        self.connection = None

    def once(self, method, path, body=None):
        """(status, answer); OSError or HTTPException when it is not known whether it happened."""
        try:
            if self.connection is None:
                self.connection = http.client.HTTPSConnection("127.0.0.1", self.ports[0], context=self.tls,
                                                              timeout=10)
            headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
            self.connection.request(method, path, json.dumps(body) if body else None, headers)
            answer = self.connection.getresponse()
            return answer.status, json.loads(answer.read() or b"{}")
        except (OSError, http.client.HTTPException):
            self.connection = None
            self.ports.append(self.ports.pop(0))  # the next server, next time
            raise

    def list(self, plural):
        """All of them, as of one moment."""
        answers = []

        def ask():
            try:
                status, answer = self.once("GET", f"{GROUP}/{plural}")
            except (OSError, http.client.HTTPException):
                return False
            answers[:] = [answer] if status == 200 else []
            return status == 200
        until(90, f"list of {plural}", ask)
        return answers[0]["items"]

    def create(self, kind, plural, namespace, name, spec):
        return self.once("POST", f"{GROUP}/namespaces/{namespace}/{plural}", {
            "apiVersion": "fairlead.dev/v1alpha1", "kind": kind,
            "metadata": {"name": name, "namespace": namespace}, "spec": spec})

    def delete(self, plural, namespace, name):
        return self.once("DELETE", f"{GROUP}/namespaces/{namespace}/{plural}/{name}")


class Pinger:
    """Echo requests from one guest to another, for as long as it lives; knows which were not answered."""

    INTERVAL = 0.02

    def __init__(self, name, hosts, netns, target):
        """`hosts` are those that the pings go through."""
        self.name, self.hosts, self.target = name, set(hosts), target
        self.v6 = ipaddress.ip_address(target).version == 6
        family, protocol = (socket.AF_INET6, socket.IPPROTO_ICMPV6) if self.v6 else (socket.AF_INET, 1)
        self.socket = in_netns(netns, lambda: socket.socket(family, socket.SOCK_RAW, protocol))
        self.socket.setblocking(False)
        self.identity = (os.getpid() ^ id(self)) & 0xFFFF
        self.pending, self.sent, self.lock, self.stopped = {}, 0, threading.Lock(), threading.Event()
        self.answered_up_to = -1
        self.counted = 0  # of those sent, by count_lost()
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def work(self):
        while not self.stopped.is_set():
            with self.lock:
                number, self.sent = self.sent, self.sent + 1
                self.pending[number] = time.monotonic()
            request = struct.pack("!BBHHHI", 128 if self.v6 else 8, 0, 0, self.identity, number & 0xFFFF, number)
            if not self.v6:
                total = sum(struct.unpack("!6H", request))
                total = (total & 0xFFFF) + (total >> 16)
                request = request[:2] + struct.pack("!H", ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF) + request[4:]
            try:
                self.socket.sendto(request, (self.target, 0))
            except OSError:
                pass  # it counts as lost
            end = time.monotonic() + self.INTERVAL
            while (left := end - time.monotonic()) > 0 and not self.stopped.is_set():
                if select.select([self.socket], [], [], left)[0]:
                    self.receive()

    def receive(self):
        try:
            packet = self.socket.recv(2048)
        except OSError:
            return  # a note that something could not be delivered
        message = packet if self.v6 else packet[(packet[0] & 15) * 4:]
        if len(message) < 12 or message[0] != (129 if self.v6 else 0):
            return
        identity, _, number = struct.unpack("!HHI", message[4:12])
        if identity == self.identity:
            with self.lock:
                self.pending.pop(number, None)
                self.answered_up_to = max(self.answered_up_to, number)

    def unanswered(self, before):
        """{number: when it was sent} of those before that number."""
        with self.lock:
            return {number: sent for number, sent in self.pending.items() if number < before}

    def forget(self, numbers):
        with self.lock:
            for number in numbers:
                self.pending.pop(number, None)

    def answered(self, after=-1):
        """True once a request was answered that was sent after that one."""
        return self.answered_up_to > after

    def stop(self):
        self.stopped.set()
        self.thread.join()
        self.socket.close()


def count_lost(pingers):
    """{name: (how many were sent, when those were sent that were lost)} since the last time."""
    now = [pinger.sent for pinger in pingers]
    # The last ones get time for their answers; what is not there then will not come.
    end = time.monotonic() + 3
    while time.monotonic() < end and any(one.unanswered(before) for one, before in zip(pingers, now)):
        time.sleep(0.02)
    counts = {}
    for pinger, before in zip(pingers, now):
        lost = pinger.unanswered(before)
        pinger.forget(lost)
        counts[pinger.name] = (before - pinger.counted, sorted(lost.values()))
        pinger.counted = before
    return counts


Station = collections.namedtuple("Station", "node interface vni ip ip6 mac")


def mac_bytes(text):
    return bytes.fromhex(text.replace(":", ""))


def mac_for(ip):
    """What the server gives to the holder of that address."""
    return "02:00:" + ":".join(f"{byte:02x}" for byte in ip.packed)


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total & 0xFFFF) + (total >> 16)
    return struct.pack("!H", ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF)


def question(sender, ip):
    """Who has this address? By ARP or neighbour solicitation."""
    mac = mac_bytes(sender.mac)
    if ip.version == 4:
        return (b"\xff" * 6 + mac + struct.pack("!HHHBBH", 0x0806, 1, 0x0800, 6, 4, 1) + mac + sender.ip.packed +
                b"\0" * 6 + ip.packed).ljust(60, b"\0")
    group = ipaddress.ip_address("ff02::1:ff00:0").packed[:13] + ip.packed[13:]
    ends = sender.ip6.packed + group
    message = struct.pack("!BBHI", 135, 0, 0, 0) + ip.packed + b"\1\1" + mac
    message = message[:2] + checksum(ends + struct.pack("!II", len(message), 58) + message) + message[4:]
    return (b"\x33\x33" + group[12:] + mac + b"\x86\xdd" + struct.pack("!IHBB", 6 << 28, len(message), 58, 255) +
            ends + message)


def answer_in(frame):
    """(address, MAC) if it says who has an address."""
    if frame[12:14] == b"\x08\x06" and frame[20:22] == b"\0\x02":
        return ipaddress.ip_address(frame[28:32]), frame[22:28].hex(":")
    if frame[12:14] == b"\x86\xdd" and frame[20] == 58 and frame[54:55] == b"\x88" and len(frame) >= 86:
        return ipaddress.ip_address(frame[62:78]), frame[80:86].hex(":")
    return None


def data_frame(sender, ip, mac, mark):
    """UDP to whoever has that address, and so that MAC."""
    payload = b"FLPROBE:" + mark.encode() + b";"
    udp = struct.pack("!HHHH", 9, 9, 8 + len(payload), 0) + payload
    if ip.version == 4:
        head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0, sender.ip.packed, ip.packed)
        packet = b"\x08\x00" + head[:10] + checksum(head) + head[12:] + udp
    else:
        packet = b"\x86\xdd" + struct.pack("!IHBB", 6 << 28, len(udp), 17, 64) + sender.ip6.packed + ip.packed + udp
    return (mac_bytes(mac) + mac_bytes(sender.mac) + packet).ljust(60, b"\0")


def mark_in(frame):
    """The mark of a frame of data; not of an error message that repeats it."""
    at = 42 if frame[12:14] == b"\x08\x00" else 62
    if frame[at:at + 8] != b"FLPROBE:":
        return None
    return frame[at + 8:].split(b";", 1)[0].decode()


class FrameSockets:
    """Frames on the hosts' ends of guests' interfaces, as the guests would send and get them."""

    def __init__(self, lab):
        self.sockets = {node: in_netns(lab.netns(node), self.open) for node in lab.nodes}

    @staticmethod
    def open():
        one = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        one.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 16 << 20)
        one.setblocking(False)
        return one

    def send(self, station, frame):
        try:
            self.sockets[station.node].sendto(frame, (station.interface, 0))
        except OSError:
            pass  # the interface went, or went down: nothing arrives, which is told

    def receive(self, wait, take):
        """take(node, interface, frame) for each that arrived."""
        for ready in select.select(list(self.sockets.values()), [], [], wait)[0]:
            node = next(node for node, one in self.sockets.items() if one is ready)
            for _ in range(200):
                try:
                    frame, where = ready.recvfrom(2048)
                except BlockingIOError:
                    break
                if where[2] != socket.PACKET_OUTGOING:
                    take(node, where[0], frame)

    def close(self):
        for one in self.sockets.values():
            one.close()


class Probe:
    """Every station sends to every address of the block, and asks who has it, as a guest would: by frames on
    its own interface. Tells what arrived where and who was answered what."""

    LIMIT = 10  # seconds for what must arrive; it is sent again and again

    def __init__(self, lab, stations, block):
        self.stations, self.block = stations, block
        # Where frames to an address go that nobody has. (Who has an IPv6 address has a MAC by another, which the next
        # one takes over: such frames may arrive there.)
        self.nobodys = {ip: mac_for(ip) for ip in block if ip.version == 4}
        self.frames = FrameSockets(lab)
        self.by_interface = {(s.node, s.interface): s for s in stations}
        self.arrived = set()   # (sender's interface, address, receiver's interface)
        self.answers = {}      # (asker's interface, address) → MAC

    def take(self, node, interface, frame):
        if (node, interface) not in self.by_interface:
            return
        if answer := answer_in(frame):
            self.answers[interface, answer[0]] = answer[1]
        elif mark := mark_in(frame):
            sender, ip = mark.split("-")
            self.arrived.add((sender, ipaddress.ip_address(ip), interface))

    def run(self, owners):
        """`owners` is {(VNI, address): (MAC, Station or None)}. Returns (what is wrong, frames that crossed)."""
        everything = [(s, ip) for s in self.stations for ip in self.block if ip not in (s.ip, s.ip6) and
                      (ip.version == 4 or s.ip6)]
        # First what must lead nowhere: what comes after it overtakes nothing.
        everything.sort(key=lambda pair: (pair[0].vni, pair[1]) in owners)
        end, wrong = time.monotonic() + self.LIMIT, ["nothing was sent"]
        while wrong:
            for station, ip in everything:
                frames = [question(station, ip)]
                if mac := owners.get((station.vni, ip), (self.nobodys.get(ip),))[0]:
                    frames.append(data_frame(station, ip, mac, f"{station.interface}-{ip}"))
                for frame in frames:
                    self.frames.receive(0, self.take)
                    self.frames.send(station, frame)
            quiet = time.monotonic() + 0.3
            while time.monotonic() < quiet:
                self.frames.receive(0.05, self.take)
            wrong = self.missing(owners)
            if time.monotonic() > end:
                break
            # Again only what is missing.
            lost = {(interface, ip) for interface, ip, _ in wrong}
            everything = [(s, ip) for s, ip in everything if (s.interface, ip) in lost]
        self.frames.close()
        told = [text for _, _, text in wrong] + self.too_much(owners)
        return told, self.crossings()

    def missing(self, owners):
        wrong = []
        for s in self.stations:
            for (vni, ip), (mac, owner) in owners.items():
                if vni != s.vni or ip in (s.ip, s.ip6) or (ip.version == 6 and not s.ip6):
                    continue
                if self.answers.get((s.interface, ip)) != mac:
                    wrong.append((s.interface, ip, f"{s.node} answers {s.ip}'s question for {ip} in {vni} with "
                                  f"{self.answers.get((s.interface, ip))}, not {mac}"))
                if owner and (s.interface, ip, owner.interface) not in self.arrived:
                    wrong.append((s.interface, ip, f"from {s.ip} on {s.node} nothing arrives at {ip} on "
                                  f"{owner.node} in {vni}"))
        return wrong

    def too_much(self, owners):
        vni_of = {s.interface: s.vni for s in self.stations}
        wrong = [f"somebody is said to have {ip} in {vni_of[interface]}" for interface, ip in self.answers
                 if (vni_of[interface], ip) not in owners]
        for sender, ip, interface in self.arrived:
            owner = owners.get((vni_of[sender], ip), (None, None))[1]
            if owner is None or owner.interface != interface:
                wrong.append(f"what {sender} sent to {ip} in {vni_of[sender]} arrived at {interface}")
        return wrong

    def crossings(self):
        vni_of = {s.interface: s.vni for s in self.stations}
        return [(vni_of[sender], vni_of[interface], f"a frame to {ip}") for sender, ip, interface in self.arrived]
