"""Plays talks by the program ``convengine``, for tests."""

from __future__ import annotations

import os
import subprocess
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

TIMEOUT = 60.0
"""How long one talk may take, in seconds."""


class TalkFailed(AssertionError):
    """A talk differs from its expectations; the text has the differences."""


def play_talk(path: str | os.PathLike[str]) -> None:
    """Plays a talk (``*.talk``).

    The variable ``CONVENGINE`` of the environment has the path of the program if it is not on the PATH.

    :raises TalkFailed: if the talk differs from its expectations, or cannot be played
    """
    program = os.environ.get("CONVENGINE") or "convengine"
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        command = [program, "test", "--junit", str(report), os.fspath(path)]
        try:
            ended = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=TIMEOUT)
        except FileNotFoundError:
            raise TalkFailed(f"cannot find '{program}': install ConvEngine, or name the program in CONVENGINE") from None
        except subprocess.TimeoutExpired:
            raise TalkFailed(f"the talk has not ended within {TIMEOUT:.0f} s") from None
        if ended.returncode != 0:
            raise TalkFailed(_failures(report) or ended.stderr.strip() or f"'{program}' ended with {ended.returncode}")


def _failures(report: Path) -> str:
    """Returns the text of the failures in a JUnit report; an empty one without a report."""
    if not report.exists():
        return ""
    return "\n".join(failure.text or "" for failure in ElementTree.parse(report).iter("failure"))
