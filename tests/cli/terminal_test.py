"""The program in a real terminal (tmux): picker, chat, Ctrl-C, bars, narrow and wide. terminal_test.py PERDURE"""

import json
import os
import pathlib
import re
import select
import shlex
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

from agent_folder import PATIENCE, AgentFolder, Gate

PROGRAM = ""


class Terminal:
    """One window of a separate tmux server, with a shell in it."""

    def __init__(self, folder: AgentFolder, columns: int = 100, rows: int = 30):
        self._socket = str(folder.path / f"tmux.{columns}")
        environment = folder.environment | {"TERM": "xterm-256color", "PS1": "$ ", "LC_ALL": "C.UTF-8"}
        self._tmux(
            "-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows), "-c", str(folder.path),
            "env", "-i", *(f"{name}={value}" for name, value in environment.items()), "/bin/bash", "--norc", "--noprofile",
        )  # fmt: skip
        output = folder.path / f"output.{columns}"
        os.mkfifo(output)
        self._output = os.open(output, os.O_RDWR | os.O_NONBLOCK)
        self.written = b""  # Everything that programs wrote to it, including what scrolled away.
        self._tmux("pipe-pane", f"cat > {shlex.quote(str(output))}")

    def _tmux(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", self._socket, *words], capture_output=True, text=True, timeout=PATIENCE, check=True
        )
        return done.stdout

    def _shell(self) -> int:
        return int(self._tmux("display-message", "-p", "#{pane_pid}"))

    def children(self) -> list[int]:
        """The processes that the shell runs."""
        shell = self._shell()
        return [int(pid) for pid in pathlib.Path(f"/proc/{shell}/task/{shell}/children").read_text().split()]

    def close(self) -> None:
        """Returns when the shell and its processes have ended: they hold files of the folder."""
        watched = [os.pidfd_open(pid) for pid in (self._shell(), *self.children())]
        self._tmux("kill-server")
        for each in watched:
            select.select([each], [], [], PATIENCE)
            os.close(each)
        os.close(self._output)

    def type(self, text: str) -> None:
        self._tmux("send-keys", "-l", text)

    def press(self, *keys: str) -> None:
        self._tmux("send-keys", *keys)

    def screen(self) -> str:
        return self._tmux("capture-pane", "-p")

    def colours(self) -> str:
        return self._tmux("capture-pane", "-p", "-e")

    def await_text(self, pattern: str) -> str:
        """Checks again after each output."""
        deadline = time.monotonic() + PATIENCE
        while not re.search(pattern, screen := self.screen(), re.MULTILINE):
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"{pattern} is not on the screen:\n{screen}")
            if select.select([self._output], [], [], left)[0]:
                self.written += os.read(self._output, 1 << 16)
        return screen

    def resize(self, columns: int) -> None:
        self._tmux("resize-window", "-x", str(columns))


