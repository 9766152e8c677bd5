#!/usr/bin/env python3
"""Plants small bugs, one at a time, and fails unless a named test catches each of them.

usage: run.py [--only REGEX] [--jobs N] | --check       (--root DIR: of another repository)

mutants.toml has the bugs. The working tree is copied to build/mutants/tree and built
there as `make test` builds it, so that most of it comes from the compiler cache. Then each bug is
planted, the program of its test is built and run, and the bug is removed.

  caught    the program builds, and the named test fails an assertion
  SURVIVED  the named test passes
  ERROR     it does not build, or the test crashes, exits, throws or times out: this proves nothing

--check builds nothing. It checks that every bug can be planted, belongs to a row of
docs/guarantees.md and names a test of that row, and that every row has a bug.
"""

import argparse
import concurrent.futures
import fnmatch
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

MUTANTS_MAX = 100
TEST_SECONDS = 240
TEST_MACRO = re.compile(r"^(?:TEST(?:_P|_F)?|RC_GTEST_PROP)\((\w+),\s*(\w+)", re.MULTILINE)
# A bug may leave a variable unused; it must still build.
WARNINGS = ("parentheses", "unused-but-set-variable", "unused-function", "unused-parameter", "unused-variable")
QUIET = "".join(f'#pragma GCC diagnostic ignored "-W{name}"\n' for name in WARNINGS) + "#line 1\n"
SCRIPT_TARGET = "perdure_program"  # The program that a script test runs.


@dataclass
class Mutant:
    name: str
    breaks: str
    file: str
    find: str
    put: str
    test: str

    def row(self, rows):
        """The row: the bug's name, or its part before the suffix."""
        fitting = [row for row in rows if self.name == row or self.name.startswith(row + "-")]
        return max(fitting, key=len, default=None)


def read_mutants(root):
    with (root / "tests/mutants/mutants.toml").open("rb") as file:
        read = tomllib.load(file)
    unproven = read.pop("rows-without-mutants", {})
    return [Mutant(name, **fields) for name, fields in read.items()], unproven


def read_rows(root):
    """The tests of each row of docs/guarantees.md."""
    rows = {}
    for line in (root / "docs/guarantees.md").read_text().splitlines():
        if line.startswith("| `"):
            cells = line.strip("|").split(" | ")
            rows[cells[0].strip(" `")] = re.findall(r"`([\w.]+)`", cells[-1])
    return rows


def sources_of_tests(root):
    files = [*root.glob("tests/**/*.cpp"), *root.glob("src/**/*_test.cpp")]
    return {f"{suite}.{test}": file for file in files for suite, test in TEST_MACRO.findall(file.read_text())}


def check(root):
    mutants, unproven = read_mutants(root)
    rows, sources = read_rows(root), sources_of_tests(root)
    found = [] if len(mutants) <= MUTANTS_MAX else [f"there are {len(mutants)} mutants; at most {MUTANTS_MAX}"]
    for mutant in mutants:
        path, row, test = root / mutant.file, mutant.row(rows), mutant.test.partition("/")[0]
        times = path.read_text().count(mutant.find) if path.is_file() else 0
        if times != 1 or "\n" in mutant.find:
            found.append(f"{mutant.name}: its text is {times} times in {mutant.file}; it must be there once, in one line")
        if row is None:
            found.append(f"{mutant.name}: not named after a row of docs/guarantees.md")
        elif test not in rows[row]:
            found.append(f"{mutant.name}: {test} is not a test of row {row}")
        if "." in test and test not in sources:
            found.append(f"{mutant.name}: the sources have no test {test}")
    proven = {mutant.row(rows) for mutant in mutants}
    found += [f"row {row} has no mutant, and no reason why not" for row in rows if row not in proven | unproven.keys()]
    found += [f"row {row} needs no reason: it has a mutant, or is gone" for row in unproven if row in proven or row not in rows]
    print("\n".join(found) if found else f"{len(mutants)} mutants of {len(rows)} rows can be planted")
    return 1 if found else 0


def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", **options)


