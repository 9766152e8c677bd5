"""Unusual and hostile use: closed streams, empty arguments, no home folder, hang-ups, two at once. stranger_test.py PERDURE"""

import json
import os
import pathlib
import pwd
import shlex
import signal
import subprocess
import sys
import unittest

from agent_folder import PATIENCE, AgentFolder, Gate, end_of, kill
from model_server import ModelServer

PROGRAM = ""


class StrangerTest(unittest.TestCase):
    def setUp(self):
        self.folder = AgentFolder(PROGRAM)
        self.addCleanup(self.folder.close)
        self.store = pathlib.Path(self.folder.environment["PERDURE_STORE"])

    def hello(self, *words: str) -> None:
        agent = self.folder.write_agent([{"text": "Good day."}, {"text": "You are welcome."}], {})
        said = self.folder.run("run", agent, "Hello", *words)
        self.assertEqual(said.returncode, 0, said.stderr)

    def shell(self, line: str) -> subprocess.CompletedProcess:
        script = f"perdure() {{ {shlex.quote(PROGRAM)} \"$@\"; }}; {line}"
        return subprocess.run(
            ["bash", "-c", script], cwd=self.folder.path, env=self.folder.environment,
            capture_output=True, text=True, timeout=PATIENCE,
        )  # fmt: skip

    def write_call(self, command: str, **more) -> str:
        spec = {"description": "Does it.", "command": ["/bin/sh", "-c", command], "side_effects": ["write"]} | more
        return self.folder.write_agent([{"calls": [{"name": "do", "args": {}}]}, {"text": "Done."}], {"do": spec})

    def test_what_is_said_into_a_closed_stream_does_not_land_in_the_store(self):
        self.hello()
        files = [self.store, pathlib.Path(f"{self.store}-lock")]
        before = [path.read_bytes() for path in files]
        for closed, code in ((">&-", 1), ("2>&-", 0), ("<&-", 0), ("<&- >&-", 1), ("<&- >&- 2>&-", 1)):
            with self.subTest(closed):
                self.assertEqual(self.shell(f"perdure sessions {closed}").returncode, code)
                self.assertEqual([path.read_bytes() for path in files], before)
        self.assertEqual(self.shell("perdure resume @last Thanks <&- >&- 2>&-").returncode, 1)
        self.assertIn("You are welcome.", self.folder.run("cat", "@last@head").stdout)
        self.assertEqual(self.folder.run("check").returncode, 0)

    def test_an_empty_variable_deletes_nothing(self):
        self.hello()  # The only session; it has no title.
        said = self.shell('perdure delete "$UNSET" --yes')
        self.assertEqual(said.returncode, 2, said.stderr)
        self.assertEqual(self.folder.run("show", "@last").returncode, 0)

    def test_who_never_used_it_is_told_that_there_is_no_store(self):
        del self.folder.environment["PERDURE_STORE"]
        for home in (str(self.folder.path), "/nonexistent"):
            with self.subTest(home):
                self.folder.environment["HOME"] = home
                said = self.folder.run("sessions")
                self.assertEqual((said.returncode, said.stdout), (3, ""), said.stderr)
                self.assertIn(f"there is no store at {home}/", said.stderr)

    def test_without_a_home_in_the_environment_it_is_the_one_on_record(self):
        del self.folder.environment["PERDURE_STORE"]
        del self.folder.environment["HOME"]
        said = self.folder.run("config")
        self.assertIn(f" {pwd.getpwuid(os.getuid()).pw_dir}/.local/share/perdure/store.db", said.stdout)

    def test_of_two_that_resume_at_once_one_runs(self):
        gate = Gate(self.folder)
        done = "echo did >> book"
        verify = ["/bin/sh", "-c", "test -e book && cat book || exit 75"]
        agent = self.write_call(f"test -e begun || {{ touch begun; {gate.shell()}; }}; {done}", verify=verify)
        process = self.folder.start("run", agent, "Do it")
        gate.await_arrival()
        kill(process)
        ends = [end_of(each) for each in [self.folder.start("resume", "@last") for _ in range(4)]]
        codes = sorted(code for code, _, _ in ends)
        self.assertEqual(codes[0], 0, ends)
        self.assertLessEqual(set(codes), {0, 5}, ends)
        self.assertEqual((self.folder.path / "book").read_text(), "did\n")

    def test_a_terminal_that_hangs_up_leaves_a_session_that_goes_on(self):
        gate = Gate(self.folder)
        agent = self.write_call(f"test -e begun || {{ touch begun; {gate.shell()}; }}; echo did", honours_key=True)
        process = self.folder.start("run", agent, "Do it")
        gate.await_arrival()
        process.send_signal(signal.SIGHUP)
        self.assertEqual(end_of(process)[0], 143)
        said = self.folder.run("resume", "@last")
        self.assertEqual((said.returncode, said.stdout), (0, "Done.\n"), said.stderr)

    def test_a_store_that_is_no_file_is_refused_and_left_alone(self):
        agent = self.folder.write_agent([{"text": "Good day."}], {})
        os.mkfifo(self.folder.path / "pipe")
        (self.folder.path / "folder" / "store.db").mkdir(parents=True)
        for place in ("pipe", "folder", "/dev/null", "/dev/full"):
            with self.subTest(place):
                said = self.folder.run("run", agent, "Hello", "--store", place)
                self.assertEqual((said.returncode, said.stdout), (1, ""), said.stderr)
                self.assertRegex(
                    said.stderr, r"\Aperdure: cannot open [^\n]+, and a store is a file\nMore: perdure help \w+\n\Z"
                )
        self.assertEqual([path.name for path in self.folder.path.rglob("*-lock")], [])

    def test_words_that_are_no_text_are_kept_or_refused_and_shown_harmlessly(self):
        self.hello()
        for word in (b"bad\xff", b"\x1b[2Jred", b"two\nlines"):
            with self.subTest(word):
                said = subprocess.run(
                    [PROGRAM, b"rename", b"@last", word], env=self.folder.environment, capture_output=True
                )
                self.assertEqual(said.returncode, 2, said.stderr)
                self.assertNotIn(b"\x1b", said.stderr)
        prompt = b"odd \xff bytes \x1b[2J"
        said = subprocess.run(
            [PROGRAM, b"resume", b"@last", prompt], env=self.folder.environment, capture_output=True
        )
        self.assertEqual((said.returncode, said.stdout), (0, b"You are welcome.\n"), said.stderr)
        shown = subprocess.run([PROGRAM, "timeline", "@last"], env=self.folder.environment, capture_output=True)
        self.assertIn(rb"odd \xff bytes \x1b[2J", shown.stdout)

    def test_an_agent_does_not_choose_the_store_of_the_next_command(self):
        setting = "store = planted.db"
        calls = [
            {"name": "write_file", "args": {"path": ".perdure/config", "content": setting}},
            {"name": "shell", "args": {"command": f"mkdir .perdure; echo '{setting}' > .perdure/config"}},
            {"name": "shell", "args": {"command": f"mkdir d; echo '{setting}' > d/config; mv -T d .perdure"}},
            {"name": "shell", "args": {"command": "echo x > d/x; mv d/x ../../store.db-journal; mv d/x store.db-journal"}},
        ]
        agent = self.folder.write_agent(
            [{"calls": calls}, {"text": "Done."}], {}, roots=[{"path": ".", "writable": True}],
            permissions={"write": "allow", "mutate": "allow", "undeclared": "allow"},
        )  # fmt: skip
        written = json.loads((self.folder.path / agent).read_text())
        (self.folder.path / agent).write_text(json.dumps(written | {"tools": {"files": {}, "shell": {}}}))
        said = self.folder.run("run", agent, "Look around")
        self.assertEqual((said.returncode, said.stdout), (0, "Done.\n"), said.stderr)
        del self.folder.environment["PERDURE_STORE"]
        self.assertNotIn("planted.db", self.folder.run("config").stdout)
        self.assertEqual([path.name for path in self.folder.path.glob(".perdure*")], [])
        self.assertFalse((self.folder.path / "store.db-journal").exists())

    def take_in(self, title: str) -> None:
        """Imports from another user's store into this one."""
        bundle = str(self.folder.path / f"{title}.bundle")
        self.assertEqual(self.folder.run("export", title, "-o", bundle).returncode, 0)
        self.folder.environment["PERDURE_STORE"] = str(self.folder.path / f"{title}.db")
        self.assertEqual(self.folder.run("import", bundle).returncode, 0)

    def test_a_bundle_gets_no_key_for_the_server_that_it_names(self):
        theirs, mine = (ModelServer([{"text": "Good day."}, {"text": "Thanks."}]) for _ in range(2))
        for server in (theirs, mine):
            self.addCleanup(server.close)
        model = ["--model", "small", "--base-url"]
        self.assertEqual(self.folder.run("run", *model, theirs.url, "Hi", "--title", "gift").returncode, 0)
        self.take_in("gift")
        self.folder.environment["OPENAI_API_KEY"] = "sk-4711"
        self.folder.run("fork", "gift", "--title", "heir")
        for name in ("gift", "heir"):
            for words in (["resume", name, "Hello?"], ["resume", name, "Hello?", "--accept-changes"]):
                said = self.folder.run(*words)
                self.assertEqual((said.returncode, said.stdout), (9, ""), said.stderr)
                self.assertIn(f"small at {theirs.url}", said.stderr)
                self.assertIn("--agent FILE", said.stderr)
        self.assertIn(theirs.url, self.folder.run("show", "gift").stdout)
        plan = json.loads(self.folder.run("resume", "gift", "--dry-run", "--json").stdout)
        self.assertIn(theirs.url, plan["agent_error"])
        said = self.folder.run("resume", "gift", "Hello?", "--accept-changes", *model, mine.url)
        self.assertEqual((said.returncode, said.stdout), (0, "Thanks. \n"), said.stderr)
        self.assertEqual((theirs.keys, mine.keys), ({None}, {"Bearer sk-4711"}))
        self.assertEqual(len(theirs.requests), 1)
        said = self.folder.run("resume", "heir", "Hello?", "--accept-agent")
        self.assertEqual((said.returncode, said.stdout), (0, "Thanks. \n"), said.stderr)
        self.assertEqual(theirs.keys, {None, "Bearer sk-4711"}, "somebody said so")

    def test_a_bundle_runs_no_program_that_its_agent_names(self):
        agent = self.write_call("echo did >> book")
        said = self.folder.run("run", agent, "Do it", "--title", "gift")
        self.assertEqual(said.returncode, 0, said.stderr)
        self.folder.run("fork", "gift@1.0", "--title", "again")
        bundle = str(self.folder.path / "both")
        self.folder.run("export", "-o", bundle)
        self.folder.environment["PERDURE_STORE"] = str(self.folder.path / "other.db")
        self.assertEqual(self.folder.run("import", bundle).returncode, 0)
        said = self.folder.run("resume", "again")
        self.assertEqual(said.returncode, 9, said.stderr)
        self.assertIn("agent.yaml", said.stderr)
        self.assertEqual((self.folder.path / "book").read_text(), "did\n")
        self.assertEqual(self.folder.run("resume", "again", "--agent", agent).returncode, 0)
        self.assertEqual((self.folder.path / "book").read_text(), "did\ndid\n")

    def test_what_a_bundle_says_was_done_waits_for_a_person(self):
        agent = self.write_call("echo did >> book; echo refunded", repeat="once_per_store")
        self.assertEqual(self.folder.run("run", agent, "Do it", "--title", "theirs").returncode, 0)
        for title, how, runs in (("believed", "succeeded", "did\n"), ("not", "retry", "did\ndid\n")):
            with self.subTest(how):
                self.folder.environment["PERDURE_STORE"] = str(self.store)
                bundle = str(self.folder.path / f"{title}.bundle")
                self.folder.run("export", "theirs", "-o", bundle)
                self.folder.environment["PERDURE_STORE"] = str(self.folder.path / f"{title}.db")
                self.assertEqual(self.folder.run("import", bundle).returncode, 0)
                said = self.folder.run("run", agent, "Do it", "--title", title)
                self.assertEqual(said.returncode, 7, said.stderr)
                self.assertIn(f"resolve {title} --as", said.stdout + said.stderr.replace(self.call_of(title), title))
                said = self.folder.run("pending", title)
                for part in ("was not accepted", "refunded", "succeeded", "Settle: perdure resolve"):
                    self.assertIn(part, said.stdout + said.stderr)
                settled = self.folder.run("resolve", title, "--as", how, "--reason", "I asked the bank", "--yes")
                self.assertEqual(settled.returncode, 0, settled.stderr)
                self.assertEqual(self.folder.run("resume", title).returncode, 0)
                self.assertEqual((self.folder.path / "book").read_text(), runs)
                self.assertEqual(self.folder.run("check").returncode, 0)

    def call_of(self, title: str) -> str:
        return json.loads(self.folder.run("pending", title, "--json").stdout)["items"][0]["call"]


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
