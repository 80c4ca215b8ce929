from __future__ import annotations

import email.utils
import json
import re
import time
from http.client import HTTPMessage
from typing import Any


class ConvEngineError(Exception):
    """The error of a request. A turn of tables that fails is an answer with ``success`` false, not an error."""

    message: str
    status: int
    """The HTTP status; 0 without a response. An error at the end of a stream has the status of the stream, 200."""
    code: str
    """The code of the server, such as ``session_completed``, or its status in words, such as ``not_found``. Without a usable response
    ``connection_failed``, ``timeout``, ``invalid_response`` or ``cancelled``."""
    retry_after: float | None
    """How long the server asks to wait before another attempt, in seconds."""
    body: Any
    """The body of the response: parsed if it is JSON, else as text."""

    def __init__(self, message: str, *, status: int = 0, code: str, retry_after: float | None = None, body: Any = None) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.code = code
        self.retry_after = retry_after
        self.body = body


def from_response(status: int, reason: str, headers: HTTPMessage, content: bytes) -> ConvEngineError:
    """Reads the error body of a response. Its form depends on the path: one of each family of endpoints."""
    text = content.decode("utf-8", "replace")
    try:
        body = json.loads(text)
    except ValueError:
        body = text
    members = body if isinstance(body, dict) else {}
    error = members.get("error")
    if isinstance(error, dict):
        code, message = error["code"], error["message"]
    else:
        words = error or reason or f"status {status}"
        code = members.get("code") or re.sub("[^a-z0-9]+", "_", words.lower())
        message = members.get("message") or words
    return ConvEngineError(message, status=status, code=code, retry_after=_retry_after(headers), body=body)


def _retry_after(headers: HTTPMessage) -> float | None:
    """The header is a number of seconds, or a date if a proxy has sent it."""
    value = headers.get("Retry-After")
    if value is None:
        return None
    if value.isdigit():
        return float(value)
    try:
        return max(email.utils.parsedate_to_datetime(value).timestamp() - time.time(), 0.0)
    except ValueError:
        return None