def run_group(command, folder):
    """Runs a command. On a timeout, ends it with its child processes and returns None."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "errors": "replace", "start_new_session": True}
    with subprocess.Popen(command, cwd=folder, **options) as process:
        try:
            said, _ = process.communicate(timeout=TEST_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return None
    return subprocess.CompletedProcess(command, process.returncode, said)


class Tree:
    """A built copy of the repository that holds one bug at a time."""

    def __init__(self, root, jobs):
        self.root, self.jobs = root, jobs
        self.path = root / "build/mutants/tree"
        self.build_path = self.path / "build/dev"
        self.copy()
        done = run(["cmake", "--preset", "dev", "-DCMAKE_EXE_LINKER_FLAGS=-Wl,--strip-debug"], cwd=self.path)
        if done.returncode:
            sys.exit(f"the tree cannot be configured:\n{done.stdout[-4000:]}")
        self.sources = sources_of_tests(self.path)
        commands = json.loads((self.build_path / "compile_commands.json").read_text())
        self.programs = {Path(c["file"]): re.search(r" -o \S*CMakeFiles/([^/]+)\.dir/", c["command"])[1] for c in commands}

    def copy(self):
        """Copies only what changed, so that a second run builds only that."""
        listed = run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=self.root, check=True).stdout
        wanted = {name for name in listed.split("\0") if name and (self.root / name).is_file()}
        for name in wanted:
            source, copy = self.root / name, self.path / name
            if not copy.is_file() or copy.read_bytes() != source.read_bytes():
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, copy)
        for folder, folders, files in os.walk(self.path):
            if Path(folder) == self.path and "build" in folders:
                folders.remove("build")
            for file in (Path(folder) / name for name in files):
                if str(file.relative_to(self.path)) not in wanted:
                    file.unlink()
        if (self.root / "build/deps").is_dir() and not (self.path / "build/deps").is_dir():
            shutil.copytree(self.root / "build/deps", self.path / "build/deps")

    def program(self, test):
        name = test.partition("/")[0]
        if "." not in name:
            return SCRIPT_TARGET
        source = next((self.sources[known] for known in self.sources if fnmatch.fnmatchcase(known, name)), None)
        return self.programs[source] if source else sys.exit(f"there is no test {name}")

    def build(self, targets):
        done = run(["cmake", "--build", str(self.build_path), "-j", str(self.jobs), "--target", *sorted(targets)])
        return None if done.returncode == 0 else done.stdout

    def run_test(self, test):
        """("passed" or "failed" or "ERROR", why)"""
        return self.run_gtest(test) if "." in test else self.run_script(test)

    def run_script(self, test):
        done = run(["ctest", "--test-dir", str(self.build_path), "-R", f"^{test}$", "-V", "--timeout", str(TEST_SECONDS), "--no-tests=error"])
        if done.returncode == 0:
            return "passed", ""
        failed = re.search(r"(FAIL: \S+)", done.stdout) if "***Failed" in done.stdout else None
        return ("failed", failed[1]) if failed else ("ERROR", done.stdout[-1500:])

    def run_gtest(self, test):
        name, _, parameter = test.partition("/")
        pattern = f"*/{name}/{parameter}" if parameter else f"{name}:{name}/*:*/{name}:*/{name}/*"
        with tempfile.NamedTemporaryFile(suffix=".json") as report:
            command = [self.build_path / "tests" / self.program(test), f"--gtest_filter={pattern}", f"--gtest_output=json:{report.name}"]
            done = run_group(command, self.build_path / "tests")
            if done is None:
                return "ERROR", f"{test} takes more than {TEST_SECONDS} s"
            if done.returncode not in (0, 1):
                return "ERROR", f"{test} ends with {done.returncode}:\n{done.stdout[-1500:]}"
            suites = json.loads(report.read() or "{}").get("testsuites", [])
        results = [result for suite in suites for result in suite["testsuite"] if result["status"] == "RUN"]
        failures = [failure["failure"] for result in results for failure in result.get("failures", [])]
        asserted = [failure for failure in failures if re.match(r"\S+\.[ch]pp:\d+\n", failure)]
        if asserted:
            return "failed", re.sub(r".*/", "", asserted[0].partition("\n")[0])
        if failures or done.returncode or not results:
            return "ERROR", failures[0] if failures else f"{test}: no test ran\n{done.stdout[-1500:]}"
        return "passed", ""

    def plant(self, mutant):
        sound = (self.path / mutant.file).read_text()
        if sound.count(mutant.find) != 1:
            return "ERROR", f"its text is {sound.count(mutant.find)} times in {mutant.file}, not once"
        return self.try_out(mutant.file, sound.replace(mutant.find, mutant.put), [mutant.test])

    def try_out(self, file, text, tests):
        """The result of the tests with this text in that file: ("caught" or "SURVIVED" or "ERROR", why)."""
        path = self.path / file
        sound = path.read_text()
        path.write_text(QUIET + text if path.suffix in (".cpp", ".hpp") else text)
        try:
            said = self.build({self.program(test) for test in tests})
            if said is not None:
                return "ERROR", "does not build:\n" + "\n".join(re.findall(r".*error.*", said)[:5])
            for test in tests:
                outcome, why = self.run_test(test)
                if outcome != "passed":
                    return "caught" if outcome == "failed" else outcome, why
            return "SURVIVED", ""
        finally:
            path.write_text(sound)

    def require_green(self, tests):
        """Without a bug the tests must pass, or a failure with one proves nothing."""
        said = self.build({self.program(test) for test in tests})
        if said is not None:
            sys.exit(f"the tree without any bug does not build:\n{said[-4000:]}")
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            outcomes = dict(zip(tests, pool.map(self.run_test, tests)))
        red = [f"{test}: {why}" for test, (outcome, why) in outcomes.items() if outcome != "passed"]
        if red:
            sys.exit("tests that do not pass without any bug:\n" + "\n".join(red))


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent.parent)
    options.add_argument("--only", default="", help="names in which this regular expression is found")
    options.add_argument("--check", action="store_true", help="only whether each can be planted")
    options.add_argument("--jobs", type=int, default=os.cpu_count())
    chosen = options.parse_args()
    if chosen.check:
        return check(chosen.root)
    mutants = [mutant for mutant in read_mutants(chosen.root)[0] if re.search(chosen.only, mutant.name)]
    if not mutants:
        sys.exit("there is no mutant of that name")
    begun = time.monotonic()
    tree = Tree(chosen.root, chosen.jobs)
    # Bugs of one program and one file follow each other, so that less is rebuilt.
    mutants.sort(key=lambda mutant: (tree.program(mutant.test), mutant.file))
    tree.require_green(sorted({mutant.test for mutant in mutants}))
    print(f"built, and green without a bug, after {time.monotonic() - begun:.0f} s", flush=True)
    counts = {"caught": 0, "SURVIVED": 0, "ERROR": 0}
    for number, mutant in enumerate(mutants, 1):
        started = time.monotonic()
        outcome, why = tree.plant(mutant)
        counts[outcome] += 1
        print(f"[{number:3}/{len(mutants)}] {outcome:8} {mutant.name} ({time.monotonic() - started:.0f} s) {why}", flush=True)
    print(f"{', '.join(f'{count} {outcome}' for outcome, count in counts.items())}; {(time.monotonic() - begun) / 60:.0f} min")
    return 0 if counts["caught"] == len(mutants) else 1


if __name__ == "__main__":
    sys.exit(main())
