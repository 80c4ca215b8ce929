"""A client of a ConvEngine server.

>>> client = Client("http://127.0.0.1:8080")
>>> answer = client.tables.send("Where is my order?")  # doctest: +SKIP
"""

from ._assistant import Assistant, Session
from ._client import Client
from ._error import ConvEngineError
from ._stream import EventStream
from ._tables import Tables
from .types import ConversationEvent, SessionEvent, TableAnswer, TurnEvent, TurnResponse

__all__ = [
    "Assistant",
    "Client",
    "ConvEngineError",
    "ConversationEvent",
    "EventStream",
    "Session",
    "SessionEvent",
    "TableAnswer",
    "Tables",
    "TurnEvent",
    "TurnResponse",
]
