"""The test store as a child process, and the host names that resolve to it."""

import json
import socket
import subprocess

_real = socket.getaddrinfo


def _loopback(host, port, *rest, **options):
    name = host.decode() if isinstance(host, bytes) else host
    if isinstance(name, str) and (name.endswith(".oss.test") or name in ("oss.test", "cdn.localhost")):
        host = "127.0.0.1"
    return _real(host, port, *rest, **options)


# The host contains the bucket, and no name server knows the hosts of a test.
socket.getaddrinfo = _loopback


class Store:
    def __init__(self, program, *arguments):
        self.process = subprocess.Popen(
            [program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.port = json.loads(self.process.stdout.readline())["port"]

    def state(self):
        self.process.stdin.write("state\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=10)
