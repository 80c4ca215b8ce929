"""The objects of the HTTP API, named as the API names their members."""

from __future__ import annotations

from typing import Any, Literal, TypedDict, Union


class Payload(TypedDict):
    """What to show to the user; the value is text, also if it is JSON."""

    type: Literal["TEXT", "JSON", "ERROR"]
    value: str | None


class TableAnswer(TypedDict):
    """The answer to a message."""

    success: bool
    conversationId: str
    intent: str | None
    state: str | None
    payload: Payload | None
    context: str | None
    """The context as JSON text."""
    errorCode: str | None
    message: str | None
    """What to show to the user of a failed turn."""
    recoverable: bool
    """Whether sending the message again may succeed."""


class ConnectedData(TypedDict, total=False):
    """The first event of a stream; ``resumed`` says whether missed events follow."""

    conversationId: str
    transport: str
    resumed: bool


class StageData(TypedDict):
    """A record of the audit, a progress message or a message of a flow session, as streams send it."""

    stage: str
    createdAt: str
    payload: dict[str, Any]
    verbose: dict[str, Any] | None
    """The progress message, with ``text`` and ``level``; None in other records."""


class TokenData(TypedDict, total=False):
    """A piece of the text of a model; ``reset`` takes back the pieces of the effect."""

    turn: str
    effect: int
    text: str
    reset: bool


class ToolProgressData(TypedDict):
    """The progress of a call of a tool of an MCP server."""

    turn: str
    effect: int
    progress: float
    total: float | None
    message: str | None


class ConnectedEvent(TypedDict):
    type: Literal["CONNECTED"]
    id: str | None
    data: ConnectedData


class StageEvent(TypedDict):
    type: Literal["AUDIT", "VERBOSE", "MESSAGE"]
    id: str | None
    """The place in the conversation, after which a stream can be continued."""
    data: StageData


class TokenEvent(TypedDict):
    type: Literal["TOKEN"]
    id: str | None
    data: TokenData


class ToolProgressEvent(TypedDict):
    type: Literal["TOOL_PROGRESS"]
    id: str | None
    data: ToolProgressData


class AnswerEvent(TypedDict):
    type: Literal["ANSWER"]
    id: str | None
    data: TableAnswer


ConversationEvent = Union[ConnectedEvent, StageEvent, TokenEvent, ToolProgressEvent]
"""An event of a conversation."""


class _OfEvent(TypedDict, total=False):
    event_id: str
    """Identifies the event, so that the server runs it once, however often it is sent; random if absent."""
    user_token: str


class _UserMessage(TypedDict):
    type: Literal["user.message"]
    text: str


class UserMessage(_UserMessage, _OfEvent):
    """A message of the user."""


class _UserButton(TypedDict):
    type: Literal["user.button"]
    button_id: str


class UserButton(_UserButton, _OfEvent, total=False):
    """The user presses a button."""

    value: Any
    label: str


class _ApprovalDecision(TypedDict):
    type: Literal["approval.decision"]
    call_id: str
    approved: bool


class ApprovalDecision(_ApprovalDecision, _OfEvent, total=False):
    """A decision about a call of an agent."""

    edited_args: dict[str, Any]
    reason: str


class _SessionEnd(TypedDict):
    type: Literal["session.end"]


class SessionEnd(_SessionEnd, _OfEvent, total=False):
    """Ends the session."""

    reason: str


SessionEvent = Union[UserMessage, UserButton, ApprovalDecision, SessionEnd]
"""An event of a session."""


class _SessionMessage(TypedDict):
    id: str
    node: str
    """The node that sent it."""
    text: str
    """The message as plain text."""
    blocks: list[dict[str, Any]]
    """The message in parts: texts, buttons, images and others."""
    locale: str
    final: bool
    role: Literal["bot", "human"]


class SessionMessage(_SessionMessage, total=False):
    """A message of an assistant, or of a person at the desk."""

    author: str
    """The person, for the role ``human``."""


class _TurnResponse(TypedDict):
    session_id: str
    turn: int
    """The number of user events so far."""
    status: Literal["awaiting_input", "handed_off", "completed", "failed"]
    messages: list[SessionMessage]
    awaiting: dict[str, Any] | None
    """What the session is waiting for."""


class TurnResponse(_TurnResponse, total=False):
    """The response of a turn."""

    handoff: dict[str, Any]
    """The handoff, while a person has the session or should have it."""
    debug: dict[str, Any]


class AgentTokenData(TypedDict, total=False):
    """A piece of an agent's text before its message; ``reset`` takes back the pieces of the effect."""

    effect: int
    delta: str
    reset: bool


class AgentTokenEvent(TypedDict):
    type: Literal["token"]
    data: AgentTokenData


class MessageEvent(TypedDict):
    type: Literal["message"]
    data: SessionMessage


class DebugEvent(TypedDict):
    """A step of the turn, or an effect that begins or ends, for callers that may see ``debug``."""

    type: Literal["trace", "effect"]
    data: dict[str, Any]


class DoneEvent(TypedDict):
    """The last event of a turn."""

    type: Literal["done"]
    data: TurnResponse


TurnEvent = Union[AgentTokenEvent, MessageEvent, DebugEvent, DoneEvent]
"""An event of a turn while it runs."""
