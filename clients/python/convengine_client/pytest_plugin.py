"""Makes a pytest test of each talk (``*.talk``) that pytest finds.

In ``conftest.py`` of the folder from which pytest runs::

    pytest_plugins = ["convengine_client.pytest_plugin"]

The variable ``CONVENGINE`` of the environment has the path of the program if it is not on the PATH.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .talks import TalkFailed, play_talk


class TalkFile(pytest.File):
    """A talk as pytest collects it."""

    def collect(self) -> Iterator[pytest.Item]:
        yield TalkItem.from_parent(self, name=self.path.stem)


class TalkItem(pytest.Item):
    """The test of a talk."""

    def runtest(self) -> None:
        play_talk(self.path)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Shows the differences, not the way to them through this package."""
        if isinstance(excinfo.value, TalkFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[os.PathLike[str], int | None, str]:
        return self.path, None, f"talk {self.name}"


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> TalkFile | None:
    """Collects talks."""
    return TalkFile.from_parent(parent, path=file_path) if file_path.suffix == ".talk" else None
