#!/usr/bin/env python3
"""Load on several servers, as a load balancer sends it: rolling_load.py CA TOKEN STOP URL [URL…]

Every server's /readyz is asked again and again; requests go to those that said yes last. Half of the clients keep their
connections, half do not. Ends when the file STOP is there. Prints how many requests each server answered; every request
that failed is told, and makes it fail."""
import http.client
import json
import os
import random
import ssl
import sys
import threading
import time
from urllib.parse import urlparse

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
POLL_SECONDS = 0.1
CLIENTS = 8


class Balancer:
    def __init__(self, ca, token, urls):
        self.context = ssl.create_default_context(cafile=ca)
        self.headers = {"Authorization": "Bearer " + token, "Content-Type": "application/json"}
        self.urls = urls
        self.ready = set(urls)
        self.answered = {url: 0 for url in urls}
        self.failures = []
        self.lock = threading.Lock()
        self.stopped = threading.Event()

    def connect(self, url):
        at = urlparse(url)
        return http.client.HTTPSConnection(at.hostname, at.port, timeout=20, context=self.context)

    def poll(self, url):
        while not self.stopped.is_set():
            try:
                connection = self.connect(url)
                connection.request("GET", "/readyz")
                yes = connection.getresponse().status == 200
                connection.close()
            except OSError:
                yes = False
            with self.lock:
                (self.ready.add if yes else self.ready.discard)(url)
            time.sleep(POLL_SECONDS)

    def choose(self):
        with self.lock:
            return random.choice(sorted(self.ready)) if self.ready else None

    def one(self, number, count, pool):
        url = self.choose()
        if url is None:
            time.sleep(POLL_SECONDS)
            return
        keep = number % 2 == 0
        for other in [known for known in pool if known not in self.ready]:
            pool.pop(other).close()
        connection = pool.pop(url, None) or self.connect(url)
        name = f"load-{number}-{count}"
        body = json.dumps({"metadata": {"name": name}, "data": {"n": str(count)}})
        try:
            connection.request("POST", CONFIG_MAPS, body=body, headers=self.headers)
            made = connection.getresponse()
            text = made.read()
            if made.status != 201:
                raise ValueError(f"{made.status} {text[:200]!r}")
            if keep and not made.will_close:
                pool[url] = connection
            else:
                connection.close()
            with self.lock:
                self.answered[url] += 1
        except (OSError, http.client.HTTPException, ValueError) as problem:
            with self.lock:
                self.failures.append(f"{url} {name}: {type(problem).__name__}: {problem}")

    def client(self, number):
        pool = {}
        for count in range(1_000_000):
            if self.stopped.is_set():
                break
            self.one(number, count, pool)
            time.sleep(0.005)


def main():
    ca, token, stop, *urls = sys.argv[1:]
    balancer = Balancer(ca, token, urls)
    threads = [threading.Thread(target=balancer.poll, args=(url,)) for url in urls]
    threads += [threading.Thread(target=balancer.client, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    while not os.path.exists(stop):
        time.sleep(0.1)
    balancer.stopped.set()
    for thread in threads:
        thread.join()
    for url, count in balancer.answered.items():
        print(count, url)
    for failure in balancer.failures[:20]:
        print(failure, file=sys.stderr)
    print(len(balancer.failures), "failed", file=sys.stderr)
    return 1 if balancer.failures else 0


sys.exit(main())
