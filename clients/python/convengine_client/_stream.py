from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Generic, TypeVar

from ._error import ConvEngineError
from ._transport import Cancellation

Event = TypeVar("Event")


class EventStream(Generic[Event]):
    """The events of a turn. They can be iterated over once.

    ``cancel`` closes the connection, and so does leaving a ``with`` block. The turn goes on at the server.
    """

    def __init__(self, events: Iterator[Event], cancellation: Cancellation) -> None:
        self._events = events
        self._cancellation = cancellation
        self._cancelled = False

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        if self._cancelled:
            raise StopIteration
        try:
            return next(self._events)
        except ConvEngineError:
            if self._cancelled:
                raise StopIteration from None
            raise

    def cancel(self) -> None:
        """Closes the connection and ends the loop without an error. Any thread may call it."""
        self._cancelled = True
        self._cancellation.cancel()

    def __enter__(self) -> EventStream[Event]:
        return self

    def __exit__(self, _type: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None) -> None:
        self.cancel()
