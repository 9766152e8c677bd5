"""Failures around a store: a full disk, other programs, no permission, damage. failures_test.py PERDURE

Each gives one clear message and its exit code, and loses nothing that was acknowledged.
"""

import fcntl
import json
import os
import pathlib
import shlex
import shutil
import sqlite3
import subprocess
import sys
import unittest

from agent_folder import PATIENCE, AgentFolder, end_of

PROGRAM = ""
NOTES = 8
DISK = 8 << 20
NOBODY = 65534


class FailuresTest(unittest.TestCase):
    def setUp(self):
        self.folder = AgentFolder(PROGRAM)
        self.addCleanup(self.folder.close)
        self.path = self.folder.path

    def write_notes(self) -> str:
        """An agent that writes long notes, one after the other; the ledger records them."""
        book = self.path / "book"
        note = f'note=$(cat); echo "$note" >> {book}; echo noted'
        look = f'note=$(cat); grep -qxF "$note" {book} || exit 75; echo noted'
        spec = {
            "description": "Notes it.",
            "command": ["/bin/sh", "-c", note],
            "verify": ["/bin/sh", "-c", look],
            "side_effects": ["write"],
        }
        calls = [{"text": "x" * 20000, "calls": [{"name": "note", "args": {"op": n}}]} for n in range(NOTES)]
        return self.folder.write_agent([*calls, {"text": "All is noted."}], {"note": spec})

    def book(self) -> list[int]:
        return [json.loads(line)["op"] for line in (self.path / "book").read_text().splitlines()]

    def filled(self) -> None:
        agent = self.folder.write_agent([{"text": "Good day."}, {"text": "You are welcome."}], {})
        self.assertEqual(self.folder.run("run", agent, "Hello", "--title", "Greeting").returncode, 0)

    def one_message(self, said: subprocess.CompletedProcess, code: int, *hints: str) -> None:
        self.assertEqual((said.returncode, said.stdout), (code, ""), said.stderr)
        self.assertRegex(said.stderr, r"\Aperdure: [^\n]+\nMore: perdure help \w+\n\Z")
        for hint in hints:
            self.assertIn(hint, said.stderr)


