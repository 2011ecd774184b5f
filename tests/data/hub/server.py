"""A server that speaks as much of the Hugging Face hub's HTTP API as pushes and pulls need, for the real client: set HF_ENDPOINT to `url`.

Repositories live in memory. `TOKEN` may read and write all, `READER` may read what is public; nobody else may write.
As at the hub, files that git would keep as text come in the commit itself, others are sent before, by LFS.
`python server.py` serves until Ctrl+C.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

TOKEN, READER = "hf_owner", "hf_reader"
REPO = r"(?P<kind>models|datasets)/(?P<repo>[\w.-]+/[\w.-]+)"
FILES = r"/(?P<kind>datasets/)?(?P<repo>[\w.-]+/[\w.-]+)"


@dataclass
class Repository:
    """Commits by hash, each with its files, and branches."""

    private: bool
    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)

    def commit(self, branch: str, files: dict[str, bytes]) -> str:
        """Add a commit."""
        found = hashlib.sha1(f"{branch}{len(self.commits)}{sorted(files)}".encode()).hexdigest()
        self.commits[found], self.branches[branch] = files, found
        return found

    def hash_of(self, revision: str) -> str | None:
        """The commit of a branch, or of its own name."""
        found = self.branches.get(revision, revision)
        return found if found in self.commits else None


class RefusedError(Exception):
    """An answer with an error."""

    def __init__(self, status: int, code: str = "", message: str = "") -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


class HubServer(ThreadingHTTPServer):
    """The repositories, and what was asked for."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.cdn = f"http://localhost:{self.server_address[1]}/cdn"
        """Of large files: another host, to which clients send no token."""
        self.repositories: dict[tuple[str, str], Repository] = {}
        self.large: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.cut: str | None = None
        """A file whose downloads break off in the middle."""

    def damage(self, kind: str, repo: str, name: str, content: bytes | None) -> None:
        """Change a file behind the back of its list, or remove it, in a commit that is the new main."""
        at = self.repositories[kind, repo]
        files = dict(at.commits[at.branches["main"]])
        files.pop(name)
        at.commit("main", files if content is None else {**files, name: content})


