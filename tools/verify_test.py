#!/usr/bin/env python3
"""Tests the stamps of tools/verify.py, in a repository whose Makefile has trivial parts."""

import contextlib
import io
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import verify

MAKEFILE = """lint clang asan tsan package:
\t@true
mutants:
\t@test ! -e broken
"""


class Verify(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "Makefile").write_text(MAKEFILE)
        (self.root / ".gitignore").write_text("build/\n")
        self.git("init", "--quiet")
        self.commit("first")

    def git(self, *words: str) -> None:
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", "-C", str(self.root), *who, *words], check=True, capture_output=True)

    def commit(self, message: str) -> None:
        self.git("add", "-A")
        self.git("commit", "--quiet", "--allow-empty", "-m", message)

    def verify(self, *words: str) -> tuple[int, str]:
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            code = verify.main(list(words), self.root)
        return code, out.getvalue()

    def line(self, part: str) -> str:
        lines = self.verify("report")[1].splitlines()
        return next(line for line in lines if line.startswith(part + " "))

    def test_a_part_that_never_ran_is_missing(self) -> None:
        code, said = self.verify("report")
        self.assertEqual(code, 1)
        self.assertEqual(said.count("never run"), len(verify.PARTS))

    def test_all_parts_that_passed_on_this_commit_are_good(self) -> None:
        self.assertEqual(self.verify("run")[0], 0)
        code, said = self.verify("report")
        self.assertEqual(code, 0, said)
        self.assertNotIn("stale", said)

    def test_a_part_alone_leaves_its_own_stamp(self) -> None:
        self.assertEqual(self.verify("run", "asan")[0], 0)
        self.assertIn("passed", self.line("asan"))
        self.assertIn("never run", self.line("tsan"))

    def test_a_part_that_fails_is_noted_and_the_rest_runs(self) -> None:
        (self.root / "broken").touch()
        self.commit("broken")
        self.assertEqual(self.verify("run")[0], 1)
        self.assertIn("FAILED", self.line("mutants"))
        self.assertIn("passed", self.line("package"))
        self.assertEqual(self.verify("report")[0], 1)

    def test_a_stamp_of_another_commit_is_stale(self) -> None:
        self.verify("run")
        self.commit("second")
        self.assertIn("stale: another commit is checked out", self.line("lint"))
        self.assertEqual(self.verify("report")[0], 1)

    def test_a_stamp_of_a_changed_tree_is_stale(self) -> None:
        (self.root / "new").touch()
        self.verify("run", "lint")
        self.assertIn("stale: the tree had uncommitted changes", self.line("lint"))

    def test_a_change_after_the_run_makes_it_stale(self) -> None:
        self.verify("run", "lint")
        (self.root / "new").touch()
        self.assertIn("stale: the tree has changed since", self.line("lint"))

    def test_an_unknown_part_is_refused(self) -> None:
        self.assertEqual(self.verify("run", "everything")[0], 2)
        self.assertEqual(self.verify()[0], 2)


if __name__ == "__main__":
    unittest.main()
