"""Our own strict server of the IETF draft for resumable uploads."""

import os
import pathlib

from store import Store
from tus_servers import Server


class DraftServer(Server):
    """The test server of the draft, to which files are sent in a form."""

    name = "draft"
    # Whether the server announces the URL of an upload in a response with the status 104.
    is_interim = False

    def __init__(self, program, folder):
        self.folder = os.path.join(folder, "received")
        os.mkdir(self.folder)
        self._store = Store(program, "draft", "--directory", self.folder, *["--interim"][:self.is_interim])
        self.port = self._store.port

    def close(self):
        self._store.close()

    def arguments(self, file, port):
        return ["post", f"http://127.0.0.1:{port}/form", "-F", f"FILE=@{file}", "--resumable", "draft"]

    def identifier(self, output):
        return None

    def content(self, identifier):
        if self._store.state() != 1:
            raise RuntimeError("the form was processed more than once")
        [path] = pathlib.Path(self.folder).iterdir()
        # The only part of the form.
        return path.read_bytes().split(b"\r\n\r\n", 1)[1].rsplit(b"\r\n--", 1)[0]


class InterimDraftServer(DraftServer):
    name = "draft with 104"
    is_interim = True
