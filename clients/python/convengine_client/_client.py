from __future__ import annotations

from typing import Any

from ._assistant import Assistant
from ._tables import Tables
from ._transport import Transport


class Client:
    """A client of a running server. It may be used by several threads."""

    tables: Tables
    """Conversations of tables."""

    def __init__(
        self, url: str, *, api_key: str | None = None, tenant: str | None = None, timeout: float = 150.0, retries: int = 2
    ) -> None:
        """
        :param url: the address of the server, such as ``https://chat.example``
        :param api_key: a key or token of the server; sent as ``Authorization: Bearer``
        :param tenant: the tenant, for servers that have several
        :param timeout: the longest time without a byte of a response, in seconds
        :param retries: how often a request is repeated after a lost connection, 429 or 503; only what is safe to repeat is
        """
        self._transport = Transport(url, api_key, tenant, timeout, retries)
        self.tables = Tables(self._transport)

    def assistant(self, id: str) -> Assistant:
        """Returns the assistant with this id. Sends nothing."""
        return Assistant(self._transport, id)

    def health(self, *, timeout: float | None = None) -> dict[str, Any]:
        """Returns if the process is alive. Sent once, without retries."""
        health: dict[str, Any] = self._transport.call("GET", "/healthz", timeout=timeout)
        return health

    def ready(self, *, timeout: float | None = None) -> dict[str, Any]:
        """Returns if turns can run, of some tenant at least; raises an error with the status 503 if not. Sent once, without retries."""
        readiness: dict[str, Any] = self._transport.call("GET", "/readyz", timeout=timeout)
        return readiness
