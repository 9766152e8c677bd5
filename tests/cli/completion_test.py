"""Completion by a real Tab, in a real bash, zsh and fish. completion_test.py PERDURE"""

import json
import os
import pathlib
import re
import sys
import unittest

from agent_folder import AgentFolder
from terminal_test import Terminal

PROGRAM = ""
STARTED = {
    "bash": "exec bash --norc --noprofile -i",
    "zsh": "exec zsh -f",
    "fish": "exec fish --no-config",
}
SOURCES = {
    "bash": "source <(perdure completion bash)",
    "zsh": "autoload -U compinit; compinit -u -D; source <(perdure completion zsh)",
    "fish": "perdure completion fish | source",
}
# As installed: found in a folder, and loaded by the first Tab.
AUTOLOADED = "fpath=($HOME/site $fpath); autoload -U compinit; compinit -u -D"


class CompletionTest(unittest.TestCase):
    def setUp(self):
        self.folder = AgentFolder(PROGRAM)
        self.addCleanup(self.folder.close)
        bin_folder = self.folder.path / "bin"
        bin_folder.mkdir()
        (bin_folder / "perdure").symlink_to(pathlib.Path(PROGRAM).resolve())
        self.folder.environment["PATH"] = f"{bin_folder}:/usr/bin:/bin"
        tool = {"description": "Pays.", "command": ["/bin/true"], "side_effects": ["mutate"]}
        agent = self.folder.write_agent(
            [{"calls": [{"name": "pay", "args": {}}]}], {"pay": tool}, permissions={"mutate": "ask"}
        )
        self.ids = [self.session_of(agent, "store.db") for _ in range(2)]
        self.other = self.session_of(agent, "other.db")

    def session_of(self, agent: str, store: str) -> str:
        said = self.folder.run("run", agent, "Pay", "--store", store, "--json")
        self.assertEqual(said.returncode, 8, said.stderr)
        return json.loads(said.stdout)["session"]

    def lines(self) -> dict[str, str]:
        """What is typed before a Tab, and the resulting line."""
        session, other = self.ids[1], self.ids[0]
        unique = session[: len(os.path.commonprefix([session, other])) + 1]
        pending = json.loads(self.folder.run("pending", "--json").stdout)["items"]
        call = next(each["call"] for each in pending if session in each["call"])
        return {
            "perdure sess": "perdure sessions",
            "perdure --json --store other.db sess": "perdure --json --store other.db sessions",
            "perdure resolve --rea": "perdure resolve --reason",
            f"perdure show {unique}": f"perdure show {session}",
            f"perdure approve {unique}": f"perdure approve {call}",
            f"perdure approve {session}:": f"perdure approve {call}",
            "perdure --store other.db show ses_": f"perdure --store other.db show {self.other}",
            "perdure resolve --as suc": "perdure resolve --as succeeded",
            "perdure run --provider anth": "perdure run --provider anthropic",
            "perdure completion z": "perdure completion zsh",
            "perdure run age": "perdure run agent.yaml",
            "perdure chat age": "perdure chat agent.yaml",
            f"perdure chat {unique}": f"perdure chat {session}",
            "perdure resume @last --agent age": "perdure resume @last --agent agent.yaml",
            "perdure export -o age": "perdure export -o agent.yaml",
        }

    def check(self, shell: str, load: str) -> None:
        terminal = Terminal(self.folder, columns=160)
        self.addCleanup(terminal.close)
        terminal.await_text(r"^\$")
        for number, line in enumerate((STARTED[shell], load)):
            terminal.type(line)
            terminal.press("Enter")
            # Not while typing.
            terminal.type(f"echo rea''dy{number}")
            terminal.press("Enter")
            terminal.await_text(f"^ready{number}")
        for typed, wanted in self.lines().items():
            with self.subTest(f"{shell}: {typed}"):
                terminal.type("clear")
                terminal.press("Enter")
                terminal.type(typed)
                terminal.press("Tab")
                # fish shows a suggestion in grey; typing removes it.
                terminal.type("#")
                terminal.await_text(rf"{re.escape(wanted)} ?#")
                # Not C-c: the signal may arrive before the typed text, and leave it on the line.
                terminal.press("C-u")

    def test_a_session_without_a_title_is_told_by_its_opening(self):
        self.folder.run("rename", self.ids[0], "Refund order 4711")
        said = self.folder.run("complete", "--", "show", "ses_").stdout
        self.assertIn(f"{self.ids[0]}\tRefund order 4711\n", said)
        self.assertIn(f"{self.ids[1]}\tPay\n", said)

    def test_bash(self):
        self.check("bash", SOURCES["bash"])

    def test_zsh(self):
        self.check("zsh", SOURCES["zsh"])

    def test_zsh_where_it_is_installed(self):
        site = self.folder.path / "site"
        site.mkdir()
        (site / "_perdure").write_text(self.folder.run("completion", "zsh").stdout)
        self.check("zsh", AUTOLOADED)

    def test_fish(self):
        self.check("fish", SOURCES["fish"])


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
