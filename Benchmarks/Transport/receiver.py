"""The server for the forms: the sink in its own process, and its certificate authority."""

import os
import subprocess

from measure import product


class Sink:
    """A running sink. Use it in a `with` statement."""

    def __init__(self, authority=None, rate=None, log=None):
        words = [product("BenchSink")]
        words += ["--tls", authority.certificate, authority.key] if authority else []
        words += ["--rate", str(rate)] if rate else []
        words += ["--log", log] if log else []
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
