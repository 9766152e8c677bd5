"""Signals: at any moment, the program ends as documented, and the session can be resumed. signals_test.py PERDURE"""

import os
import pty
import re
import signal
import subprocess
import sys
import time
import unittest

from agent_folder import PATIENCE, AgentFolder, Gate, end_of, kill

PROGRAM = ""
EXITS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 143}
MOMENTS = 12
LOOK = {"description": "Looks.", "command": ["/bin/sh", "-c", "echo seen"], "side_effects": ["read"]}


def block() -> None:
    """Blocks signals until main handles them: before that, the default action would end the program."""
    signal.pthread_sigmask(signal.SIG_BLOCK, EXITS)


class SignalsTest(unittest.TestCase):
    def setUp(self):
        self.folder = AgentFolder(PROGRAM)
        self.addCleanup(self.folder.close)

    def signalled(self, number: signal.Signals, moment: float, *words: str) -> tuple[int, str, str]:
        process = self.folder.start(*words, preexec_fn=block)
        try:
            process.wait(moment)
        except subprocess.TimeoutExpired:
            pass
        process.send_signal(number)
        return end_of(process)

    def signalled_in_terminal(self, number: signal.Signals, moment: float, *words: str) -> int:
        here, there = pty.openpty()
        self.addCleanup(os.close, here)
        process = subprocess.Popen(
            [self.folder.program, *words], cwd=self.folder.path, env=self.folder.environment | {"TERM": "xterm"},
            stdin=there, stdout=there, stderr=there, preexec_fn=block,
        )  # fmt: skip
        os.close(there)
        self.addCleanup(kill, process)
        try:
            process.wait(moment)
        except subprocess.TimeoutExpired:
            pass
        process.send_signal(number)
        return process.wait(PATIENCE)

    def write_agent(self) -> str:
        look = {"name": "look", "args": {}}
        return self.folder.write_agent(
            [{"text": "I look.", "calls": [look, look]}, {"calls": [look]}, {"text": "It is done."}], {"look": LOOK}
        )

    def test_whenever_it_comes_the_program_ends_as_documented_and_the_session_goes_on(self):
        agent = self.write_agent()
        at_first = time.monotonic()
        self.assertEqual(self.folder.run("run", agent, "Look").returncode, 0)
        span = time.monotonic() - at_first
        for number, code in EXITS.items():
            for i in range(MOMENTS):
                with self.subTest(f"{number.name} {i}"):
                    said = self.signalled(number, i * span / MOMENTS, "run", agent, "Look")
                    if i == 0:
                        self.assertEqual(said[0], code, said)
                    self.assertIn(said[0], (0, code), said)
                    begun = re.search(r"^Session (ses_\w+)", said[2], re.MULTILINE)
                    if not begun:
                        continue  # It ended before anything was acknowledged.
                    for j in range(3):
                        again = self.signalled(number, j * span / 4, "resume", begun[1])
                        # A read-only call has a limited number of attempts: then it waits for a person.
                        self.assertIn(again[0], (0, 7, code), again)
                    ended = self.folder.run("resume", begun[1])
                    self.assertIn(ended.returncode, (0, 7), ended.stderr)

    def test_any_command_ends_by_the_first_one(self):
        self.assertEqual(self.folder.run("run", self.write_agent(), "Look").returncode, 0)
        for number, code in EXITS.items():
            with self.subTest(number.name):
                watching = self.folder.start("sessions", "--watch")
                watching.stdout.readline()
                watching.send_signal(number)
                self.assertEqual(end_of(watching)[0], code)

    def leave_dead(self, name: str) -> Gate:
        gate = Gate(self.folder, name)
        did = Gate(self.folder, f"{name}.did")
        tool = {
            "description": "Does it.",
            "command": ["/bin/sh", "-c", f"echo did >> book; {did.shell()}"],
            "verify": ["/bin/sh", "-c", f"test -e {name}.asked || {{ touch {name}.asked; {gate.shell()}; }}; cat book"],
            "side_effects": ["write"],
            "verify_timeout": "50s",
        }
        agent = self.folder.write_agent([{"calls": [{"name": "do", "args": {}}]}, {"text": "Done."}], {"do": tool})
        process = self.folder.start("run", agent, "Do it")
        did.await_arrival()
        kill(process)
        return gate

    def test_it_stops_a_resume_that_asks_a_tool_and_the_next_one_goes_on(self):
        for number, code in EXITS.items():
            with self.subTest(number.name):
                gate = self.leave_dead(number.name)
                resuming = self.folder.start("resume", "@last")
                gate.await_arrival()
                resuming.send_signal(number)
                self.assertEqual(end_of(resuming)[0], code)
                said = self.folder.run("resume", "@last")
                self.assertEqual((said.returncode, said.stdout), (0, "Done.\n"), said.stderr)
                self.assertEqual((self.folder.path / "book").read_text(), "did\n")
                (self.folder.path / "book").unlink()

    def test_two_in_quick_succession_end_it_too(self):
        process = self.folder.start("run", self.write_agent(), "Look", preexec_fn=block)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGHUP)
        self.assertEqual(end_of(process)[0], 143)

    def test_a_second_one_while_it_stops_ends_it_too(self):
        gate = Gate(self.folder)
        asked = Gate(self.folder, "asked")
        script = self.folder.write("stubborn.sh", f"stop() {{ {asked.shell()}; }}\ntrap stop TERM\n{gate.shell()}\n")
        stubborn = LOOK | {"command": ["/bin/sh", str(script)]}
        agent = self.folder.write_agent([{"calls": [{"name": "look", "args": {}}]}, {"text": "Done."}], {"look": stubborn})
        process = self.folder.start("run", agent, "Look")
        gate.await_arrival()
        process.send_signal(signal.SIGTERM)
        asked.await_arrival()
        process.send_signal(signal.SIGHUP)
        self.assertEqual(end_of(process)[0], 143)

    def test_whoever_waits_for_a_session_leaves_at_once_and_its_owner_goes_on(self):
        gate = Gate(self.folder)
        slow = LOOK | {"command": ["/bin/sh", "-c", f"{gate.shell()}; echo seen"]}
        agent = self.folder.write_agent([{"calls": [{"name": "look", "args": {}}]}, {"text": "Done."}], {"look": slow})
        owner = self.folder.start("run", agent, "Look")
        gate.await_arrival()
        for number, code in EXITS.items():
            with self.subTest(number.name):
                said = self.signalled(number, 0.3, "resume", "@last", "--wait", "1h")
                self.assertEqual(said[0], code, said)
                self.assertEqual(self.signalled_in_terminal(number, 0.3, "chat", "@last", "--wait", "1h"), code)
        gate.open()
        self.assertEqual(end_of(owner)[:2], (0, "Done.\n"))

    def test_nohup_is_respected(self):
        gate = Gate(self.folder)
        slow = LOOK | {"command": ["/bin/sh", "-c", f"{gate.shell()}; echo seen"]}
        agent = self.folder.write_agent([{"calls": [{"name": "look", "args": {}}]}, {"text": "Done."}], {"look": slow})
        process = self.folder.start("run", agent, "Look", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        gate.await_arrival()
        process.send_signal(signal.SIGHUP)
        gate.open()
        self.assertEqual(end_of(process)[:2], (0, "Done.\n"))

    def test_a_tool_has_its_signals_as_they_are_by_default(self):
        look = LOOK | {"command": ["/bin/grep", "-E", "^Sig(Blk|Ign):", "/proc/self/status"]}
        agent = self.folder.write_agent([{"calls": [{"name": "look", "args": {}}]}, {"text": "Done."}], {"look": look})
        self.assertEqual(self.folder.run("run", agent, "Look").returncode, 0)
        told = self.folder.run("cat", "@last", "--messages").stdout
        for mask in ("SigBlk", "SigIgn"):
            signals = int(re.search(rf"{mask}:\s+([0-9a-f]+)", told)[1], 16)
            self.assertEqual(signals & 0x7FFFFFFF, 0, told)  # Higher ones belong to libc.


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
