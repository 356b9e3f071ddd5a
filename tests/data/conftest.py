"""A tokenizer whose ids can be told by hand: the bytes themselves, and 256 for <|endoftext|>. A server that fails."""

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from groundup.corpus import END_OF_TEXT
from groundup.tokenizer.bpe import Tokenizer


@pytest.fixture
def byte_tokenizer() -> Tokenizer:
    return Tokenizer({byte: bytes([byte]) for byte in range(256)}, [], [END_OF_TEXT])


class Server(ThreadingHTTPServer):
    """Serves `files`, by path, on this machine; can be told to fail. Knows what it was asked.

    Attributes:
        cuts: After how many bytes the next answers break off, one after the other.
        statuses: What the next requests are answered with instead, one after the other.
        knows_ranges: Whether it can begin in the middle of a file.
        headers: More of them, by path.
        moved: Paths that are elsewhere now.
        asked: (method, path, range) of each request.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.files: dict[str, bytes] = {}
        self.cuts: list[int] = []
        self.statuses: list[int] = []
        self.knows_ranges = True
        self.headers: dict[str, dict[str, str]] = {}
        self.moved: dict[str, str] = {}
        self.asked: list[tuple[str, str, str | None]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Answer(BaseHTTPRequestHandler):
    server: Server

    def do_HEAD(self) -> None:
        self.answer(with_body=False)

    def do_GET(self) -> None:
        self.answer(with_body=True)

    def answer(self, *, with_body: bool) -> None:
        wanted = self.headers.get("Range")
        self.server.asked.append((self.command, self.path, wanted))
        content = self.server.files.get(self.path)
        if self.server.statuses:
            return self.send_error(self.server.statuses.pop(0))
        if with_body and self.path in self.server.moved:
            return self.begin(302, {"Location": self.server.url + self.server.moved[self.path]})
        if content is None:
            return self.send_error(404)
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and self.server.knows_ranges else 0
        extent = {"Content-Length": str(len(content) - start)}
        if start >= len(content) > 0:
            return self.begin(416, {"Content-Range": f"bytes */{len(content)}"})
        if start:
            extent["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        self.begin(206 if start else 200, extent)
        if with_body:
            self.wfile.write(content[start:][: self.server.cuts.pop(0) if self.server.cuts else None])

    def begin(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in (headers | self.server.headers.get(self.path, {})).items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def nobody() -> str:
    """An address at which nothing listens."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{found.getsockname()[1]}"
