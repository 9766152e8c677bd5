"""Runs the demonstration with few deaths, for people and for scripts: demo_test.py PROGRAM."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else pathlib.Path()


def run(*arguments: str, temp: str) -> subprocess.CompletedProcess:
    environment = {**os.environ, "TMPDIR": temp}
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, env=environment, timeout=100)


class Demo(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.temp = self.folder.name

    def test_json_says_that_nothing_was_lost(self):
        done = run("--kills", "6", "--seed", "7", "--json", temp=self.temp)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        said = json.loads(done.stdout)
        self.assertIs(said["good"], True)
        self.assertEqual((said["kills"], said["seed"], said["troubles"]), (6, 7, []))
        self.assertGreater(said["acknowledged"], 0)
        self.assertGreaterEqual(said["on_disk"], said["acknowledged"])
        self.assertEqual(said["entries"], 3 * said["on_disk"])
        self.assertGreater(said["recovery_ms_min"], 0)
        self.assertLessEqual(said["recovery_ms_min"], said["recovery_ms_median"])
        for fault in ("missing", "doubled", "reordered", "changed"):
            self.assertEqual(said[fault], 0)
        self.assertEqual(os.listdir(self.temp), [], "the demonstration leaves files behind")

    def test_json_says_that_nothing_was_done_twice(self):
        done = run("--kills", "1", "--json", temp=self.temp)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        said = json.loads(done.stdout)
        self.assertEqual((said["session_deaths"], said["verified"], said["in_doubt"]), (2, 1, 1))
        self.assertEqual((said["charges"], said["emails"]), (1, 1))
        self.assertEqual((said["model_requests"], said["spent_micros"]), (3, 3 * 4_200))

    def test_text_is_for_a_person_and_free_of_control_characters(self):
        done = run("--kills", "2", temp=self.temp)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("Nothing is missing, doubled or reordered.", done.stdout)
        self.assertIn("make test", done.stdout)
        lines = done.stdout.splitlines()
        for expected in (
            "  life 2  verify      the bank is asked by the call's key: it has the charge",
            "  life 3  in doubt    send_email: nobody can tell whether it took effect; the session waits",
            '    the call        send_email {"to":"ann","text":"Invoice 7 is paid."}',
            "    said            succeeded, by demo: looked into the outbox",
            "          answer      Invoice 7 is paid, and Ann knows.",
        ):
            self.assertIn(expected, lines)
        self.assertRegex(done.stdout, r"seed \d+")
        self.assertNotRegex(done.stdout, r"[\x00-\x09\x0b-\x1f]")

    def test_a_kept_store_can_be_looked_at_and_is_not_written_over(self):
        path = os.path.join(self.temp, "kept.db")
        done = run("--kills", "1", "--keep", path, temp=self.temp)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"sqlite3 {path} ", done.stdout)
        self.assertTrue(os.path.exists(path))
        self.assertEqual(run("--kills", "1", "--keep", path, temp=self.temp).returncode, 2)

    def test_nonsense_is_refused_with_the_usage(self):
        for nonsense in (["--kills"], ["--kills", "many"], ["--sed", "1"]):
            done = run(*nonsense, temp=self.temp)
            self.assertEqual(done.returncode, 2)
            self.assertIn("usage:", done.stderr)


if __name__ == "__main__":
    unittest.main()
