"""Servers for tests with official clients.

`scripted` is the server in front of a scripted engine (ft_scripted_server); `tiny` is `ft serve` on
the bundled model, or whatever FT_TEST_SERVER says ("{port}" stands for a free port). A test whose
program was not built skips and says so. Nothing here knows what a server answers.
"""

import collections
import os
import pathlib
import re
import shlex
import signal
import socket
import subprocess
import threading
import time
import urllib.request

import openai
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("FT_BIN_DIR", ROOT / "build/release/bin"))
START_SECONDS = 120


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A server process; `command` has "{port}" where the port goes."""

    def __init__(self, command, model):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.model = model
        self.lines = collections.deque(maxlen=200)
        self.process = subprocess.Popen(
            [part.format(port=self.port) for part in command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.reader = threading.Thread(target=lambda: self.lines.extend(self.process.stdout))
        self.reader.start()
        self.wait_until_ready()

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=20) as reply:
            return reply.read().decode()

    def wait_until_ready(self):
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and self.process.poll() is None:
            try:
                self.get("/ready")
                return
            except OSError:
                time.sleep(0.05)
        self.stop()
        pytest.fail("the server did not get ready:\n" + "".join(self.lines))

    def client(self, **options):
        options = {"api_key": "none", "max_retries": 0, "timeout": 60, **options}
        return openai.OpenAI(base_url=self.url + "/v1", **options)

    def metric(self, name):
        found = re.search(rf"^{re.escape(name)}{{[^}}]*}} (\S+)$", self.get("/metrics"), re.M)
        return float(found.group(1)) if found else None

    def wait_for_metric(self, name, value):
        end = time.monotonic() + 20
        while time.monotonic() < end:
            if self.metric(name) == value:
                return True
            time.sleep(0.01)
        return False

    def stop(self, signal_number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(signal_number)
        try:
            code = self.process.wait(timeout=60)
        finally:
            self.process.kill()
            self.reader.join(timeout=20)
        return code


def scripted_server(*arguments):
    program = BIN / "ft_scripted_server"
    if not program.exists():
        pytest.skip(f"{program} is not built")
    return Server([str(program), "{port}", *arguments], "scripted")


def tiny_command():
    if "FT_TEST_SERVER" in os.environ:
        return shlex.split(os.environ["FT_TEST_SERVER"])
    program = BIN / "ft"
    model = ROOT / "examples/models/tiny-moe-nvfp4"
    if not program.exists():
        pytest.skip(f"{program} is not built")
    if not model.exists():
        pytest.skip(f"{model} is absent")
    return [str(program), "serve", "--model", str(model), "--port", "{port}"]


@pytest.fixture(scope="session")
def scripted():
    server = scripted_server()
    yield server
    server.stop()


@pytest.fixture
def own_scripted():
    """A server of the test's own, to be stopped in the middle."""
    server = scripted_server()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def tiny():
    server = Server(tiny_command(), "tiny-moe-nvfp4")
    yield server
    server.stop()
