#!/usr/bin/env python3
"""Stands between a fabric and its bridge's control socket, and cuts one of its connections amid a bundle.

  lane_cutter.py SOCKET BRIDGE_SOCKET FOLDER

All goes through as it is. When FOLDER has a file `before` or `after`, the next connection but the first that asks
for a bundle to be committed is cut: before the bridge hears of it, or after, so that its answer is lost. The file
then goes, and FOLDER gets one named `cut-before` or `cut-after`. FOLDER/lanes says how many connections there were."""
import os
import socket
import struct
import sys
import threading

BUNDLE_CONTROL, COMMIT = 33, 4
own, bridge, folder = sys.argv[1:]


def armed():
    return next((name for name in ("before", "after") if os.path.exists(os.path.join(folder, name))), None)


def close(*sockets):
    for one in sockets:
        try:
            one.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def take(stream, count):
    data = b""
    while len(data) < count:
        piece = stream.recv(count - len(data))
        if not piece:
            raise OSError("closed")
        data += piece
    return data


class Lane:
    def __init__(self, fabric, switch, first):
        self.fabric, self.switch, self.first = fabric, switch, first
        self.swallow, self.answered = False, threading.Event()
        for work in (self.requests, self.answers):
            threading.Thread(target=work, daemon=True).start()

    def requests(self):
        try:
            while True:
                header = take(self.fabric, 8)
                _, kind, length, _ = struct.unpack("!BBHI", header)
                body = take(self.fabric, length - 8)
                commit = kind == BUNDLE_CONTROL and struct.unpack("!H", body[4:6])[0] == COMMIT
                how = armed() if commit and not self.first else None
                if how == "after":
                    self.swallow = True
                if how != "before":
                    self.switch.sendall(header + body)
                if how == "after":
                    self.answered.wait()
                if how:
                    os.rename(os.path.join(folder, how), os.path.join(folder, "cut-" + how))
                    break
        except OSError:
            pass
        close(self.fabric, self.switch)

    def answers(self):
        try:
            while data := self.switch.recv(65536):
                if self.swallow:
                    self.answered.set()
                else:
                    self.fabric.sendall(data)
        except OSError:
            pass
        self.answered.set()
        close(self.fabric)


listener = socket.socket(socket.AF_UNIX)
listener.bind(own)
listener.listen(16)
count = 0
while True:
    fabric_end, _ = listener.accept()
    switch_end = socket.socket(socket.AF_UNIX)
    switch_end.connect(bridge)
    count += 1
    with open(os.path.join(folder, "lanes"), "w", encoding="ascii") as lanes:
        lanes.write("%d\n" % count)
    Lane(fabric_end, switch_end, count == 1)
