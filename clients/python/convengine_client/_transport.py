from __future__ import annotations

import json
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from ._error import ConvEngineError, from_response

LONGEST_PAUSE = 30.0
"""A server that asks for a longer pause, in seconds, gets no further attempt."""
FIRST_PAUSE = 0.25

Result = TypeVar("Result")


class ServerEvent(NamedTuple):
    """A server-sent event."""

    name: str
    id: str | None
    data: Any


class Cancellation:
    """Ends the requests that were begun with it, also those that another thread waits for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._cancelled = threading.Event()

    @property
    def cancelled(self) -> bool:
        return self._cancelled.is_set()

    def cancel(self) -> None:
        with self._lock:
            self._cancelled.set()
            for connected in self._sockets:
                try:
                    # Closing a socket does not wake up a thread that reads from it.
                    connected.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def add(self, connected: socket.socket) -> None:
        with self._lock:
            self.check()
            self._sockets.append(connected)

    def remove(self, connected: socket.socket) -> None:
        with self._lock:
            if connected in self._sockets:
                self._sockets.remove(connected)

    def check(self) -> None:
        if self.cancelled:
            raise ConvEngineError("the call was cancelled", code="cancelled")

    def sleep(self, seconds: float) -> None:
        self._cancelled.wait(seconds)
        self.check()


class Transport:
    """Sends requests, each on a connection of its own, and repeats those that are safe to repeat."""

    def __init__(self, url: str, api_key: str | None, tenant: str | None, timeout: float, retries: int) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise ValueError(f"invalid address '{url}': expected one such as 'https://chat.example'")
        self._connect = HTTPConnection if parts.scheme == "http" else HTTPSConnection
        self._host = parts.netloc
        self._path = parts.path.rstrip("/")
        self._headers = {"Accept-Encoding": "identity"}
        if api_key is not None:
            self._headers["Authorization"] = f"Bearer {api_key}"
        if tenant is not None:
            self._headers["X-Tenant"] = tenant
        self.timeout = timeout
        self.retries = retries

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
        repeatable: bool = False,
        timeout: float | None = None,
        cancellation: Cancellation | None = None,
    ) -> Any:
        """Returns the body of the response. A request that is not ``repeatable`` is sent once, whatever happens."""
        cancellation = cancellation or Cancellation()

        def attempt() -> Any:
            with self._open(method, path, body, headers, timeout, cancellation) as response:
                return response.json()

        return self.repeat(attempt, self.retries if repeatable else 0, cancellation)

    def events(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
        repeatable: bool = False,
        timeout: float | None = None,
        cancellation: Cancellation,
    ) -> Iterator[ServerEvent]:
        """Yields the events of a stream. Only what fails before its first event is repeated, if it is ``repeatable``."""

        def attempt() -> _Exchange:
            return self._open(method, path, body, headers, timeout, cancellation)

        with self.repeat(attempt, self.retries if repeatable else 0, cancellation) as response:
            yield from response.events()

    def repeat(self, attempt: Callable[[], Result], retries: int, cancellation: Cancellation) -> Result:
        """Returns the result of the first attempt that succeeds."""
        failures = 0
        while True:
            try:
                return attempt()
            except ConvEngineError as error:
                pause = pause_before_retry(error, failures)
                if failures >= retries or pause is None:
                    raise
            failures += 1
            cancellation.sleep(pause)

    def _open(
        self, method: str, path: str, body: Any, headers: Mapping[str, str] | None, timeout: float | None, cancellation: Cancellation
    ) -> _Exchange:
        timeout = self.timeout if timeout is None else timeout
        connection = self._connect(self._host, timeout=timeout)
        all_headers = {**self._headers, **(headers or {})}
        content = None
        if body is not None:
            content = json.dumps(body).encode()
            all_headers["Content-Type"] = "application/json"
        exchange = _Exchange(connection, (method, self._path + path, content, all_headers), timeout, cancellation)
        exchange.open()
        return exchange


def pause_before_retry(error: ConvEngineError, failures: int) -> float | None:
    """Returns the seconds to wait before another attempt, or nothing if it would not help."""
    if error.status not in (429, 503) and error.code != "connection_failed":
        return None
    pause = error.retry_after
    if pause is None:
        pause = FIRST_PAUSE * 2**failures * (1 + random.random())
    return pause if pause <= LONGEST_PAUSE else None


class _Exchange:
    """A request and its response, whose errors it turns into those of this package."""

    def __init__(
        self, connection: HTTPConnection, request: tuple[str, str, bytes | None, dict[str, str]], timeout: float, cancellation: Cancellation
    ) -> None:
        self._connection = connection
        self._request = request
        self._timeout = timeout
        self._cancellation = cancellation
        self._socket: socket.socket | None = None
        self._response: HTTPResponse | None = None

    def open(self) -> None:
        """Sends the request and waits for the head of the response."""
        try:
            self._cancellation.check()
            self._connection.connect()
            self._socket = self._connection.sock
            self._cancellation.add(self._socket)
            self._connection.request(*self._request)
            self._response = response = self._connection.getresponse()
            if response.status >= 300:
                raise from_response(response.status, response.reason, response.headers, response.read())
        except Exception as error:
            self._close()
            raise self._explain(error) from error

    def __enter__(self) -> _Exchange:
        return self

    def __exit__(self, _type: object, error: BaseException | None, _traceback: object) -> None:
        self._close()
        if isinstance(error, (OSError, HTTPException, ValueError)):
            raise self._explain(error) from error

    def json(self) -> Any:
        assert self._response
        return json.loads(self._response.read())

    def events(self) -> Iterator[ServerEvent]:
        assert self._response
        fields: dict[str, str] = {}
        while line := self._response.readline():
            text = line.decode().rstrip("\r\n")
            if text:
                name, _, value = text.partition(":")
                value = value.removeprefix(" ")
                fields[name] = f"{fields['data']}\n{value}" if name == "data" and "data" in fields else value
                continue
            if "data" in fields:
                yield ServerEvent(fields.get("event", "message"), fields.get("id"), json.loads(fields["data"]))
            fields = {}

    def _close(self) -> None:
        if self._socket is not None:
            self._cancellation.remove(self._socket)
        if self._response is not None:
            # The connection forgets a response that ends with it.
            self._response.close()
        self._connection.close()

    def _explain(self, error: Exception) -> Exception:
        if self._cancellation.cancelled:
            return ConvEngineError("the call was cancelled", code="cancelled")
        if isinstance(error, ConvEngineError):
            return error
        if isinstance(error, TimeoutError):
            return ConvEngineError(f"no response within {self._timeout} s", code="timeout")
        if isinstance(error, (OSError, HTTPException)):
            return ConvEngineError(f"connection failed: {error or type(error).__name__}", code="connection_failed")
        if isinstance(error, ValueError):
            return ConvEngineError("the response is not JSON", code="invalid_response")
        return error
