# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""A redis-server of our own, a fixed session with it, every answer on standard output."""
import hashlib
import socket
import subprocess
import sys
import time


def request(*words):
    parts = [str(w).encode() for w in words]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts)


def session(n):
    """A batch of requests, different for each n."""
    for i in range(n * 500, n * 500 + 500):
        yield request("SET", f"k{i}", "v" * (i * 37 % 3000))
        yield request("APPEND", f"k{i // 2}", "more" * (i % 9))
        yield request("LPUSH", f"l{i % 40}", "e%d" % i)
        yield request("ZADD", f"z{i % 20}", i * 7919 % 1009, f"m{i}")
        yield request("HSET", f"h{i % 30}", f"f{i}", "x" * (i % 100))
        if i % 5 == 0:
            yield request("DEL", f"k{i // 3}")
    yield request("ZRANGE", f"z{n % 20}", 0, -1, "WITHSCORES")
    yield request("LRANGE", f"l{n % 40}", 0, -1)
    yield request("DBSIZE")


with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
server = subprocess.Popen(
    ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--activedefrag", "no"],
    stdout=subprocess.DEVNULL)
try:
    for attempt in range(2000):
        try:
            link = socket.create_connection(("127.0.0.1", port), timeout=120)
            break
        except OSError:
            time.sleep(0.05)
    else:
        sys.exit("redis-server does not answer")
    for n in range(20):
        link.sendall(b"".join(session(n)) + request("ECHO", "end-of-batch"))
        answer = b""
        while not answer.endswith(b"end-of-batch\r\n"):
            more = link.recv(1 << 16)
            if not more:
                sys.exit("redis-server closed the connection")
            answer += more
        print(n, len(answer), hashlib.sha256(answer).hexdigest())
    # SAVE forks nothing but writes all; BGREWRITEAOF and BGSAVE fork a process with live memory.
    link.sendall(request("BGSAVE"))
    print(link.recv(100))
    time.sleep(0.5)
    link.sendall(request("SHUTDOWN", "NOSAVE"))
    print("status", server.wait(timeout=120))
finally:
    if server.poll() is None:
        server.kill()
