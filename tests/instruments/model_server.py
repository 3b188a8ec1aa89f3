"""A web server on this machine that serves a model file, well or badly."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Conduct:
    """How the server behaves; `cuts` are after how many bytes it hangs up, one a request."""

    files: dict[str, bytes]
    cuts: list[int] = field(default_factory=list)
    errors: list[int] = field(default_factory=list)
    redirects: dict[str, str] = field(default_factory=dict)
    etag: str | None = '"one"'
    ranges: bool = True
    tells_length: bool = True
    lies_about_start: int = 0
    waits: threading.Event | None = None
    asked: list[dict] = field(default_factory=list)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    conduct: Conduct

    def log_message(self, *_):
        """Say nothing."""

    def do_GET(self):
        conduct = self.conduct
        conduct.asked.append({"path": self.path, **dict(self.headers)})
        if self.path in conduct.redirects:
            self.answer(302, Location=conduct.redirects[self.path])
        elif conduct.errors:
            self.answer(conduct.errors.pop(0))
        elif self.path not in conduct.files:
            self.answer(404)
        elif self.asked_start() >= len(conduct.files[self.path]) > 0:
            self.answer(416)
        else:
            self.send_file(conduct.files[self.path], self.asked_start())

    def send_file(self, data, start):
        conduct, head = self.conduct, {}
        if conduct.etag:
            head["ETag"] = conduct.etag
        if start:
            first = start + conduct.lies_about_start
            head["Content-Range"] = f"bytes {first}-{len(data) - 1}/{len(data)}"
        if conduct.tells_length:
            head["Content-Length"] = str(len(data) - start)
        else:
            head["Connection"] = "close"
        self.send_response(206 if start else 200)
        for name, value in head.items():
            self.send_header(name, value)
        self.end_headers()
        self.send_body(data[start:])

    def asked_start(self):
        found = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        condition = self.headers.get("If-Range")
        is_same = condition is None or condition == self.conduct.etag
        return int(found[1]) if found and self.conduct.ranges and is_same else 0

    def send_body(self, data):
        conduct = self.conduct
        end = conduct.cuts.pop(0) if conduct.cuts else len(data)
        self.wfile.write(data[:end])
        if conduct.waits is not None:
            self.wfile.flush()
            conduct.waits.wait(30)
        if end < len(data) or not conduct.tells_length:
            with contextlib.suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True

    def answer(self, status, **head):
        self.send_response(status)
        for name, value in {**head, "Content-Length": "0"}.items():
            self.send_header(name, value)
        self.end_headers()


class QuietServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """A client that is killed hangs up; that is what is tested."""


@contextlib.contextmanager
def serving(conduct):
    """Serve until the block ends; gives the server's address."""
    handler = type("Handler", (Handler,), {"conduct": conduct})
    server = QuietServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        if conduct.waits is not None:
            conduct.waits.set()
        server.shutdown()
        thread.join()
        server.server_close()
