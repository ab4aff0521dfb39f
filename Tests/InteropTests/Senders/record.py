"""Records the form that a browser submits from page.html: the raw request, head and body, in one file.

record.py BROWSER FILE: the files of the form have 700 bytes to keep the recording small.
"""

import http.server
import pathlib
import subprocess
import sys
import tempfile
import threading

browser, target = sys.argv[1], pathlib.Path(sys.argv[2])
page = pathlib.Path(__file__).with_name("page.html").read_bytes()
has_come = threading.Event()


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, body):
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(page)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        kept = ("User-Agent", "Content-Type", "Content-Length")
        lines = [self.requestline] + [f"{name}: {self.headers[name]}" for name in kept]
        target.write_bytes("\r\n".join(lines + ["", ""]).encode() + body)
        self.answer(b"done")
        has_come.set()

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_address[1]}/page?bytes=700"
switches = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--no-proxy-server"]
with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
    process = subprocess.Popen(
        [browser, *switches, f"--user-data-dir={profile}", "--virtual-time-budget=20000", "--dump-dom", url],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    came = has_come.wait(60)
    process.terminate()
    process.wait()
if not came:
    sys.exit("The browser sent nothing within a minute.")
