"""A TCP relay before a server: it records the requests, and interrupts or delays them."""

import contextlib
import math
import select
import socket
import struct
import threading

BLOCK = 65_536
RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class Request:
    """A request that has arrived at the relay."""

    def __init__(self, head):
        line, *lines = head.decode("latin-1").split("\r\n")
        pairs = (text.partition(":") for text in lines)
        self.method = line.split(" ")[0]
        self.fields = {name.lower(): value.strip() for name, _, value in pairs}
        self.length = int(self.fields.get("content-length", 0))
        self.end = int(self.fields.get("upload-offset", 0)) + self.length
        # The number of body bytes that the relay has received.
        self.received = 0
        self.response = b""

    def __str__(self):
        offset = self.fields.get("upload-offset", "-")
        status = self.response.split(b"\r\n", 1)[0].decode("latin-1") or "no response"
        return f"{self.method} at {offset}, {self.received} of {self.length} bytes, {status}"


class Relay:
    """Relays connections to the port `upstream`.

    `cuts` are pairs of a number of body bytes and what happens then:

    reset   both connections are reset
    close   both connections are closed for sending, and the relay ignores the server's response
    leave   the connection of the client is reset, and that to the server stays open until the relay is closed
    stall   both connections stay open until the relay is closed
    other   is called; then the relay continues

    The bytes of all requests count together, except those longer than `maximum`, which the server rejects.
    `drops_last`: once, the connection of the client is reset when the server has responded to the last append.
    """

    def __init__(self, upstream, *cuts, maximum=math.inf, drops_last=False):
        self.upstream = upstream
        self.maximum = maximum
        self.drops_last = drops_last
        # The length of the upload.
        self.length = None
        self.cuts = sorted(cuts, key=lambda cut: cut[0])
        self.requests = []
        self.total = 0
        self._delayed = []
        self._delays = 0
        self._later = 0
        # Parts of one upload arrive concurrently.
        self._lock = threading.Lock()
        self._is_closed = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def take(self, limit):
        """Counts at most `limit` bytes; returns their number, and the action of the cut after them or None."""
        with self._lock:
            position, action = self.cuts[0] if self.cuts else (math.inf, None)
            count = min(limit, position - self.total)
            self.total += count
            if self.total < position:
                return count, None
            self.cuts.pop(0)
            return count, action

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._is_closed.set()
        # close() does not wake the thread that accepts connections.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def __str__(self):
        return "; ".join(map(str, self.requests))

    def count(self, method):
        return sum(1 for request in self.requests if request.method == method)

    def delay(self, appends, later):
        """Delays the next appends until `later` more requests have arrived, and resets the client's connections."""
        self._delays, self._later = appends, later

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        # The rows interrupt connections, and so do servers.
        with contextlib.suppress(OSError), client:
            with socket.create_connection(("127.0.0.1", self.upstream)) as server:
                _Connection(self, client, server).run()

    # ---------- For connections

    def begin(self, request):
        """Adds a request; returns whether it is to be delayed."""
        self.requests.append(request)
        if "upload-length" in request.fields:
            self.length = int(request.fields["upload-length"])
        if self._delays and request.method == "PATCH":
            return True
        if self._delayed and not self._delays:
            self._later -= 1
            if self._later == 0:
                for message in self._delayed:
                    self._send(message)
                self._delayed = []
        return False

    def must_drop(self, request):
        """Returns whether the response to a complete request is to be dropped."""
        if not self.drops_last or request.end != self.length or not 0 < request.length <= self.maximum:
            return False
        self.drops_last = False
        return True

    def wait_for_close(self):
        self._is_closed.wait()

    def add_delayed(self, message):
        self._delays -= 1
        self._delayed.append(message)

    def _send(self, message):
        with socket.create_connection(("127.0.0.1", self.upstream)) as server:
            server.sendall(message)
            response = b""
            while b"\r\n\r\n" not in response:
                response += server.recv(BLOCK) or b"\r\n\r\n"


class _Connection:
    """A connection of the client, and the one to the server. One thread serves both."""

    def __init__(self, relay, client, server):
        self.relay, self.client, self.server = relay, client, server
        self.head = b""
        self.request = None
        self.left = 0
        # The delayed request.
        self.message = None
        self.is_refused = False

    def run(self):
        sources = [self.client, self.server]
        while self.client in sources:
            for source in select.select(sources, [], [])[0]:
                if source is self.client:
                    data = source.recv(BLOCK)
                    if not data or not self.receive(data):
                        sources.remove(source)
                        break
                elif not self.respond():
                    sources.remove(source)
        with contextlib.suppress(OSError):
            self.server.shutdown(socket.SHUT_WR)
            _drain(self.server)

    def respond(self):
        """Relays bytes of the server; returns whether there are any."""
        try:
            data = self.server.recv(BLOCK)
        except OSError:
            data = b""
        if not data:
            self.client.shutdown(socket.SHUT_WR)
            return False
        if self.request is not None and not self.request.response:
            self.request.response = data
        self.client.sendall(data)
        return True

    def receive(self, data):
        """Relays bytes of the client; returns whether the connection continues."""
        while data:
            if self.left == 0:
                head, end, data = (self.head + data).partition(b"\r\n\r\n")
                self.head = b"" if end else head
                if end:
                    self.begin(head + end)
                continue
            count, action = min(len(data), self.left), None
            if self.request.length <= self.relay.maximum:
                count, action = self.relay.take(count)
            self.request.received += count
            self.left -= count
            self.forward(data[:count])
            data = data[count:]
            if self.message is not None and self.left == 0:
                self.relay.add_delayed(self.message)
                return self.cut("reset")
            if action is not None and not self.cut(action):
                return False
            if self.left == 0 and self.relay.must_drop(self.request):
                return self.drop()
        return True

    def begin(self, head):
        self.request = Request(head)
        self.left = self.request.length
        if self.relay.begin(self.request):
            self.message = b""
        self.forward(head)

    def forward(self, data):
        if self.message is not None:
            self.message += data
        elif not self.is_refused:
            # A server that has responded before the end of a body may close the connection.
            try:
                self.server.sendall(data)
            except OSError:
                self.is_refused = True

    def cut(self, action):
        """Returns whether the connection continues."""
        if callable(action):
            action()
            return True
        if action == "close":
            self.server.shutdown(socket.SHUT_WR)
            self.client.shutdown(socket.SHUT_WR)
            _drain(self.client)
            return False
        if action == "leave":
            _reset(self.client)
        if action in ("leave", "stall"):
            self.relay.wait_for_close()
        _reset(self.server)
        _reset(self.client)
        return False

    def drop(self):
        """Resets the connection of the client when the server has responded."""
        self.request.response = self.server.recv(BLOCK)
        _reset(self.server)
        _reset(self.client)
        return False


def _drain(connection):
    while connection.recv(BLOCK):
        pass


def _reset(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
    connection.close()
