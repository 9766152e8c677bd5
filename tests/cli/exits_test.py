"""Produces every exit code that the reference names. exits_test.py PERDURE"""

import pathlib
import re
import signal
import sys
import unittest

from agent_folder import AgentFolder, Gate, end_of

PROGRAM = ""
# The arguments with which each verb gets as far as opening a store.
ARGUMENTS: dict[str, tuple[str, ...]] = {
    "answer": ("@last", "yes"),
    "approve": ("@last",),
    "backup": ("copy.db",),
    "cancel": ("@last",),
    "cat": ("@last",),
    "check": (),
    "checkpoints": ("@last",),
    "copy": ("other.db", "@last"),
    "delete": ("@last", "--yes"),
    "deny": ("@last", "--reason", "no"),
    "diff": ("@last", "@last"),
    "doctor": (),
    "export": ("@last", "-o", "bundle"),
    "fork": ("@last",),
    "log": ("@last",),
    "move": ("other.db",),
    "pause": ("@last",),
    "pending": (),
    "prune": ("--older-than", "90d", "--yes"),
    "rename": ("@last", "Other"),
    "resolve": ("@last", "--as", "failed", "--reason", "seen"),
    "resume": ("@last",),
    "sessions": (),
    "show": ("@last",),
    "tag": ("@last", "a=b"),
    "timeline": ("@last",),
    "verify": ("@last",),
}
REFERENCE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "reference" / "cli"


def documented_codes() -> set[int]:
    """The exit codes of all commands. Another test checks that these pages are current."""
    pages = [path.read_text(encoding="utf-8") for path in REFERENCE.glob("*.md")]
    return {int(code) for page in pages for code in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)}


def openers() -> set[str]:
    """Commands whose pages list every exit code of opening a store."""
    found = set()
    for path in REFERENCE.glob("*.md"):
        codes = {int(code) for code in re.findall(r"^\| (\d+) \|", path.read_text(encoding="utf-8"), re.MULTILINE)}
        if codes >= {3, 4, 5, 6, 10}:
            found.add(path.stem)
    return found


class ExitsTest(unittest.TestCase):
    def setUp(self):
        self.folder = AgentFolder(PROGRAM)
        self.addCleanup(self.folder.close)

    def greet(self) -> int:
        agent = self.folder.write_agent([{"text": "Good day."}], {})
        return self.folder.run("run", agent, "Hello").returncode

    def call(self, command: str, **agent) -> str:
        spec = {"description": "Does it.", "command": ["/bin/sh", "-c", command], "side_effects": ["write"]}
        calls = [{"calls": [{"name": "do", "args": {}}]}, {"text": "Done."}]
        return self.folder.write_agent(calls, {"do": spec}, **agent)

    def stopped_by(self, number: int) -> int:
        gate = Gate(self.folder, f"gate.{number}")
        agent = self.call(f"trap 'exit 75' TERM; {gate.shell()} & wait")
        process = self.folder.start("run", agent, "Do it")
        gate.await_arrival()
        process.send_signal(number)
        return end_of(process)[0]

    def run_beside_another(self) -> int:
        gate = Gate(self.folder)
        process = self.folder.start("run", self.call(gate.shell()), "Do it")
        gate.await_arrival()
        code = self.folder.run("resume", "@last").returncode
        gate.open()
        self.assertEqual(end_of(process)[0], 0)
        return code

    def of_file(self, *changes: tuple[int, bytes]) -> int:
        self.greet()
        self.change_store(*changes)
        return self.folder.run("sessions").returncode

    def change_store(self, *changes: tuple[int, bytes]) -> None:
        store = pathlib.Path(self.folder.environment["PERDURE_STORE"])
        content = bytearray(store.read_bytes())
        for at, written in changes:
            content[at : at + len(written)] = written
        store.write_bytes(content)

    def refused(self) -> int:
        stranger = {"code": "invalid_argument", "message": "who are you?", "status": 401}
        return self.folder.run("run", self.folder.write_agent([{"fails": [stranger]}], {}), "Hello").returncode

    def failing(self) -> int:
        return self.folder.run("run", self.folder.write_agent([], {}), "Hello").returncode

    def unconfirmed(self) -> int:
        self.greet()
        return self.folder.run("delete", "@last").returncode

    def test_every_code_is_reached(self):
        ways = {
            0: self.greet,
            1: self.failing,
            2: lambda: self.folder.run("sessions", "--colour").returncode,
            3: lambda: self.folder.run("show", "nobody").returncode,
            4: self.refused,
            5: self.run_beside_another,
            6: lambda: self.of_file((0, b"no store")),
            7: lambda: self.folder.run("run", self.call("kill -KILL $$"), "Do it").returncode,
            8: lambda: self.folder.run("run", self.call("true", permissions={"write": "ask"}), "Do it").returncode,
            9: self.unconfirmed,
            10: lambda: self.of_file((60, b"\0\0\x7f\xff")),
            130: lambda: self.stopped_by(signal.SIGINT),
            143: lambda: self.stopped_by(signal.SIGTERM),
        }
        self.assertEqual(documented_codes(), set(ways), "a code that no test reaches, or that no page names")
        for code, way in ways.items():
            with self.subTest(code):
                self.doCleanups()
                self.setUp()
                self.assertEqual(way(), code)

    def test_every_verb_that_opens_a_store_says_how_that_may_end(self):
        self.assertEqual(self.greet(), 0)
        agent = self.folder.write_agent([{"text": "Good day."}], {})
        self.assertEqual(self.folder.run("export", "@last", "-o", "whole").returncode, 0)
        commands = ARGUMENTS | {"run": (agent, "Hello"), "import": ("whole",)}
        # A chat checks for a terminal before it opens a store.
        self.assertEqual(openers() - {"chat"}, set(commands), "a verb that opens a store and is not tried here, or that does not")
        for code, change in ((6, (0, b"no store")), (10, (60, b"\0\0\x7f\xff"))):
            self.greet()
            self.change_store(change)
            for command, arguments in commands.items():
                with self.subTest(command=command, code=code):
                    self.assertEqual(self.folder.run(command, *arguments).returncode, code)
            for end in ("", "-lock"):
                pathlib.Path(self.folder.environment["PERDURE_STORE"] + end).unlink()


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
