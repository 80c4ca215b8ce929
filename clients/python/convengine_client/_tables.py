from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Iterator
from queue import Empty, SimpleQueue
from typing import Any
from urllib.parse import quote

from ._error import ConvEngineError
from ._stream import EventStream
from ._transport import Cancellation, Transport
from .types import AnswerEvent, ConversationEvent, TableAnswer

_CONVERSATION = "/api/v1/conversation"
_LAST_STAGE = "ENGINE_RETURN"
"""The event after which a turn publishes nothing that people read."""
_EVENTS_AFTER_ANSWER = 1.0
"""How long events may come after their answer, which arrives on another connection, in seconds."""


class Tables:
    """Conversations of tables."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def send(
        self,
        message: str = "",
        *,
        conversation_id: str | None = None,
        input_params: dict[str, Any] | None = None,
        reset: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> TableAnswer:
        """Sends a message and returns the answer of its turn.

        :param conversation_id: the conversation, a UUID; a new one if absent
        :param input_params: parameters for rules and templates
        :param reset: whether to restart the conversation
        :param idempotency_key: identifies the message, so that the server runs it once, however often it is sent; random if absent
        """
        return self._send(_body(message, conversation_id, input_params, reset), idempotency_key, timeout, Cancellation())

    def stream(
        self,
        message: str = "",
        *,
        conversation_id: str | None = None,
        input_params: dict[str, Any] | None = None,
        reset: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> EventStream[ConversationEvent | AnswerEvent]:
        """Sends a message and yields the events of the conversation meanwhile; the last event is the answer.

        Events are shown, not stored: those that a broken connection loses are not repeated, and the answer comes anyway.
        """
        cancellation = Cancellation()
        body = _body(message, conversation_id or str(uuid.uuid4()), input_params, reset)
        return EventStream(self._turn(body, idempotency_key, timeout, cancellation), cancellation)

    def events(
        self, conversation_id: str, *, last_event_id: str | None = None, timeout: float | None = None
    ) -> EventStream[ConversationEvent]:
        """Yields the events of all turns of a conversation until the connection ends; ``last_event_id`` continues after that event."""
        cancellation = Cancellation()
        return EventStream(self._events(conversation_id, last_event_id, timeout, cancellation), cancellation)

    def _send(self, body: dict[str, Any], key: str | None, timeout: float | None, cancellation: Cancellation) -> TableAnswer:
        headers = {"Idempotency-Key": key or str(uuid.uuid4())}
        path = f"{_CONVERSATION}/message"
        answer: TableAnswer = self._transport.call(
            "POST", path, body, headers=headers, repeatable=True, timeout=timeout, cancellation=cancellation
        )
        return answer

    def _events(
        self, conversation_id: str, last_event_id: str | None, timeout: float | None, cancellation: Cancellation
    ) -> Iterator[ConversationEvent]:
        headers = {} if last_event_id is None else {"Last-Event-ID": last_event_id}
        path = f"{_CONVERSATION}/stream/{quote(conversation_id, safe='')}"
        for event in self._transport.events(
            "GET", path, headers=headers, repeatable=True, timeout=timeout, cancellation=cancellation
        ):
            # The name of an audit event is its stage, of which there are many.
            yield {"type": event.data.get("eventType", event.name), "id": event.id, "data": event.data}

    def _turn(
        self, body: dict[str, Any], key: str | None, timeout: float | None, cancellation: Cancellation
    ) -> Iterator[ConversationEvent | AnswerEvent]:
        """Yields the events of the conversation until the turn has answered, and then its answer. A failure of the events fails no turn."""
        events = self._events(body["conversationId"], None, timeout, cancellation)
        queue: SimpleQueue[Any] = SimpleQueue()

        def send() -> None:
            try:
                queue.put(AnswerEvent(type="ANSWER", id=None, data=self._send(body, key, timeout, cancellation)))
            except Exception as error:
                queue.put(error)

        def listen() -> None:
            try:
                for event in events:
                    queue.put(event)
            except ConvEngineError:
                pass
            queue.put(None)

        try:
            # The server confirms the subscription before the message is sent, so no event of the turn is missed.
            if (connected := next(events, None)) is not None:
                yield connected
            for work in (listen, send):
                threading.Thread(target=work, daemon=True).start()
            answer: AnswerEvent | None = None
            latest: float | None = None
            is_last = False
            while not (answer and is_last):
                try:
                    found = queue.get(timeout=None if latest is None else max(latest - time.monotonic(), 0.0))
                except Empty:
                    break
                if isinstance(found, Exception):
                    raise found
                if found is None:
                    is_last = True
                elif found["type"] == "ANSWER":
                    answer, latest = found, time.monotonic() + _EVENTS_AFTER_ANSWER
                else:
                    yield found
                    is_last = is_last or found["data"].get("stage") == _LAST_STAGE
            if answer:
                yield answer
        finally:
            cancellation.cancel()


def _body(message: str, conversation_id: str | None, input_params: dict[str, Any] | None, reset: bool) -> dict[str, Any]:
    body: dict[str, Any] = {"message": message, "conversationId": conversation_id, "inputParams": input_params, "reset": reset or None}
    return {name: value for name, value in body.items() if value is not None}
