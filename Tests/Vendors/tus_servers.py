"""Foreign tus servers with storage in a directory, each started on a port of 127.0.0.1."""

import contextlib
import json
import math
import os
import pathlib
import shutil
import socket
import socketserver
import sqlite3
import subprocess
import sys
import threading
import urllib.parse
import wsgiref.simple_server

import fastapi
import tuspyserver
import tussi
import tussi.storage
import tuswsgi
import uvicorn


# How often a program that can't choose its port is started with another one.
ATTEMPTS = 3


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


class Server:
    name = ""
    # The maximum length of an append.
    maximum = math.inf
    # Whether the creation of an upload has the first append.
    creates_with_upload = False
    # Whether uploads can be joined.
    concatenates = False

    def arguments(self, file, port):
        """Returns the arguments of the command that uploads a file."""
        return ["put", file, f"tus+http://127.0.0.1:{port}/files"]

    def identifier(self, output):
        """Returns the identifier of the upload in the output of the command."""
        return urllib.parse.urlsplit(output.strip()).path.rsplit("/", 1)[-1]


class ResumableUpload(Server):
    """The command of the package resumable-upload. It keeps its state in SQLite."""

    name = "resumable-upload"
    creates_with_upload = True
    concatenates = True

    def __init__(self, folder):
        self.folder = folder
        self.start()

    def start(self):
        # Another process may take the port before the server does.
        if not any(self._listens() for _ in range(ATTEMPTS)):
            raise RuntimeError("the server does not start")
        threading.Thread(target=self._process.stderr.read, daemon=True).start()

    def _listens(self):
        """Starts the process; returns whether it listens."""
        self.port = free_port()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "resumable_upload", "serve", "--host", "127.0.0.1", "--port", str(self.port),
             "--upload-dir", f"{self.folder}/files", "--db-path", f"{self.folder}/state.db"],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        return any("listening" in line for line in self._process.stderr)

    def close(self):
        self._process.kill()
        self._process.wait()

    def remove(self):
        """Removes all uploads of the closed server."""
        shutil.rmtree(f"{self.folder}/files")
        os.remove(f"{self.folder}/state.db")

    def content(self, identifier):
        return pathlib.Path(self.folder, "files", identifier).read_bytes()

    def metadata(self, identifier):
        with contextlib.closing(sqlite3.connect(f"{self.folder}/state.db")) as state:
            [row] = state.execute("SELECT metadata FROM uploads WHERE upload_id = ?", [identifier])
        return json.loads(row[0])


class TusWSGI(Server):
    """The package tuswsgi in the server of wsgiref, which responds with HTTP/1.0 and closes each connection."""

    name = "tuswsgi"

    class _Server(socketserver.ThreadingMixIn, wsgiref.simple_server.WSGIServer):
        daemon_threads = True

        # Connections that the rows interrupt are not errors.
        def handle_error(self, *_):
            pass

    class _Handler(wsgiref.simple_server.WSGIRequestHandler):
        def log_message(self, *_):
            pass

    def __init__(self, folder):
        self.folder = folder

        def application(environment, start_response):
            start_response("200 OK", [])
            return []

        middleware = tuswsgi.TusMiddleware(application, upload_path="/files", tmp_dir=folder)
        self._server = wsgiref.simple_server.make_server(
            "127.0.0.1", 0, middleware, self._Server, self._Handler)
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()

    def content(self, identifier):
        return pathlib.Path(self.folder, identifier).read_bytes()

    def metadata(self, identifier):
        return json.loads(pathlib.Path(self.folder, f"{identifier}.info").read_text())["upload_metadata"]


class ASGIServer(Server):
    """An application in uvicorn."""

    def __init__(self, application):
        listener = socket.create_server(("127.0.0.1", 0))
        self.port = listener.getsockname()[1]
        self._server = uvicorn.Server(uvicorn.Config(application, lifespan="off", log_level="critical"))
        self._thread = threading.Thread(target=self._server.run, args=([listener],), daemon=True)
        self._thread.start()

    def close(self):
        self._server.should_exit = True
        self._thread.join()


class TusPyServer(ASGIServer):
    """The package tuspyserver. It does not respond to OPTIONS at the URL without a slash at the end."""

    name = "tuspyserver"

    def __init__(self, folder):
        self.folder = folder
        application = fastapi.FastAPI()
        application.include_router(tuspyserver.create_tus_router(prefix="files", files_dir=folder))
        super().__init__(application)

    def content(self, identifier):
        return pathlib.Path(self.folder, identifier).read_bytes()

    def metadata(self, identifier):
        return json.loads(pathlib.Path(self.folder, f"{identifier}.info").read_text())["metadata"]


class Tussi(ASGIServer):
    """The package tussi. Its limit of an append is 2 MiB here; it does not announce it."""

    name = "tussi"
    maximum = 2 << 20

    def __init__(self, folder):
        self.folder = folder
        super().__init__(
            tussi.TUSApp(
                tussi.storage.FilesystemStorage(directory=pathlib.Path(folder)),
                completed_dir=os.path.join(folder, "complete"), max_chunk_size=self.maximum))

    def _path(self, name):
        complete = pathlib.Path(self.folder, "complete", name)
        # Known defect: an empty upload, which is complete when it is created, stays among the incomplete ones.
        return complete if complete.exists() else pathlib.Path(self.folder, name)

    def content(self, identifier):
        return self._path(identifier).read_bytes()

    def metadata(self, identifier):
        return json.loads(self._path(f"{identifier}.meta").read_text())["metadata"]