class Handler(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each answer waits 40 ms for an acknowledgement of its headers
    server: HubServer

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is printed."""

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_PUT(self) -> None:
        self._answer()

    def _answer(self) -> None:
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = unquote(urlsplit(self.path).path)
        self.server.asked.append(f"{self.command} {path}")
        try:
            for method, pattern, answer in ROUTES:
                if (match := re.fullmatch(pattern, path)) and self.command in method:
                    answer(self, **match.groupdict())
                    return
            raise RefusedError(404, "", f"no {self.command} {path} here")
        except RefusedError as no:
            self._send(no.status, b"", {"X-Error-Code": no.code, "X-Error-Message": no.message})

    def _send(
        self, status: int, content: bytes, headers: dict[str, str] | None = None, size: int | None = None
    ) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content) if size is None else size), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _json(self, value: Any) -> None:
        self._send(200, json.dumps(value).encode(), {"Content-Type": "application/json"})

    @property
    def token(self) -> str:
        return (self.headers.get("Authorization") or "").removeprefix("Bearer ")

    def _may_write(self) -> None:
        if self.token != TOKEN:
            raise RefusedError(403 if self.token == READER else 401, "", "you may not write here")

    def _repository(self, kind: str | None, repo: str) -> tuple[str, Repository]:
        """As the hub does, this tells nobody whether there is a private repository."""
        place = "datasets" if (kind or "").startswith("datasets") else "models"
        found = self.server.repositories.get((place, repo))
        if found is None or (found.private and self.token != TOKEN):
            raise RefusedError(404 if self.token else 401, "RepoNotFound", "Repository not found")
        return place, found

    def _at(self, kind: str | None, repo: str, revision: str) -> tuple[str, dict[str, bytes]]:
        found = self._repository(kind, repo)[1]
        commit = found.hash_of(revision)
        if commit is None:
            raise RefusedError(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        return commit, found.commits[commit]

    def create(self) -> None:
        self._may_write()
        asked = json.loads(self.body)
        kind, repo = f"{asked.get('type') or 'model'}s", f"{asked['organization']}/{asked['name']}"
        url = f"{self.server.url}/{'datasets/' if kind == 'datasets' else ''}{repo}"
        if (kind, repo) in self.server.repositories:
            self._send(409, json.dumps({"url": url, "error": "You already created this repo"}).encode())
            return
        private = asked.get("visibility") == "private" or asked.get("private") is True
        made = self.server.repositories[kind, repo] = Repository(private)
        made.commit("main", {".gitattributes": b"*.parquet filter=lfs\n"})
        self._json({"url": url, "id": repo})

    def validate(self) -> None:
        assert json.loads(self.body)["content"].startswith("---\n")
        self._json({"errors": [], "warnings": []})

    def info(self, kind: str, repo: str, revision: str | None = None) -> None:
        commit, files = self._at(kind, repo, revision or "main")
        private = self._repository(kind, repo)[1].private
        named = [{"rfilename": name} for name in files]
        self._json(
            {
                "_id": repo,
                "id": repo,
                "sha": commit,
                "private": private,
                "siblings": named,
                "tags": [],
                "downloads": 0,
                "likes": 0,
            }
        )

    def tree(self, kind: str, repo: str, revision: str) -> None:
        self._json([entry(name, content) for name, content in self._at(kind, repo, revision)[1].items()])

    def branch(self, kind: str, repo: str, branch: str) -> None:
        self._may_write()
        found = self._repository(kind, repo)[1]
        if branch in found.branches:
            raise RefusedError(409, "", "Reference already exists")
        found.branches[branch] = found.branches["main"]
        self._json({})

    def preupload(self, kind: str, repo: str, revision: str) -> None:
        self._may_write()
        files = self._at(kind, repo, revision)[1]
        self._json(
            {
                "files": [
                    {
                        "path": one["path"],
                        "uploadMode": "lfs" if is_large(one["path"]) else "regular",
                        "shouldIgnore": False,
                        "oid": entry(one["path"], files[one["path"]])["oid"] if one["path"] in files else None,
                    }
                    for one in json.loads(self.body)["files"]
                ]
            }
        )

    def batch(self, kind: str | None, repo: str) -> None:
        self._may_write()
        objects = []
        for one in json.loads(self.body)["objects"]:
            known = one["oid"] in self.server.large
            upload = {"upload": {"href": f"{self.server.url}/lfs/{one['oid']}", "header": {}}}
            objects.append({**one, **({} if known else {"actions": upload})})
        self._json({"transfer": "basic", "objects": objects})

    def put(self, oid: str) -> None:
        assert hashlib.sha256(self.body).hexdigest() == oid
        self.server.large[oid] = self.body
        self._json({})

    def commit(self, kind: str, repo: str, revision: str) -> None:
        self._may_write()
        found, files = self._repository(kind, repo)[1], dict(self._at(kind, repo, revision)[1])
        for line in self.body.splitlines():
            asked = json.loads(line)
            key, value = asked["key"], asked["value"]
            if key == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif key == "lfsFile":
                files[value["path"]] = self.server.large[value["oid"]]
            elif key == "deletedFile":
                del files[value["path"]]
        commit = found.commit(revision, files)
        self._json({"commitUrl": f"{self.server.url}/{repo}/commit/{commit}", "commitOid": commit, "success": True})

    def resolve(self, kind: str | None, repo: str, revision: str, name: str) -> None:
        commit, files = self._at(kind, repo, revision)
        if name not in files:
            raise RefusedError(404, "EntryNotFound", "Entry not found")
        content = files[name]
        told, head = entry(name, content), {"X-Repo-Commit": commit}
        if "lfs" in told:
            oid = told["lfs"]["oid"]
            self.server.large[oid] = content
            linked = {"X-Linked-Size": str(len(content)), "X-Linked-ETag": f'"{oid}"'}
            self._send(302, b"", {**head, **linked, "Location": f"{self.server.cdn}/{oid}/{name}"})
        elif self.command == "HEAD":
            self._send(200, b"", {**head, "ETag": f'"{told["oid"]}"'}, size=len(content))
        else:
            self._send(200, content, {**head, "ETag": f'"{told["oid"]}"'})

    def cdn(self, oid: str, name: str) -> None:
        assert not self.token
        content = self.server.large[oid]
        start = int((self.headers.get("Range") or "bytes=0-").removeprefix("bytes=").partition("-")[0])
        if self.server.cut == name:
            self._send(206 if start else 200, content[start:][: len(content) // 3], size=len(content) - start)
            self.close_connection = True
            return
        ranged = {"Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}"} if start else {}
        self._send(206 if start else 200, content[start:], ranged)


def is_large(name: str) -> bool:
    """Whether the hub keeps a file by LFS."""
    return name.endswith((".ludory", ".parquet"))


def entry(name: str, content: bytes) -> dict[str, Any]:
    """What the hub says of a file."""
    plain = {"type": "file", "path": name, "size": len(content)}
    if not is_large(name):
        return {**plain, "oid": hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()}
    oid = hashlib.sha256(content).hexdigest()
    return {**plain, "oid": oid[:40], "lfs": {"oid": oid, "size": len(content), "pointerSize": 130}}


ROUTES = (
    ("POST", "/api/repos/create", Handler.create),
    ("POST", "/api/validate-yaml", Handler.validate),
    ("GET", f"/api/{REPO}", Handler.info),
    ("GET", f"/api/{REPO}/revision/(?P<revision>.+)", Handler.info),
    ("GET", f"/api/{REPO}/tree/(?P<revision>.+)", Handler.tree),
    ("POST", f"/api/{REPO}/branch/(?P<branch>.+)", Handler.branch),
    ("POST", f"/api/{REPO}/preupload/(?P<revision>.+)", Handler.preupload),
    ("POST", f"/api/{REPO}/commit/(?P<revision>.+)", Handler.commit),
    ("POST", f"{FILES}.git/info/lfs/objects/batch", Handler.batch),
    ("PUT", "/lfs/(?P<oid>[0-9a-f]{64})", Handler.put),
    ("GET HEAD", "/cdn/(?P<oid>[0-9a-f]{64})/(?P<name>.+)", Handler.cdn),
    ("GET HEAD", f"{FILES}/resolve/(?P<revision>[^/]+)/(?P<name>.+)", Handler.resolve),
)


@contextmanager
def running() -> Iterator[HubServer]:
    """A server on a free port of this machine."""
    with HubServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


if __name__ == "__main__":
    with HubServer() as server:
        print(server.url, flush=True)
        server.serve_forever()