class FullDiskTest(FailuresTest):
    """The store is on a small RAM disk, in a separate mount namespace."""

    def on_small_disk(self, script: str) -> None:
        disk = self.path / "disk"
        disk.mkdir()
        self.folder.environment["PERDURE_STORE"] = str(disk / "store.db")
        (self.path / "script.sh").write_text(f"perdure() {{ {shlex.quote(PROGRAM)} \"$@\"; }}\n{script}")
        words = ["bwrap", "--dev-bind", "/", "/", "--size", str(DISK), "--tmpfs", disk, "bash", "script.sh"]
        done = subprocess.run(
            words, cwd=self.path, env=self.folder.environment, capture_output=True, text=True, timeout=PATIENCE
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def read(self, name: str) -> str:
        return (self.path / name).read_text()

    def lines(self, name: str) -> list[dict]:
        return [json.loads(line) for line in self.read(name).splitlines()]

    def test_what_was_recorded_stays_and_goes_on_once_there_is_room(self):
        # KiB. The store itself needs most of it, so the disk gets full at different writes of the turn.
        for room in (640, 800, 960, 1120):
            with self.subTest(room):
                self.doCleanups()
                self.setUp()
                agent = self.write_notes()
                self.on_small_disk(
                    f"""
                    head -c {DISK - (room << 10)} /dev/zero > disk/ballast
                    perdure run {agent} Note --jsonl > run 2> run.err; echo $? > run.code
                    perdure resume @last > resume 2> resume.err; echo $? > resume.code
                    perdure log @last --jsonl > full.log
                    perdure doctor > doctor 2>&1
                    rm disk/ballast
                    perdure resume @last > again 2> again.err; echo $? > again.code
                    perdure log @last --jsonl > all.log
                    perdure check > check 2>&1; echo $? > check.code
                    """
                )
                self.assertEqual(self.read("run.code"), "1\n", self.read("run.err"))
                end = json.loads(self.read("run").splitlines()[-1])["run"]
                self.assertIn("no space left on the disk that holds", end["why"])
                self.assertRegex(end["next"], "^perdure resume ses_")
                self.assertEqual((self.read("resume.code"), self.read("resume")), ("1\n", ""))
                self.assertIn("nothing that was committed is lost", self.read("resume.err"))
                told = [event["head"] for event in self.lines("run") if event["event"] == "recorded"]
                self.assertRegex(self.read("doctor"), r"no space left|warning +space: 0 MiB are free")
                kept = self.lines("full.log")
                self.assertGreaterEqual(len(kept), max(told))
                self.assertEqual(self.lines("all.log")[: len(kept)], kept)
                self.assertEqual((self.read("again.code"), self.read("again")), ("0\n", "All is noted.\n"))
                self.assertEqual(self.book(), list(range(NOTES)))
                self.assertEqual(self.read("check.code"), "0\n", self.read("check"))

    def test_a_store_that_has_no_room_at_all_is_made_later(self):
        agent = self.write_notes()
        self.on_small_disk(
            f"""
            head -c {DISK} /dev/zero > disk/ballast
            perdure run {agent} Note > run 2> run.err; echo $? > run.code
            rm disk/ballast
            perdure run {agent} Note > again 2> again.err; echo $? > again.code
            """
        )
        self.assertEqual((self.read("run.code"), self.read("run")), ("1\n", ""))
        self.assertRegex(self.read("run.err"), r"\Aperdure: [^\n]*[Nn]o space left[^\n]*\nMore: perdure help \w+\n\Z")
        self.assertEqual((self.read("again.code"), self.read("again")), ("0\n", "All is noted.\n"))

    def test_a_file_that_may_not_grow_is_an_error_and_no_death(self):
        agent = self.write_notes()
        limit = f"ulimit -f 700; exec {shlex.quote(PROGRAM)} run {agent} Note"
        said = subprocess.run(
            ["bash", "-c", limit], cwd=self.path, env=self.folder.environment, capture_output=True, text=True
        )
        self.assertEqual((said.returncode, said.stdout), (1, ""), said.stderr)
        self.assertIn("ulimit -f", said.stderr)
        self.assertIn("nothing that was committed is lost", said.stderr)
        again = self.folder.run("resume", "@last")
        self.assertEqual((again.returncode, again.stdout), (0, "All is noted.\n"), again.stderr)
        self.assertEqual(self.book(), list(range(NOTES)))


class StoreInUseTest(FailuresTest):
    def ends_of(self, *commands: list[str]) -> list[tuple[int, str, str]]:
        """Runs all at once: each waits for the lock as long as allowed."""
        return [end_of(process) for process in [self.folder.start(*words) for words in commands]]

    def test_who_gets_no_turn_to_write_says_so(self):
        self.filled()
        before = self.folder.run("log", "@last", "--jsonl").stdout
        writes = [["run", "agent.yaml", "Hello"], ["resume", "@last", "Thanks"], ["rename", "@last", "Other"]]
        with open(self.folder.environment["PERDURE_STORE"] + "-lock", "r+b") as lock:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0)  # The byte that a writer locks.
            for code, out, err in self.ends_of(*writes, ["sessions"]):
                self.assertEqual((code, out), (5, ""), err)
                self.assertRegex(err, r"\Aperdure: no turn to write within \d+ ms: [^\n]+\nMore: perdure help \w+\n\Z")
        self.assertEqual(self.folder.run("log", "@last", "--jsonl").stdout, before)
        self.assertEqual(self.folder.run("resume", "@last", "Thanks").stdout, "You are welcome.\n")

    def test_another_program_that_holds_the_database_is_named(self):
        self.filled()
        other = sqlite3.connect(self.folder.environment["PERDURE_STORE"], isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        [(code, out, err)] = self.ends_of(["rename", "@last", "Other"])
        other.execute("ROLLBACK")
        other.close()
        self.assertEqual((code, out), (5, ""), err)
        self.assertIn("another program holds the file", err)
        self.assertEqual(self.folder.run("rename", "@last", "Other").returncode, 0)


class ReadOnlyTest(FailuresTest):
    def as_somebody(self, *words: str) -> subprocess.CompletedProcess:
        """Runs as an unprivileged user, because root ignores file permissions."""
        drop = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if os.getuid() == 0 else []
        return subprocess.run(
            [*drop, self.path / "perdure", *words],
            cwd=self.path, env=self.folder.environment, capture_output=True, text=True, timeout=PATIENCE,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def test_a_store_that_may_not_be_written_stays_as_it_is(self):
        self.filled()
        shutil.copy(PROGRAM, self.path / "perdure")
        os.chmod(self.path, 0o755)
        place = self.path / "shelf"
        place.mkdir()
        store = place / "store.db"
        self.assertEqual(self.folder.run("backup", str(store)).returncode, 0)
        self.folder.environment["PERDURE_STORE"] = str(store)
        before = store.read_bytes()
        for file_mode, folder_mode in ((0o444, 0o777), (0o666, 0o555)):
            os.chmod(store, file_mode)
            os.chmod(place, folder_mode)
            for words in (
                ["run", "agent.yaml", "Hello"],
                ["resume", "@last", "Thanks"],
                ["rename", "@last", "Other"],
                ["delete", "@last", "--yes"],
                ["sessions"],
            ):
                with self.subTest(words=words, file=oct(file_mode)):
                    self.one_message(self.as_somebody(*words), 4, "may not be read and written by you")
        self.assertEqual(os.listdir(place), ["store.db"])
        self.assertEqual(store.read_bytes(), before)
        os.chmod(place, 0o755)
        self.assertEqual(self.folder.run("resume", "@last", "Thanks").stdout, "You are welcome.\n")


class DamageTest(FailuresTest):
    def setUp(self):
        super().setUp()
        agent = self.folder.write_agent([{"text": f"Good day. {'y' * 9000}"}, {"text": "You are welcome."}], {})
        for title in ("Greeting", "Other"):
            self.assertEqual(self.folder.run("run", agent, f"{title}!", "--title", title).returncode, 0)
        self.store = pathlib.Path(self.folder.environment["PERDURE_STORE"])

    def test_a_damaged_message_is_named_and_does_not_spread(self):
        content = bytearray(self.store.read_bytes())
        content[content.index(b"Greeting!", content.index(b"blocks")) + 8] ^= 1
        self.store.write_bytes(content)
        for verb in ("timeline", "log"):
            said = self.folder.run(verb, "Greeting")
            self.assertEqual(said.returncode, 6, said.stderr)
            self.assertIn("damaged", said.stdout)
            self.assertRegex(said.stderr, r"\Aperdure: 1 entry of ses_\w+ cannot be read, at \d+: [^\n]+\nMore: [^\n]+\n\Z")
            self.assertEqual(self.folder.run(verb, "Greeting", "--json").returncode, 6)
        self.assertEqual(self.folder.run("show", "Greeting").returncode, 0)
        for words in ([], ["--messages"], ["--messages", "-q"]):
            said = self.folder.run("cat", "Greeting", *words)
            self.assertEqual(said.returncode, 6, said.stderr)
            self.assertIn("Good day.", said.stdout)
            self.assertRegex(said.stderr, r"\Aperdure: 1 entry of ses_\w+ cannot be read, at \d+: [^\n]+\nMore: [^\n]+\n\Z")
        self.assertEqual(self.folder.run("cat", "Greeting", "--json").returncode, 6)
        self.assertEqual(self.folder.run("cat", "Other", "--messages").returncode, 0)
        said = self.folder.run("resume", "Greeting", "Thanks")
        self.assertEqual((said.returncode, said.stdout), (6, ""), said.stderr)
        self.assertRegex(said.stderr, r"\Aperdure: session ses_\w+ is damaged at position \d+: [^\n]+--accept-damage\n")
        said = self.folder.run("resume", "Greeting", "Thanks", "--accept-damage")
        self.assertEqual((said.returncode, said.stdout), (0, "You are welcome.\n"), said.stderr)
        self.assertRegex(said.stderr, r"Damaged:   1 entry, at \d+; it continues without")
        said = self.folder.run("resume", "Other", "Thanks")
        self.assertEqual((said.returncode, said.stdout), (0, "You are welcome.\n"), said.stderr)
        self.assertNotIn("Damaged", said.stderr)
        said = self.folder.run("check", "--json")
        self.assertEqual(said.returncode, 6)
        named = {finding["session"] for finding in json.loads(said.stdout)["damage"]}
        greeting = json.loads(self.folder.run("show", "Greeting", "--json").stdout)["session"]["id"]
        self.assertEqual(named, {greeting})

    def test_a_damaged_session_is_exported_only_if_that_is_wanted(self):
        content = bytearray(self.store.read_bytes())
        content[content.index(b"Greeting!", content.index(b"blocks")) + 8] ^= 1
        self.store.write_bytes(content)
        self.one_message(self.folder.run("export", "Greeting", "-o", "refused.bundle"), 6)
        self.assertFalse((self.path / "refused.bundle").exists())
        said = self.folder.run("export", "Greeting", "Other", "-o", "all.bundle", "--with-damage")
        self.assertEqual(said.returncode, 0, said.stderr)
        self.one_message(self.folder.run("import", "all.bundle", "--store", "new.db"), 6, "was damaged")
        said = self.folder.run("import", "all.bundle", "--store", "new.db", "--with-damage")
        self.assertEqual(said.returncode, 0, said.stderr)
        shown = {title: self.folder.run("timeline", title, "--store", "new.db").stdout for title in ("Greeting", "Other")}
        self.assertIn("damaged", shown["Greeting"])
        self.assertNotIn("damaged", shown["Other"])
        for title in shown:
            self.assertIn("Good day.", shown[title])

    def test_a_page_that_is_gone_is_said_and_the_rest_is_saved(self):
        content = bytearray(self.store.read_bytes())
        page = int.from_bytes(content[16:18], "big")
        begin = content.index(b"Greeting!", content.index(b"blocks")) // page * page
        content[begin : begin + page] = bytes(page)
        self.store.write_bytes(content)
        for words in (["resume", "Greeting", "Thanks"], ["run", "agent.yaml", "Hello"], ["fork", "Greeting@1"]):
            with self.subTest(words):
                said = self.folder.run(*words)
                self.one_message(said, 6, "check names what is damaged, salvage saves")
        self.assertEqual(self.folder.run("timeline", "Greeting").returncode, 6)
        self.assertEqual(self.folder.run("log", "Greeting").returncode, 6)
        for words in (["sessions"], ["show", "Greeting"]):
            self.assertEqual(self.folder.run(*words).returncode, 0, words)
        self.assertEqual(self.folder.run("check").returncode, 6)
        self.assertEqual(self.folder.run("salvage", str(self.store), "saved.db").returncode, 6)
        saved = self.folder.run("sessions", "--store", "saved.db")
        self.assertIn("Other", saved.stdout)

    def test_a_newer_format_is_refused_and_untouched(self):
        content = bytearray(self.store.read_bytes())
        content[60:64] = b"\0\0\x7f\xff"  # The offset of SQLite's user_version.
        self.store.write_bytes(content)
        for words in (["sessions"], ["run", "agent.yaml", "Hello"], ["resume", "@last"], ["rename", "@last", "New"]):
            with self.subTest(words):
                self.one_message(self.folder.run(*words), 10)
        self.assertEqual(self.store.read_bytes(), content)


class ReaderGoneTest(FailuresTest):
    def test_a_turn_goes_on_without_its_reader(self):
        agent = self.write_notes()
        for reader in ("head -1", "true"):
            line = f"{shlex.quote(PROGRAM)} run {agent} Note --jsonl | {reader}; exit ${{PIPESTATUS[0]}}"
            said = subprocess.run(
                ["bash", "-c", line], cwd=self.path, env=self.folder.environment, capture_output=True, text=True
            )
            self.assertEqual(said.returncode, 0, said.stderr)
            self.assertNotIn("perdure:", said.stderr)
        self.assertEqual(self.book(), 2 * list(range(NOTES)))
        states = [row["state"] for row in json.loads(self.folder.run("sessions", "--json").stdout)["items"]]
        self.assertEqual(states, ["completed", "completed"])

    def test_a_timeline_ends_quietly_with_its_reader(self):
        self.write_notes()
        self.assertEqual(self.folder.run("run", "agent.yaml", "Note").returncode, 0)
        line = f"{shlex.quote(PROGRAM)} timeline @last | head -1; exit ${{PIPESTATUS[0]}}"
        said = subprocess.run(
            ["bash", "-c", line], cwd=self.path, env=self.folder.environment, capture_output=True, text=True
        )
        self.assertEqual((said.returncode, said.stderr), (0, ""))
        self.assertRegex(said.stdout, r"\ASTEP[^\n]*\n\Z")

    def test_a_turn_is_kept_though_its_answer_cannot_be_written(self):
        self.filled()
        with open("/dev/full", "w") as full:
            said = subprocess.run(
                [PROGRAM, "resume", "@last", "Thanks"], cwd=self.path, env=self.folder.environment,
                stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE, text=True,
            )  # fmt: skip
        self.assertEqual(said.returncode, 1)
        self.assertIn("perdure: the output cannot be written", said.stderr)
        self.assertIn("You are welcome.", self.folder.run("cat", "@last@head").stdout)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
