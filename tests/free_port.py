#!/usr/bin/env python3
"""Ports of 127.0.0.1 for the processes that tests start: as src/api/store/free_ports_test.h chooses them, below those that
the kernel gives to connections, and claimed by an abstract socket until this process ends. As a program: prints one."""

import random
import socket

CLAIMS = []


def free_ports(count):
    with open("/proc/sys/net/ipv4/ip_local_port_range") as file:
        given_from = int(file.read().split()[0])
    candidates = range(10000, given_from if given_from > 10000 else 1 << 16)
    ports = []
    while len(ports) < count:
        port = random.choice(candidates)
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0fairlead-test-port-{port}")
            with socket.socket() as listener:
                listener.bind(("127.0.0.1", port))
        except OSError:
            claim.close()
            continue
        CLAIMS.append(claim)
        ports.append(port)
    return ports


if __name__ == "__main__":
    print(free_ports(1)[0])
