"""Proxies of Debian, each as a process on a port of 127.0.0.1 before one server."""

import contextlib
import os
import shutil
import socket
import subprocess

from tus_servers import ATTEMPTS, free_port

# The time in seconds that a proxy waits for the server. On a busy machine, a server can take some seconds.
PATIENCE = 10


class Proxy:
    """A running proxy. Its files are in a directory of its own."""

    name = ""
    program = ""

    @classmethod
    def path(cls):
        """Returns the path of the program; None if it is not installed. A user's PATH may lack /usr/sbin."""
        return shutil.which(cls.program, path=f"{os.environ.get('PATH', '')}:/usr/sbin")

    def __init__(self, folder, upstream):
        self.folder = os.path.join(folder, self.program)
        os.mkdir(self.folder)
        for _ in range(ATTEMPTS):
            self.port = free_port()
            if self._start(upstream):
                return
        with open(f"{self.folder}/log") as log:
            raise RuntimeError(f"{self.name} does not start: {log.read()}")

    def _start(self, upstream):
        """Starts the process; returns whether it listens."""
        settings = f"{self.folder}/settings"
        with open(settings, "w") as file:
            file.write(self.settings(f"127.0.0.1:{self.port}", f"127.0.0.1:{upstream}"))
        with open(f"{self.folder}/log", "w") as log:
            self._process = subprocess.Popen(
                [self.path(), *self.arguments(settings)], cwd=self.folder, env=os.environ | {"HOME": self.folder},
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        while self._process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
                return True
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(0.02)
        return False

    def close(self):
        self._process.terminate()
        self._process.wait()

    def __str__(self):
        """What the proxy has logged."""
        with open(f"{self.folder}/log", errors="replace") as log:
            return f"{self.name} has exited with {self._process.poll()}. {log.read()[-4000:]}"

    def arguments(self, settings):
        raise NotImplementedError

    def settings(self, address, upstream):
        raise NotImplementedError


class BufferingNginx(Proxy):
    """nginx as it is by default: it reads a whole request before it connects to the server."""

    name = "nginx with request buffering"
    program = "nginx"
    maximum = "0"
    buffering = "on"
    rules = ""

    def arguments(self, settings):
        return ["-e", "stderr", "-c", settings]

    def settings(self, address, upstream):
        paths = "\n".join(
            f"{kind}_temp_path {self.folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        return f"""
            daemon off;
            master_process off;
            pid {self.folder}/pid;
            error_log stderr;
            events {{}}
            http {{
                access_log off;
                {paths}
                client_max_body_size {self.maximum};
                server {{
                    listen {address};
                    {self.rules}
                    location / {{
                        proxy_pass http://{upstream};
                        proxy_http_version 1.1;
                        proxy_set_header Host $http_host;
                        proxy_request_buffering {self.buffering};
                        proxy_read_timeout {PATIENCE};
                        proxy_send_timeout {PATIENCE};
                    }}
                }}
            }}
        """


class StreamingNginx(BufferingNginx):
    name = "nginx without request buffering"
    buffering = "off"


class LimitingNginx(BufferingNginx):
    """nginx with its default limit of a request body."""

    name = "nginx with a limit of 1 MiB"
    maximum = "1m"


class BarringNginx(BufferingNginx):
    name = "nginx that allows only GET, POST and OPTIONS"
    rules = "if ($request_method !~ ^(GET|POST|OPTIONS)$) { return 405; }"


class HeadBarringNginx(BufferingNginx):
    name = "nginx that does not allow HEAD"
    rules = "if ($request_method = HEAD) { return 405; }"


class HAProxy(Proxy):
    name = "HAProxy"
    program = "haproxy"

    def arguments(self, settings):
        return ["-db", "-f", settings]

    def settings(self, address, upstream):
        return f"""
defaults
    mode http
    timeout connect {PATIENCE}s
    timeout client 60s
    timeout server {PATIENCE}s
frontend front
    bind {address}
    default_backend back
backend back
    server server {upstream}
"""


class Caddy(Proxy):
    name = "Caddy"
    program = "caddy"

    def arguments(self, settings):
        return ["run", "--adapter", "caddyfile", "--config", settings]

    def settings(self, address, upstream):
        host, _, port = address.partition(":")
        return f"""
            {{
                admin off
                auto_https off
            }}
            http://:{port} {{
                bind {host}
                reverse_proxy {upstream} {{
                    transport http {{
                        response_header_timeout {PATIENCE}s
                    }}
                }}
            }}
        """


class Apache(Proxy):
    name = "Apache"
    program = "apache2"
    MODULES = "/usr/lib/apache2/modules"

    def arguments(self, settings):
        return ["-D", "FOREGROUND", "-f", settings]

    def settings(self, address, upstream):
        modules = "\n".join(
            f"LoadModule {name}_module {self.MODULES}/mod_{name}.so"
            for name in ("mpm_event", "authz_core", "proxy", "proxy_http"))
        # Apache does not serve requests as root.
        user = "User www-data\nGroup www-data" if os.geteuid() == 0 else ""
        return f"""
            ServerRoot {self.folder}
            ServerName 127.0.0.1
            PidFile {self.folder}/pid
            ErrorLog /dev/stderr
            Listen {address}
            {modules}
            {user}
            StartServers 1
            ProxyPreserveHost On
            ProxyTimeout {PATIENCE}
            ProxyPass / http://{upstream}/
        """
