"""The server for the forms: the sink in its own process, and its certificate authority."""

import os
import shutil
import socket
import subprocess

from measure import product


class Sink:
    """A running sink. Use it in a `with` statement. `delay` is in milliseconds; `closes` is whether each response ends its
    connection."""

    def __init__(self, authority=None, rate=None, log=None, delay=None, closes=False):
        words = [product("BenchSink")]
        words += ["--tls", authority.certificate, authority.key] if authority else []
        words += ["--rate", str(rate)] if rate else []
        words += ["--log", log] if log else []
        words += ["--delay", str(delay)] if delay else []
        words += ["--close"] if closes else []
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        port = self._process.stdout.readline().strip()
        if not port.isdigit():
            raise SystemExit("bench: the sink did not start.")
        self.url = "%s://127.0.0.1:%s/" % ("https" if authority else "http", port)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


class Front:
    """nginx with HTTP/2 in front of a sink. Use it in a `with` statement. `url` is `None` if nginx is not installed."""

    CONFIGURATION = """
        worker_processes 1; daemon off; pid nginx.pid; error_log error.log;
        events { worker_connections 1024; }
        http {
            access_log off; client_max_body_size 0; client_body_buffer_size 256k; keepalive_requests 10000000;
            client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi;
            scgi_temp_path scgi;
            upstream sink { server %s; keepalive 64; }
            server {
                listen 127.0.0.1:%d ssl http2; ssl_certificate %s; ssl_certificate_key %s;
                location / { proxy_pass http://sink; proxy_http_version 1.1; proxy_set_header Connection ""; }
            }
        }
    """

    def __init__(self, sink, authority, directory):
        self.url, self._process = None, None
        program = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")
        if not program:
            return
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        place = os.path.join(directory, "nginx")
        os.makedirs(place)
        file = os.path.join(place, "nginx.conf")
        with open(file, "w") as configuration:
            backend = sink.url.split("/")[2]
            configuration.write(self.CONFIGURATION % (backend, port, authority.certificate, authority.key))
        self._process = subprocess.Popen(
            [program, "-p", place, "-c", file], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except ConnectionRefusedError:
                if self._process.poll() is not None:
                    raise SystemExit("bench: nginx did not start.") from None
        self.url = "https://127.0.0.1:%d/" % port

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._process:
            self._process.terminate()
            self._process.wait()


class Authority:
    """A temporary authority and a certificate for 127.0.0.1, created with the `openssl` command (elliptic curve P-256)."""

    def __init__(self, directory):
        self.path, self.certificate, self.key = (os.path.join(directory, name) for name in ("ca.pem", "leaf.pem", "leaf.key"))
        script = """
            cd "$1"
            openssl ecparam -name prime256v1 -genkey -noout -out ca.key
            openssl req -x509 -new -key ca.key -days 2 -subj '/CN=Benchmark' -out ca.pem
            openssl ecparam -name prime256v1 -genkey -noout -out leaf.key
            openssl req -new -key leaf.key -subj '/CN=127.0.0.1' -out leaf.csr
            printf 'subjectAltName=IP:127.0.0.1\\n' >leaf.ext
            openssl x509 -req -in leaf.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile leaf.ext -out leaf.pem
        """
        done = subprocess.run(["sh", "-ec", script, "sh", directory], stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit("bench: openssl could not create a certificate: " + done.stderr.strip()[-300:])
