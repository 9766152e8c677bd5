"""Plants a key, then searches all output and all files of the program for it. planted_test.py PERDURE"""

import base64
import json
import os
import pty
import select
import subprocess
import sys
import unittest

from agent_folder import PATIENCE, AgentFolder
from model_server import ModelServer

PROGRAM = ""
KEY = "sk-planted-7d20c94be15fa836"
MARKER = "a-word-like-any-other-40718"
MEDDLING = "test -s store.db && touch seen; echo x >> agent.yaml; rm -f store.db-wal"
# The model searches for the key with every tool it has.
CURIOUS = [
    {"calls": [{"name": "read_file", "args": {"path": ".key"}}]},
    {"calls": [{"name": "search_files", "args": {"pattern": "planted"}}]},
    {"calls": [{"name": "shell", "args": {"command": "cat .key ./*; env; cat store.db* | base64"}}]},
    {"calls": [{"name": "shell", "args": {"command": MEDDLING}}]},
    {"calls": [{"name": "edit_file", "args": {"path": "agent.yaml", "old_text": "tested", "new_text": "owned"}}]},
    {"text": "I found nothing."},
    {"text": "Nor now."},
    {"text": "Nor ever."},
]


def has_key(content: bytes) -> bool:
    """In base64 a text has one of three forms, by its offset; its ends depend on its neighbours."""
    forms = [KEY.encode(), KEY.encode().hex().encode()]
    forms += [base64.b64encode(before + KEY.encode())[4:-8] for before in (b"", b"x", b"xy")]
    return any(form in content for form in forms)


class PlantedTest(unittest.TestCase):
    def setUp(self):
        self.folder = AgentFolder(PROGRAM)
        self.addCleanup(self.folder.close)
        self.server = ModelServer(CURIOUS)
        self.addCleanup(self.server.close)
        self.said = ""

    def write_agent(self, key: dict) -> str:
        model = {"provider": "openai", "id": "m", "base_url": self.server.url, "key": key}
        agent = {"name": "tested", "model": model, "roots": [{"path": ".", "writable": True}]}
        agent |= {"tools": {"files": {}, "shell": {}}, "permissions": {"write": "allow"}}
        return str(self.folder.write("agent.yaml", json.dumps(agent)))

    def run_program(self, *words: str, **more) -> str:
        done = self.folder.run(*words, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.said += done.stdout + done.stderr
        return done.stdout

    def chat(self, line: str, answer: str) -> None:
        """In a terminal, so that the line gets into the history."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [self.folder.program, "chat", "@last"],
            cwd=self.folder.path,
            env=self.folder.environment | {"TERM": "xterm"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        self.addCleanup(process.kill)
        os.close(theirs)
        os.write(ours, line.encode() + b"\r")
        said, leaves = b"", False
        while select.select([ours], [], [], PATIENCE)[0]:
            try:
                said += os.read(ours, 1 << 16)
            except OSError:  # The other end is closed.
                break
            if answer.encode() in said and not leaves:
                leaves = os.write(ours, b"/quit\r") > 0
        os.close(ours)
        self.assertEqual(process.wait(PATIENCE), 0, said)
        self.assertIn(answer.encode(), said)
        self.said += said.decode(errors="replace")

    def leave_traces(self, agent: str) -> None:
        """Runs every command that shows a session."""
        before = self.folder.path.joinpath("agent.yaml").read_text()
        self.assertIn("I found nothing.", self.run_program("run", agent, MARKER))
        self.assertEqual(self.folder.path.joinpath("agent.yaml").read_text(), before)
        self.assertFalse(self.folder.path.joinpath("seen").exists(), "the shell sees the store")
        self.chat(MARKER, answer="Nor now.")
        for words in (["show", "@last"], ["log", "@last"], ["sessions"]):
            self.run_program(*words)
            self.run_program(*words, "--json")
        self.run_program("export", "@last", "--output", "all.bundle")
        self.session = json.loads(self.run_program("show", "@last", "--json"))["session"]["id"]  # The name of its history file.

    def expect_no_key(self) -> None:
        self.assertEqual(self.server.keys, {f"Bearer {KEY}"})
        self.assertIn(MARKER, self.said)
        self.assertFalse(has_key(self.said.encode()), self.said)
        searched = set()
        for path in self.folder.path.rglob("*"):
            if path.is_file() and path.name != ".key":
                searched.add(path.name)
                self.assertFalse(has_key(path.read_bytes()), path)
        self.assertLessEqual({"store.db", "all.bundle", self.session}, searched)

    def test_a_key_of_the_environment_is_left_nowhere(self):
        self.folder.environment["MODEL_KEY"] = KEY
        self.leave_traces(self.write_agent({"env": "MODEL_KEY"}))
        self.expect_no_key()

    def test_a_key_of_a_file_is_left_nowhere(self):
        self.folder.write(".key", KEY + "\n")
        self.leave_traces(self.write_agent({"file": ".key"}))
        self.expect_no_key()


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
