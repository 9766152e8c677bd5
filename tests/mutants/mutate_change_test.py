"""Which bugs mutate_change.py creates, and for which lines: mutate_change_test.py"""

import pathlib
import subprocess
import tempfile
import unittest

from mutate_change import changed_lines, mutations_of


def others(line: str) -> list[str]:
    return [other for _, other in mutations_of(line)]


class MutateChangeTest(unittest.TestCase):
    def test_a_condition_is_turned_round_and_its_operators_are_exchanged(self):
        made = others("  if (first && size >= 3) return 7;")
        self.assertIn("  if (!(first && size >= 3)) return 7;", made)
        self.assertIn("  if (first || size >= 3) return 7;", made)
        self.assertIn("  if (first && size > 3) return 7;", made)
        self.assertIn("  if (first && size >= 4) return 7;", made)

    def test_an_initialiser_stays_as_it_is(self):
        self.assertEqual(others("  if (auto row = read(id); !row) return forward(row);"), ["  if (auto row = read(id); !(!row)) return forward(row);"])

    def test_a_statement_is_removed_or_not_reached(self):
        self.assertEqual(others("  held.commit(draft);"), ["  ;", "  if (true) return {};\n  held.commit(draft);"])
        self.assertIn("  ;", others("  row.status = Status::paused;"))
        self.assertEqual(others("  return held.commit(draft);"), ["  return {};"])

    def test_strings_templates_and_comments_stay_as_they_are(self):
        self.assertEqual(others('  const auto text = std::vector<int>{name("a && b 1")};'), [])
        self.assertEqual(others("  // One && two, or 3."), [])
        self.assertEqual(others('#include "core/time.hpp"'), [])

    def test_only_changed_lines_of_sources_that_are_no_tests_are_mutated(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "src").mkdir()
            files = [root / "src/a.cpp", root / "src/a_test.cpp"]
            git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com"]
            for file in files:
                file.write_text("one;\ntwo;\nthree;\n")
            for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "one"]):
                subprocess.run([*git, *words], cwd=root, check=True)
            for file in files:
                file.write_text("one;\nother;\nthree;\nfour;\n")
            self.assertEqual(list(changed_lines(root, "HEAD")), [("src/a.cpp", 2), ("src/a.cpp", 4)])


if __name__ == "__main__":
    unittest.main()
