"""A real object store on this machine's loopback (SeaweedFS), and a line to it that can fail."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from pyarrow import fs

BUCKET = "calls"
KEYS = {"AWS_ACCESS_KEY_ID": "TESTKEY", "AWS_SECRET_ACCESS_KEY": "test-secret"}
_ADMIN = ("ADMINKEY", "admin-secret")
_PARTS = ("master", "volume", "filer", "s3")


def weed():
    """Return the server's program, or None where its package is not installed."""
    beside = Path(sys.executable).parent / "weed"
    return str(beside) if beside.is_file() else shutil.which("weed")


def free_ports(count):
    """Return ports below those that systems give to outgoing connections."""
    found = []
    while len(found) < count:
        port = secrets.SystemRandom().randrange(10_000, 32_000)
        with socket.socket() as tried, contextlib.suppress(OSError):
            tried.bind(("127.0.0.1", port))
            found.append(port)
    return found


@contextlib.contextmanager
def serving(folder):
    """Run the server until the block ends; gives its port. Only its own bucket may be used."""
    for number in range(4):
        here = folder / str(number)
        here.mkdir()
        server, port = _start(here)
        try:
            if _writes(server, port):
                yield port
                return
        finally:
            server.kill()
            server.wait()
    # Somebody else took one of its ports in between, or it does not run here at all.
    fatal = re.findall(r"(?m)^F.*", (here / "log").read_text(errors="replace"))
    raise RuntimeError(f"the S3 server does not start: {fatal}")


def _start(folder):
    ports = free_ports(2 * len(_PARTS))
    rights = [f"{right}:{BUCKET}" for right in ("Read", "Write", "List", "Tagging")]
    identities = [
        _identity("admin", _ADMIN, ["Admin", "Read", "Write", "List"]),
        _identity("test", tuple(KEYS.values()), rights),
    ]
    (folder / "s3.json").write_text(json.dumps({"identities": identities}))
    (folder / "data").mkdir()
    options = [f"-{part}.port{kind}={ports.pop()}" for part in _PARTS for kind in ("", ".grpc")]
    port = int(next(o for o in options if o.startswith("-s3.port=")).partition("=")[2])
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            [
                weed(),
                "server",
                "-ip=127.0.0.1",
                "-ip.bind=127.0.0.1",
                f"-dir={folder / 'data'}",
                "-filer",
                "-s3",
                f"-s3.config={folder / 's3.json'}",
                "-s3.port.iceberg=0",
                "-s3.port.lance=0",
                "-master.telemetry=false",  # it would tell its makers
                "-master.volumeSizeLimitMB=64",
                "-volume.max=16",
                *options,
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=folder,
            env={**os.environ, "HOME": str(folder)},
        )
    return server, port


def _identity(name, keys, actions):
    credentials = [dict(zip(("accessKey", "secretKey"), keys, strict=True))]
    return {"name": name, "credentials": credentials, "actions": actions}


def filesystem(port, keys=_ADMIN, **more):
    return fs.S3FileSystem(
        access_key=keys[0],
        secret_key=keys[1],
        region="us-east-1",
        scheme="http",
        endpoint_override=f"127.0.0.1:{port}",
        **more,
    )


def _writes(server, port):
    """Wait until an object can be written; False where the server has ended."""
    admin, until = filesystem(port, allow_bucket_creation=True), time.monotonic() + 60
    while server.poll() is None and time.monotonic() < until:
        try:
            admin.create_dir(BUCKET)
            with admin.open_output_stream(f"{BUCKET}/ready") as target:
                target.write(b"1")
            admin.delete_file(f"{BUCKET}/ready")
        except OSError:
            time.sleep(0.2)
        else:
            return True
    return False


@dataclass
class Line:
    """What happens between a client and the server.

    `asked` holds the requests in order, as ``PUT /calls/a``. With `breaks_at`, the line is dead
    from the first request on that the pattern fits; with `stalls_at`, half of it gets through.
    """

    server_port: int
    port: int = 0
    asked: list[str] = field(default_factory=list)
    breaks_at: str | None = None
    stalls_at: str | None = None
    is_dead: bool = False
    stalled: threading.Event = field(default_factory=threading.Event)

    @property
    def environment(self):
        return {**KEYS, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}"}

    def count(self, pattern):
        return sum(re.search(pattern, each) is not None for each in self.asked)

    def hear(self, data):
        """Return what of the client's bytes gets through."""
        found = re.match(rb"(GET|HEAD|PUT|POST|DELETE) (\S+) HTTP/1.1\r\n", data)
        if found is None:
            return data
        told = f"{found[1].decode()} {found[2].decode()}"
        self.asked.append(told)
        if self.breaks_at is not None and re.search(self.breaks_at, told):
            self.is_dead = True
        if self.stalls_at is not None and re.search(self.stalls_at, told):
            self.stalled.set()
            return data[: len(data) - 20]
        return data


@contextlib.contextmanager
def line_to(server_port):
    """Run a line to the server until the block ends."""
    line = Line(server_port)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        line.port = listener.getsockname()[1]
        threading.Thread(target=_accept, args=(listener, line), daemon=True).start()
        try:
            yield line
        finally:
            line.is_dead = True


def _accept(listener, line):
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=_carry, args=(client, line), daemon=True).start()


def _carry(client, line):
    with client, contextlib.suppress(OSError):
        if line.is_dead:
            return
        with socket.create_connection(("127.0.0.1", line.server_port)) as server:
            back = threading.Thread(target=_pump, args=(server, client), daemon=True)
            back.start()
            while data := client.recv(1 << 16):
                if line.stalled.is_set():
                    continue
                data = line.hear(data)
                if line.is_dead:
                    break
                server.sendall(data)
            for each in (server, client):
                each.shutdown(socket.SHUT_RDWR)


def _pump(source, target):
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
