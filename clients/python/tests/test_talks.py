"""Plays talks by the program that CONVENGINE names, alone and as tests of pytest."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from convengine_client.talks import TalkFailed, play_talk

PACKAGE = Path(__file__).parents[1]
CORPUS = PACKAGE.parents[1] / "tests/talks"
DIFFERENCE = r'reply: "It is \\?"cancelled\\?" & gone\." became "Then order 48392 stays as it is\."'


class TalksTest(unittest.TestCase):
    def setUp(self) -> None:
        assert os.environ.get("CONVENGINE"), "CONVENGINE is not set; `cargo test --test suite client_packages` sets it"
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        shutil.copytree(CORPUS / "config", self.folder / "config")
        shutil.copy(CORPUS / "order_kept.talk", self.folder)
        kept = (self.folder / "order_kept.talk").read_text()
        (self.folder / "wrong.talk").write_text(kept.replace("< Then order 48392 stays as it is.", '< It is "cancelled" & gone.'))

    def test_a_talk_passes_or_says_why_not(self) -> None:
        play_talk(self.folder / "order_kept.talk")
        with self.assertRaisesRegex(TalkFailed, DIFFERENCE):
            play_talk(self.folder / "wrong.talk")
        with self.assertRaisesRegex(TalkFailed, "nowhere.talk"):
            play_talk(self.folder / "nowhere.talk")
        with mock.patch.dict(os.environ, CONVENGINE=str(self.folder / "no-program")):
            with self.assertRaisesRegex(TalkFailed, "cannot find .*no-program"):
                play_talk(self.folder / "order_kept.talk")

    def test_pytest_finds_the_talks_of_a_folder(self) -> None:
        (self.folder / "conftest.py").write_text('pytest_plugins = ["convengine_client.pytest_plugin"]\n')
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-v", "."]
        environment = {**os.environ, "PYTHONPATH": str(PACKAGE)}
        ended = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True)
        self.assertEqual(ended.returncode, 1, ended.stdout + ended.stderr)
        self.assertRegex(ended.stdout, r"order_kept\.talk::order_kept PASSED")
        self.assertRegex(ended.stdout, r"wrong\.talk::wrong FAILED")
        self.assertRegex(ended.stdout, DIFFERENCE)
        self.assertNotIn("Traceback", ended.stdout)
        self.assertRegex(ended.stdout, "1 failed, 1 passed")
