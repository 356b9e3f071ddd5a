"""Pushing, through huggingface_hub itself, to a Hub on this machine that remembers what it got."""

import base64
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from interop.models import make_run

from groundup.errors import ConfigError, GroundupError
from groundup.interop.huggingface import export_huggingface
from groundup.interop.push import push


class Hub(ThreadingHTTPServer):
    """As much of the Hub as an upload needs. `refuse` is the status it answers a commit with."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answers)
        self.address = f"http://127.0.0.1:{self.server_address[1]}"
        self.repositories, self.files, self.tokens, self.refuse = {}, {}, set(), 200


class Answers(BaseHTTPRequestHandler):
    def do_POST(self):
        hub, body = self.server, self.rfile.read(int(self.headers["content-length"]))
        hub.tokens.add(self.headers["authorization"])
        answer, status = {}, 200
        if self.path == "/api/repos/create":
            asked = json.loads(body)
            name = f"{asked['organization']}/{asked['name']}"
            hub.repositories[name] = asked
            answer = {"url": f"{hub.address}/{name}", "name": name}
        elif "/preupload/" in self.path:
            paths = [file["path"] for file in json.loads(body)["files"]]
            answer = {"files": [{"path": path, "uploadMode": "regular", "shouldIgnore": False} for path in paths]}
        elif "/commit/" in self.path:
            entries = [json.loads(line) for line in body.splitlines()]
            for entry in entries:
                if entry["key"] == "file":
                    hub.files[entry["value"]["path"]] = base64.b64decode(entry["value"]["content"])
            answer = {"commitUrl": f"{hub.address}/someone/little/commit/1f", "commitOid": "1f", "success": True}
            status = hub.refuse
        content = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


@pytest.fixture
def hub(monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_of_the_test")
    monkeypatch.setenv("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    with Hub() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def exported(tokenizer, tmp_path):
    return export_huggingface(make_run(tokenizer, num_layers=1), tmp_path / "little")


def test_every_file_arrives_as_it_is(hub, exported):
    address = push(exported, "someone/little", private=True, endpoint=hub.address)
    assert address == f"{hub.address}/someone/little/commit/1f"
    assert hub.files == {file.name: file.read_bytes() for file in exported.iterdir()}
    assert hub.repositories["someone/little"]["visibility"] == "private"
    assert hub.tokens == {"Bearer hf_of_the_test"}


def test_what_the_hub_refuses_is_one_sentence(hub, exported):
    hub.refuse = 403
    with pytest.raises(GroundupError, match=r"'someone/little' was not pushed: .*403") as error:
        push(exported, "someone/little", endpoint=hub.address)
    assert "\n" not in str(error.value)
    with pytest.raises(GroundupError, match="was not pushed: Repo id must"):
        push(exported, "no//name", endpoint=hub.address)


def test_what_is_no_export_is_not_pushed(exported, tmp_path):
    (tmp_path / "run/checkpoints").mkdir(parents=True)
    with pytest.raises(ConfigError, match="is a run; make a folder that others can read: groundup export hf"):
        push(tmp_path / "run", "someone/little")
    with pytest.raises(ConfigError, match="is no exported folder"):
        push(tmp_path, "someone/little")
