#!/usr/bin/env python3
"""A client of a virtual IP, for the demonstration: asks a web server behind it over and over, each time by a new connection, and
says which hosts answered and what was the longest time without an answer.
  scripts/vip-client.py ADDRESS PORT SECONDS
"""
import http.client
import sys
import time

address, port, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
end, last, longest, answers, failed, hosts = time.monotonic() + seconds, None, 0.0, 0, 0, []
print("asking", flush=True)
while time.monotonic() < end:
    connection = http.client.HTTPConnection(address, port, timeout=0.02)
    try:
        connection.request("GET", "/host")
        host = connection.getresponse().read().decode().strip()
    except (OSError, http.client.HTTPException):
        failed += 1
        continue
    finally:
        connection.close()
    now = time.monotonic()
    longest = max(longest, now - (last or now))
    last = now
    answers += 1
    if not hosts or hosts[-1] != host:
        hosts.append(host)
print(f"   {answers} answers, from {', then '.join(hosts)}; {failed} not answered; the longest time without an answer: {longest * 1000:.0f} ms")