class TerminalTest(unittest.TestCase):
    def setUp(self):
        self.folder = AgentFolder(PROGRAM)
        self.addCleanup(self.folder.close)
        bin_folder = self.folder.path / "bin"
        bin_folder.mkdir()
        (bin_folder / "perdure").symlink_to(pathlib.Path(PROGRAM).resolve())
        self.folder.environment["PATH"] = f"{bin_folder}:/usr/bin:/bin"

    def terminal(self, columns: int = 100) -> Terminal:
        terminal = Terminal(self.folder, columns)
        self.addCleanup(terminal.close)
        terminal.await_text(r"^\$")
        return terminal

    def hello(self) -> str:
        return self.folder.write_agent([{"text": "Good day."}, {"text": "You are welcome."}, {"text": "Bye."}], {})

    def test_a_run_streams_and_says_how_each_step_went(self):
        self.folder.write_agent(
            [{"text": "I look.", "calls": [{"name": "look", "args": {}}]}, {"text": "It is paid."}],
            {"look": {"description": "Looks.", "command": ["/bin/echo", "paid"], "side_effects": ["read"]}},
        )
        for columns in (60, 200):
            with self.subTest(columns):
                terminal = self.terminal(columns)
                terminal.type("perdure run agent.yaml 'Look' && echo over")
                terminal.press("Enter")
                screen = terminal.await_text("^over$")
                self.assertIn("I look.\n", screen)
                self.assertIn("It is paid.\n", screen)
                step = next(line for line in screen.splitlines() if line.startswith(" 1.2"))
                self.assertRegex(step, r"tool +look +read_only +✓ succeeded +\d")
                self.assertNotIn("runs…", screen)
                self.assertIn("\x1b[32m", terminal.colours())

    def test_a_locked_store_is_waited_for_aloud_and_left_by_one_ctrl_c(self):
        agent = self.hello()
        self.assertEqual(self.folder.run("run", agent, "Hi").returncode, 0)
        other = sqlite3.connect(self.folder.environment["PERDURE_STORE"], isolation_level=None)
        self.addCleanup(other.close)
        other.execute("BEGIN EXCLUSIVE")
        terminal = self.terminal()
        terminal.type("perdure run agent.yaml Again; echo left=$?")
        terminal.press("Enter")
        terminal.await_text("^Waiting for .*, which another program keeps locked")
        terminal.press("C-c")
        terminal.await_text("left=130$")
        other.execute("ROLLBACK")
        self.assertEqual(self.folder.run("sessions", "--jsonl").stdout.count("\n"), 1)

    def test_what_a_tool_says_is_shown_while_it_runs_and_acts_on_nothing(self):
        gate = Gate(self.folder)
        says = r"printf 'first\n'; printf 'half \033[31mdone\033]0;gotcha\007\n' >&2"
        self.folder.write_agent(
            [{"calls": [{"name": "look", "args": {}}]}, {"text": "It is paid."}],
            {
                "look": {
                    "description": "Looks.",
                    "command": ["/bin/sh", "-c", f"{says}; {gate.shell()}; echo paid"],
                    "side_effects": ["read"],
                }
            },
        )
        terminal = self.terminal()
        terminal.type("perdure run agent.yaml 'Look' && echo over")
        terminal.press("Enter")
        terminal.await_text(r"look runs… half \\x1b\[31mdone")
        gate.await_arrival()
        gate.open()
        screen = terminal.await_text("^over$")
        self.assertNotIn("runs…", screen)
        self.assertNotIn(b"\x1b]0;gotcha", terminal.written)

    def test_a_chat_is_edited_and_kept(self):
        self.hello()
        terminal = self.terminal()
        terminal.type("perdure chat agent.yaml")
        terminal.press("Enter")
        terminal.await_text("^> *$")
        terminal.type("Hxello")
        terminal.press("Left", "Left", "Left", "Left", "BSpace", "Enter")
        terminal.await_text(r"Good day\.")
        terminal.await_text("^> *$")
        terminal.press("Up")
        terminal.await_text("^> Hello$")
        terminal.press("C-u")
        terminal.type("/cost")
        terminal.press("Enter")
        terminal.await_text("1 turn, 1 step")
        terminal.type("/quit")
        terminal.press("Enter")
        # Text typed before the shell has its terminal back is lost.
        terminal.await_text(r"Go on: perdure chat ses_\w+\s+\$ *$")
        terminal.type("clear; perdure chat @last")
        terminal.press("Enter")
        terminal.await_text("^Recovered ses_")
        terminal.await_text("^> *$")
        terminal.press("Up", "Up", "Up")
        terminal.await_text("^> Hello$")
        terminal.press("Enter")
        terminal.await_text(r"You are welcome\.")
        terminal.await_text("^> *$")
        terminal.press("C-d")
        terminal.await_text("Go on: perdure chat ses_")

    def said_in_a_chat(self, settings: str, *typed: bytes, columns: int = 100) -> list[str]:
        """What is recorded of lines typed with these environment variables."""
        self.hello()
        terminal = self.terminal(columns)
        terminal.type(f"clear; env {settings} perdure chat agent.yaml")
        terminal.press("Enter")
        for line, answer in zip(typed, ("Good day", "You are welcome", "Bye")):
            terminal.await_text("^> *$")
            terminal.press("-H", *(f"{byte:02x}" for byte in line + b"\r"))
            terminal.await_text(rf"{answer}\.[^>]*\n> *$")
        log = json.loads(self.folder.run("--json", "log", "@last", "--channel", "transcript").stdout)
        bodies = [entry["body"] for entry in log["items"] if entry["kind"] == "message"]
        return [body["blocks"][0]["text"] for body in bodies if body["role"] == "user"]

    def test_a_chat_keeps_what_is_typed_in_any_locale(self):
        line = "Grüße an Jürgen: 5 €"
        ways = ("LC_ALL=C", "-u LC_ALL -u LANG", "LC_ALL=xx_XX.UTF-8", "LC_ALL=C.UTF-8", "LOCPATH=/nonexistent")
        for columns, settings in enumerate(ways, start=100):
            with self.subTest(settings):
                said = self.said_in_a_chat(settings, line.encode(), b"Thanks", columns=columns)
                self.assertEqual(said, [line, "Thanks"])

    def test_a_chat_drops_no_byte_in_silence(self):
        said = self.said_in_a_chat("LC_ALL=C.UTF-8", b"a\xff\xfe\xc3(b", b"\xe2\x82c \xc3\xbc")
        self.assertEqual(said, ["a\ufffd\ufffd\ufffd(b", "\ufffdc ü"])

    def test_a_chat_that_is_killed_is_kept(self):
        self.hello()
        terminal = self.terminal()
        terminal.type("perdure chat agent.yaml; echo left with $?")
        terminal.press("Enter")
        terminal.await_text("^> *$")
        terminal.type("Hello")
        terminal.press("Enter")
        terminal.await_text(r"Good day\.[^>]*\n> *$")
        for pid in terminal.children():
            os.kill(pid, signal.SIGKILL)
        terminal.await_text("left with 137")
        terminal.type("clear; perdure chat @last")
        terminal.press("Enter")
        terminal.await_text("^Recovered ses_")
        terminal.await_text("^> *$")
        terminal.type("Thanks")
        terminal.press("Enter")
        terminal.await_text(r"You are welcome\.")

    def test_in_a_chat_questions_are_answered_and_calls_allowed_or_denied(self):
        pay = {"name": "pay", "args": {"order": "4711"}}
        ask = {"name": "ask_user", "args": {"question": "Which colour?"}}
        tools = {"pay": {"description": "Pays.", "command": ["/usr/bin/touch", "paid"], "side_effects": ["write"]}}
        self.folder.write_agent(
            [{"calls": [ask]}, {"calls": [pay]}, {"calls": [pay]}, {"calls": [pay]}, {"text": "All is done."}],
            tools,
            asks=True,
            permissions={"write": "ask"},
        )
        terminal = self.terminal()
        terminal.type("perdure chat agent.yaml")
        terminal.press("Enter")
        for typed, shown in (
            ("Paint it", r"Asks: Which colour\?\nNext: type the answer.*\n> *$"),
            ("/approve", r"It asks a question: type the answer\.\n> *$"),
            ("Blue", r"Asks: pay .*4711.*\nNext: yes \(or /approve\), or no .*\n> *$"),
            ("And thank you", r"Kept, and told once pay is allowed or refused\.[\s\S]*Next: yes .*\n> *$"),
            ("no", r"pay +unsafe +– denied[\s\S]*Asks: pay .*\nNext: yes .*\n> *$"),
            ("/deny", r"Say why, for the model: /deny REASON\n> *$"),
            ("/deny too early", r"pay +unsafe +– denied[\s\S]*Next: yes .*\n> *$"),
            ("yes", r"pay +unsafe +✓ succeeded[\s\S]*All is done\.\n.*\n> *$"),
            ("/approve", r"No call waits for a word\.\n> *$"),
        ):
            terminal.await_text(r"> *$")
            terminal.type(typed)
            terminal.press("Enter")
            terminal.await_text(shown)
        self.assertTrue((self.folder.path / "paid").exists())
        self.assertIn("Blue", self.folder.run("log", "@last", "--channel", "approvals").stdout)

    def chat_in_a_turn(self) -> Terminal:
        """A chat whose tool runs until it is asked to stop."""
        gate = Gate(self.folder)
        command = f"trap 'exit 75' TERM; {gate.shell()} & wait"
        self.folder.write_agent(
            [{"text": "I wait.", "calls": [{"name": "wait", "args": {}}]}, {"text": "Enough."}],
            {"wait": {"description": "Waits.", "command": ["/bin/sh", "-c", command], "side_effects": ["read"]}},
        )
        terminal = self.terminal()
        terminal.type("perdure chat agent.yaml; echo left with $?")
        terminal.press("Enter")
        terminal.await_text("^> *$")
        terminal.type("Wait")
        terminal.press("Enter")
        gate.await_arrival()
        return terminal

    def test_the_first_ctrl_c_stops_the_turn_the_second_leaves(self):
        terminal = self.chat_in_a_turn()
        terminal.press("C-c")
        terminal.await_text(r"Stopped .interrupted.[^>]*\n> *$")
        terminal.type("/cost")  # Still visible.
        terminal.press("Enter")
        terminal.await_text(r"steps, [^>]*\n> *$")
        terminal.press("C-c")
        terminal.await_text("again leaves")
        terminal.press("C-c")
        terminal.await_text("left with 130")

    def test_a_chat_that_is_ended_in_a_turn_leaves_at_once(self):
        terminal = self.chat_in_a_turn()
        for pid in terminal.children():
            os.kill(pid, signal.SIGTERM)
        terminal.await_text(r"Go on: perdure chat ses_\w+\s+left with 143")

    def test_ctrl_c_at_the_prompt_leaves_only_if_it_is_repeated(self):
        self.hello()
        terminal = self.terminal()
        terminal.type("perdure chat agent.yaml; echo left with $?")
        terminal.press("Enter")
        terminal.await_text("^> *$")
        terminal.press("C-c")
        terminal.await_text("Ctrl-C again leaves")
        terminal.type("Hello")
        terminal.press("Enter")
        terminal.await_text(r"Good day\.\n.*\n> *$")  # An empty prompt is already there.
        terminal.press("C-c")
        # The kernel would merge two undelivered signals into one.
        terminal.await_text(r"again leaves[\s\S]*again leaves[^>]*\n> *$")
        terminal.press("C-c")
        terminal.await_text("left with 130")

    def test_a_session_is_picked_by_typing_or_with_arrows(self):
        agent = self.hello()
        for title in ("Weekly report", "Refund order 4711", "Refund order 4712"):
            self.assertEqual(self.folder.run("run", agent, "Hello", "--title", title).returncode, 0)
        terminal = self.terminal()
        terminal.type("perdure resume; echo left with $?")
        terminal.press("Enter")
        terminal.await_text("Resume which session")
        terminal.await_text("> .*Refund order 4712")
        terminal.press("Down")
        terminal.await_text("> .*Refund order 4711")
        terminal.type("week")
        screen = terminal.await_text("> .*Weekly report")
        self.assertNotIn("4711", screen)
        terminal.press("Enter")
        screen = terminal.await_text("left with 0")
        self.assertIn("Recovered ses_", screen)
        self.assertNotIn("Resume which session", screen)
        terminal.type("clear; perdure resume; echo left with $?")
        terminal.press("Enter")
        terminal.await_text("Resume which session")
        terminal.press("C-c")
        terminal.await_text("left with 130")

    def test_a_picker_that_is_ended_gives_the_terminal_back(self):
        self.assertEqual(self.folder.run("run", self.hello(), "Hello").returncode, 0)
        terminal = self.terminal()
        terminal.type("stty -a > before; perdure resume; echo left with $?; stty -a | diff before - && echo as before")
        terminal.press("Enter")
        terminal.await_text("Resume which session")
        for pid in terminal.children():
            os.kill(pid, signal.SIGTERM)
        screen = terminal.await_text("left with 143\nas before")
        self.assertNotIn("Resume which session", screen)

    def test_in_the_picker_a_state_and_an_age_stand_apart(self):
        unsafe = {"description": "Pays.", "command": ["/bin/sh", "-c", "kill -9 $$"], "side_effects": ["write"]}
        agent = self.folder.write_agent([{"calls": [{"name": "pay", "args": {}}]}], {"pay": unsafe})
        self.assertEqual(self.folder.run("run", agent, "Pay").returncode, 7)
        terminal = self.terminal()
        terminal.type("perdure resume")
        terminal.press("Enter")
        terminal.await_text("^> ! needs attention (now|\\d+s ago) +Pay$")
        terminal.press("C-c")

    def test_tables_and_the_picker_fit_narrow_and_wide(self):
        agent = self.hello()
        titles = [f"{name} order 4711 of a customer who waits for a chair since Monday" for name in ("Refund", "Find")]
        for title in titles:
            self.assertEqual(self.folder.run("run", agent, "Hello", "--title", title).returncode, 0)
        for columns in (60, 200):
            with self.subTest(columns):
                terminal = self.terminal(columns)
                terminal.type("clear; perdure sessions && echo over")
                terminal.press("Enter")
                lines = terminal.await_text("^over$").splitlines()
                heading = next(i for i, line in enumerate(lines) if line.startswith("STATE"))
                self.assertEqual(lines[heading + 3], "over")  # Two rows are two lines.
                self.assertEqual("TOKENS" in lines[heading], columns == 200)
                self.assertEqual(titles[0] in lines[heading + 2], columns == 200)
                self.assertEqual("…" in lines[heading + 2], columns == 60)
                self.assertRegex(lines[heading + 2], "✓ completed .*Refund.*(now| ago)$")
                terminal.type("clear; perdure resume; echo left")
                terminal.press("Enter")
                lines = terminal.await_text("^  .*Refund").splitlines()
                heading = next(i for i, line in enumerate(lines) if line.startswith("Resume which"))
                self.assertRegex(lines[heading + 1], "^> .*Find order")
                self.assertRegex(lines[heading + 2], "^  .*Refund order")
                self.assertEqual(lines[heading + 2].endswith("since Monday"), columns == 200)
                terminal.press("C-c")
                self.assertNotIn("Refund", terminal.await_text("^left$"))

    def test_a_watched_list_follows_what_changes_and_the_terminal(self):
        agent = self.hello()
        title = "Refund order 4711 of a customer who waits"
        self.folder.run("run", agent, "Hello", "--title", title)
        terminal = self.terminal(120)
        terminal.type("perdure sessions --watch; echo left")
        terminal.press("Enter")
        self.assertIn(f" {title} ", terminal.await_text("TOKENS"))
        self.folder.run("run", agent, "Hello", "--title", "Weekly report")
        screen = terminal.await_text("Weekly report")
        self.assertEqual(screen.count("STATE"), 1)
        self.folder.run("rename", "Weekly report", "Daily report")
        self.assertNotIn("Weekly", terminal.await_text("Daily report"))
        terminal.resize(60)
        screen = terminal.await_text("Refund ord.*…")
        self.assertNotIn("TOKENS", screen)
        terminal.press("C-c")
        terminal.await_text(r"\^Cleft$")  # It ends with an exit code, as every command does.

    def test_long_work_shows_a_bar_that_is_gone_when_it_is_done(self):
        # How much is enough depends on the machine: more is added until it is.
        with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as place:
            self.folder.environment["PERDURE_STORE"] = f"{place}/store.db"
            agent = self.hello()
            terminal = self.terminal()
            for work in range(1, 8):
                for _ in range(2**work):
                    self.assertEqual(self.folder.run("run", agent, "-", input="word\n" * 10**6).returncode, 0)
                terminal.type(f"clear; perdure export --output {place}/{work}.bundle && echo over {work}")
                terminal.press("Enter")
                screen = terminal.await_text(f"^over {work}$")
                if "exporting █".encode() in terminal.written:
                    break
            else:
                self.fail("no progress bar appeared")
            self.assertNotIn("█", screen)
            self.assertIn("Exported", screen)
            said = self.folder.run("export", "--output", f"{place}/pipe.bundle")
            self.assertEqual(said.returncode, 0, said.stderr)
            self.assertNotIn("exporting", said.stdout + said.stderr)

    def test_a_changed_agent_is_asked_about(self):
        agent = self.hello()
        self.folder.run("run", agent, "Hello")
        self.folder.write_agent([{"text": "Good day."}, {"text": "You are kind."}], {}, system_prompt="Be kind.")
        terminal = self.terminal()
        terminal.type("perdure resume @last 'Thanks'; echo left with $?")
        terminal.press("Enter")
        terminal.await_text(r"\[y/N\]")
        terminal.press("n", "Enter")
        terminal.await_text("left with 9")
        terminal.type("clear; perdure resume @last 'Thanks'; echo left with $?")
        terminal.press("Enter")
        terminal.await_text(r"\[y/N\]")
        terminal.press("y", "Enter")
        self.assertIn("You are kind.", terminal.await_text("left with 0"))


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
