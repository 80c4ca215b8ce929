from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from ._error import ConvEngineError
from ._stream import EventStream
from ._transport import Cancellation, Transport, pause_before_retry
from .types import SessionEvent, TurnEvent, TurnResponse


class Assistant:
    """An assistant, whose sessions run on its draft or on a version."""

    def __init__(self, transport: Transport, id: str) -> None:
        self._transport = transport
        self._path = f"/v1/runtime/assistants/{quote(id, safe='')}/sessions"

    def start(
        self,
        *,
        locale: str | None = None,
        time_zone: str | None = None,
        channel: str | None = None,
        version: int | None = None,
        params: dict[str, Any] | None = None,
        user: dict[str, Any] | None = None,
        visitor: dict[str, Any] | None = None,
        user_token: str | None = None,
        session_id: str | None = None,
        event_id: str | None = None,
        timeout: float | None = None,
    ) -> Session:
        """Starts a session and returns it when its first turn has ended.

        :param time_zone: the IANA name of the user's time zone
        :param version: the version of the document; the draft if absent
        :param params: initial variables
        :param user: who the user is, as stated by the caller
        :param visitor: what is known of the user, unverified
        :param user_token: a JSON Web Token that proves who the user is
        :param session_id: the id of the session, a UUID; random if absent
        :param event_id: identifies the start, together with ``session_id``; random if absent
        """
        members = {
            "locale": locale,
            "time_zone": time_zone,
            "channel": channel,
            "version": version,
            "params": params,
            "user": user,
            "visitor": visitor,
            "user_token": user_token,
            # The server recognizes a repeated start by both.
            "session_id": session_id or str(uuid.uuid4()),
            "event_id": event_id or str(uuid.uuid4()),
        }
        body = {name: value for name, value in members.items() if value is not None}
        response: TurnResponse = self._transport.call("POST", self._path, body, repeatable=True, timeout=timeout)
        return Session(self._transport, self._path, response["session_id"], response)

    def session(self, id: str) -> Session:
        """Returns a session that was started before. Sends nothing."""
        return Session(self._transport, self._path, id, None)


class Session:
    """A session of an assistant."""

    id: str
    started: TurnResponse | None
    """The response of the first turn; None for a session that was started before."""

    def __init__(self, transport: Transport, sessions: str, id: str, started: TurnResponse | None) -> None:
        self._transport = transport
        self._path = f"{sessions}/{quote(id, safe='')}"
        self.id = id
        self.started = started

    def send(self, event: str | SessionEvent, *, timeout: float | None = None) -> TurnResponse:
        """Sends an event and returns the response of its turn. A text is a message of the user."""
        response: TurnResponse = self._transport.call("POST", f"{self._path}/turns", _body(event), repeatable=True, timeout=timeout)
        return response

    def stream(self, event: str | SessionEvent, *, timeout: float | None = None) -> EventStream[TurnEvent]:
        """Sends an event and yields what happens in its turn.

        Where the connection breaks, the client asks again and passes on the messages that are new; pieces of texts are not repeated. A turn
        that fails at the server ends the loop with a ``ConvEngineError``.
        """
        cancellation = Cancellation()
        return EventStream(self._turn(_body(event), timeout, cancellation), cancellation)

    def state(self, *, timeout: float | None = None) -> dict[str, Any]:
        """Returns the state of the session."""
        state: dict[str, Any] = self._transport.call("GET", self._path, repeatable=True, timeout=timeout)
        return state

    def _turn(self, body: dict[str, Any], timeout: float | None, cancellation: Cancellation) -> Iterator[TurnEvent]:
        """Yields the events of a turn.

        Where its stream breaks, the event is sent again: the server then answers with the messages and the end of the same turn, of which
        those are passed on that are new.
        """
        path = f"{self._path}/turns?stream=true"
        shown: set[str] = set()
        failures = 0
        while True:
            try:
                for event in self._transport.events("POST", path, body, timeout=timeout, cancellation=cancellation):
                    if event.name == "error":
                        error = event.data["error"]
                        raise ConvEngineError(error["message"], status=200, code=error["code"], body=event.data)
                    if event.name == "message":
                        if event.data["id"] in shown:
                            continue
                        shown.add(event.data["id"])
                    yield {"type": event.name, "data": event.data}  # type: ignore[misc]
                    if event.name == "done":
                        return
                cancellation.check()
                raise ConvEngineError("connection failed: the stream has ended before its turn", code="connection_failed")
            except ConvEngineError as error:
                pause = pause_before_retry(error, failures)
                if failures >= self._transport.retries or pause is None:
                    raise
            failures += 1
            cancellation.sleep(pause)


def _body(event: str | SessionEvent) -> dict[str, Any]:
    """Every event has an id, so that the server recognizes a repeated one."""
    members: dict[str, Any] = {"type": "user.message", "text": event} if isinstance(event, str) else dict(event)
    return {"event_id": str(uuid.uuid4()), **members}
