"""Verifies before the measurements that each driver sends the right form, with a server that checks every byte."""

import hashlib
import http.server
import os
import re
import ssl
import threading

from drivers import FIELDS
from measure import Failure, run


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.chunked() if "chunked" in self.headers.get("Transfer-Encoding", "") else self.announced()
        self.server.forms.append((self.headers.get("Content-Type", ""), body))
        answer = str(len(body)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def announced(self):
        return self.rfile.read(int(self.headers["Content-Length"]))

    def chunked(self):
        body = b""
        while True:
            size = int(self.rfile.readline().split(b";")[0], 16)
            body += self.rfile.read(size)
            if self.rfile.readline() != b"\r\n":
                raise ValueError("a chunk is not terminated")
            if size == 0:
                return body


class Quiet(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        # A client may close an idle connection. Missing forms are detected by their count.
        pass


def parts_of(content_type, body):
    """Returns name and content of each part, parsed without a library."""
    found = re.search(r'boundary="?([^";]+)', content_type)
    if not content_type.startswith("multipart/form-data") or not found:
        raise Failure("the content type is %r" % content_type)
    delimiter = b"\r\n--" + found[1].encode()
    first, *pieces = (b"\r\n" + body).split(delimiter)
    if first or not pieces or pieces.pop().rstrip(b"\r\n") != b"--":
        raise Failure("the form has a wrong beginning or end")
    parts = {}
    for piece in pieces:
        head, _, content = piece.partition(b"\r\n\r\n")
        name = re.search(rb'[; ]name="?([^";\r\n]+)', head)
        parts[name[1].decode()] = content
    return parts


def check_form(form, digest):
    parts = parts_of(*form)
    for name, value in FIELDS:
        if parts.get(name) != value.encode():
            raise Failure("the field %s is %r" % (name, parts.get(name)))
    if hashlib.sha256(parts.get("FILE", b"")).hexdigest() != digest:
        raise Failure("the file has %d wrong bytes" % len(parts.get("FILE", b"")))


def check(driver, server, authority, directory, sizes=(100_000, 3_000_001)):
    """Sends two concurrent forms of each size and checks the received ones."""
    scheme = "https" if isinstance(server.socket, ssl.SSLSocket) else "http"
    for size in sizes:
        path = os.path.join(directory, "checked-%d" % size)
        with open(path, "wb") as file:
            content = os.urandom(size)
            file.write(content)
        server.forms = []
        url = "%s://127.0.0.1:%d/" % (scheme, server.server_address[1])
        done = run(driver.words(url, path, 2, 2, authority, directory))
        sent = driver.read(done)
        if len(server.forms) != 2 or sent.responses != 2:
            raise Failure("%d forms and %d responses of 2 were received" % (len(server.forms), sent.responses))
        for form in server.forms:
            check_form(form, hashlib.sha256(content).hexdigest())
        if sent.bytes != sum(len(body) for _, body in server.forms):
            raise Failure("it counts %d bytes" % sent.bytes)


def check_all(drivers, authority, directory, say):
    """Exits if a driver sends a different form, because its figures would not be comparable."""
    for is_secure in (False, True):
        server = Quiet(("127.0.0.1", 0), Receiver)
        if is_secure:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(authority.certificate, authority.key)
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for driver in drivers:
            if is_secure and not driver.is_secure:
                continue
            try:
                check(driver, server, authority.path, directory)
            except Failure as failure:
                raise SystemExit("bench: %s%s: %s" % (driver.name, " over TLS" if is_secure else "", failure)) from None
        server.shutdown()
        server.server_close()
    say("%d drivers send the right form, with and without TLS" % len(drivers))
