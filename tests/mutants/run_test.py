"""The outcomes of run.py (caught, survived, error), on a repository of two files: run_test.py"""

import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import run

RUN = pathlib.Path(run.__file__)

FILES = {
    "CMakePresets.json": """{"version": 6, "configurePresets": [{"name": "dev", "generator": "Ninja",
        "binaryDir": "${sourceDir}/build/dev", "cacheVariables": {"CMAKE_EXPORT_COMPILE_COMMANDS": "ON"}}]}""",
    "CMakeLists.txt": """cmake_minimum_required(VERSION 3.25)
        project(stub LANGUAGES CXX)
        find_package(GTest REQUIRED)
        add_executable(stub_test tests/stub_test.cpp src/stub.cpp)
        set_target_properties(stub_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
        target_link_libraries(stub_test PRIVATE GTest::gtest_main)""",
    "src/stub.cpp": """int begin() { return 1; }
        static const int begun = begin();
        int two() { return 1 + begun; }""",
    "tests/stub_test.cpp": """#include <gtest/gtest.h>
        int two();
TEST(Stub, IsTwo) { EXPECT_EQ(two(), 2); }
        """,
    "docs/guarantees.md": """| row | promise | conditions | tests |
|---|---|---|---|
| `two` | **Two is two.** | Always. | `Stub.IsTwo` |
""",
}
BEGIN, TWO = "int begin() { return 1; }", "return 1 + begun;"
WANTED = {
    "two": (TWO, "return 2 + begun;", "caught"),
    "two-unchanged": (TWO, TWO, "SURVIVED"),
    "two-not-compiled": (TWO, "return 1 + bygone;", "ERROR"),
    "two-crashes-at-start": (BEGIN, "int begin() { __builtin_trap(); }", "ERROR"),
    "two-exits-at-start": (BEGIN, "#include <cstdlib>\nint begin() { std::exit(1); }", "ERROR"),
    "two-throws": (TWO, "if (begun == 1) throw 1;\n  return 1 + begun;", "ERROR"),
}


class MutantsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name, text in FILES.items():
            self.write(name, text)
        subprocess.run(["git", "init", "-q"], cwd=self.root, check=True)
        self.write(".gitignore", "/build/\n")

    def write(self, name: str, text: str) -> None:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)

    def plant(self, mutants: dict[str, tuple[str, str, str]], more: str = "") -> None:
        entry = "[{}]\nbreaks = 'It.'\nfile = 'src/stub.cpp'\nfind = '''{}'''\nput = '''{}'''\ntest = 'Stub.IsTwo'\n"
        text = "".join(entry.format(name, find, put) for name, (find, put, _) in mutants.items())
        self.write("tests/mutants/mutants.toml", text + more)

    def run_it(self, *words: str) -> subprocess.CompletedProcess:
        return subprocess.run([sys.executable, RUN, "--root", self.root, *words], capture_output=True, text=True)

    def test_only_an_assertion_that_fails_counts_as_caught(self):
        self.plant(WANTED)
        said = self.run_it()
        outcomes = dict(line.split("] ")[1].split()[1::-1] for line in said.stdout.splitlines() if line.startswith("["))
        self.assertEqual(outcomes, {name: outcome for name, (_, _, outcome) in WANTED.items()}, said.stdout + said.stderr)
        self.assertEqual(said.returncode, 1)
        self.assertIn("1 caught, 1 SURVIVED, 4 ERROR", said.stdout)

    def test_all_caught_is_success_and_the_sources_are_as_they_were(self):
        self.plant({"two": WANTED["two"]})
        self.assertEqual(self.run_it().returncode, 0)
        self.assertEqual((self.root / "src/stub.cpp").read_text(), FILES["src/stub.cpp"])

    def test_a_test_that_fails_without_a_bug_proves_nothing(self):
        self.write("src/stub.cpp", FILES["src/stub.cpp"].replace(TWO, "return 2 + begun;"))
        self.plant({"two": ("return 2 + begun;", "return 3 + begun;", "")})
        said = self.run_it()
        self.assertEqual(said.returncode, 1)
        self.assertIn("do not pass without any bug", said.stderr)

    def test_a_test_that_takes_too_long_is_an_error(self):
        self.write("tests/stub_test", "#!/bin/sh\nexec sleep 600\n")
        (self.root / "tests/stub_test").chmod(0o755)
        tree = run.Tree.__new__(run.Tree)  # Without building one.
        tree.build_path = self.root
        tree.sources, tree.programs = {"Stub.IsTwo": "stub_test.cpp"}, {"stub_test.cpp": "stub_test"}
        with unittest.mock.patch.object(run, "TEST_SECONDS", 1):
            self.assertEqual(tree.run_test("Stub.IsTwo"), ("ERROR", "Stub.IsTwo takes more than 1 s"))

    def test_a_check_finds_what_cannot_be_planted(self):
        self.plant(WANTED)
        self.assertEqual(self.run_it("--check").returncode, 0)
        for mutants, more, found in (
            ({"two": ("begun", "bygone", "")}, "", "two: its text is 2 times in src/stub.cpp"),
            ({"two": ("three", "four", "")}, "", "two: its text is 0 times"),
            ({"two": WANTED["two"], "three": WANTED["two"]}, "", "three: not named after a row"),
            ({}, "", "row two has no mutant"),
            ({"two": WANTED["two"]}, "[rows-without-mutants]\ntwo = 'It is hard.'\n", "row two needs no reason"),
            ({"two": WANTED["two"]} | {f"two-{n}": WANTED["two"] for n in range(100)}, "", "there are 101 mutants"),
            ({"two": WANTED["two"]}, WRONG_TEST, "two-other: Stub.IsThree is not a test of row two"),
        ):
            with self.subTest(found):
                self.plant(mutants, more)
                said = self.run_it("--check")
                self.assertEqual(said.returncode, 1)
                self.assertIn(found, said.stdout)


WRONG_TEST = f"[two-other]\nbreaks = 'It.'\nfile = 'src/stub.cpp'\nfind = '{TWO}'\nput = ''\ntest = 'Stub.IsThree'\n"

if __name__ == "__main__":
    unittest.main()
