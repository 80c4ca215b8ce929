"""Servers for tests: some that answer as they are told, and one that loses answers."""

from __future__ import annotations

import json
import threading
import unittest
import urllib.request
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Handle = Callable[[BaseHTTPRequestHandler, bytes], None]


def serve(test: unittest.TestCase, handle: Handle) -> str:
    """Serves on a free port until the test ends; returns the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            handle(self, self.rfile.read(int(self.headers.get("Content-Length", 0))))

        do_POST = do_GET

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    test.addCleanup(server.server_close)
    test.addCleanup(server.shutdown)
    return f"http://127.0.0.1:{server.server_address[1]}"


def respond(handler: BaseHTTPRequestHandler, status: int, headers: dict[str, str], body: str) -> None:
    content = body.encode()
    handler.send_response(status)
    for name, value in {**headers, "Content-Length": str(len(content))}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(content)


def scripted(test: unittest.TestCase, responses: list[tuple[int, dict[str, str], str]]) -> tuple[str, list[dict[str, Any]]]:
    """A server that gives these responses in turn, and notes what it was asked."""
    asked: list[dict[str, Any]] = []

    def handle(handler: BaseHTTPRequestHandler, body: bytes) -> None:
        asked.append({"path": handler.path, "headers": handler.headers, "body": json.loads(body) if body else None})
        respond(handler, *responses[min(len(asked), len(responses)) - 1])

    return serve(test, handle), asked


def lossy_proxy(test: unittest.TestCase, target: str, lost: int = 1, events: int = 0) -> str:
    """A proxy that loses the connection in place of the first responses to POST requests, or after some of their events: the turn runs,
    and its client does not hear of it."""
    left = [lost]

    def handle(handler: BaseHTTPRequestHandler, body: bytes) -> None:
        request = urllib.request.Request(target + handler.path, data=body or None, method=handler.command)
        for name in ("Content-Type", "Idempotency-Key"):
            if name in handler.headers:
                request.add_header(name, handler.headers[name])
        with urllib.request.urlopen(request) as response:
            text, kind = response.read().decode(), response.headers["Content-Type"]
        if handler.command == "POST" and left[0] > 0:
            left[0] -= 1
            if events > 0:
                handler.send_response(200)
                handler.send_header("Content-Type", kind)
                handler.end_headers()
                handler.wfile.write("".join(f"{event}\n\n" for event in text.split("\n\n")[:events]).encode())
            handler.close_connection = True
            return
        respond(handler, 200, {"Content-Type": kind}, text)

    return serve(test, handle)
