#!/usr/bin/env python3
"""Plants small bugs, one at a time, and fails if the tests stay green.

usage: run.py [--only NAME] [--in PATH] [--list | --check [--tests BUILD]] [--jobs N]

Each tests/mutants/NAME.patch opens with the guarantee it breaks, then one or more lines

    test: TARGET REGEX

naming a test executable and the tests (a ctest regular expression) of which at least one must go
red. The repository, as it is in the working tree, is copied to build/mutants/tree and built there
once; then each patch is applied, its targets are built, its tests run, and the patch is taken back.
A patch that does not apply, does not build, or names a test that does not exist is a failure too;
--check looks only whether they apply, and with --tests whether a build has tests of those names; it
builds nothing.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TREE = ROOT / "build" / "mutants" / "tree"
BUILD = ROOT / "build" / "mutants" / "build"
TEST_SECONDS = 120


class Mutant:
    def __init__(self, path):
        self.path = path
        self.name = path.stem
        head, self.change = path.read_text().split("\n--- ", 1)
        head = head.splitlines()
        self.guarantee = head[0]
        self.tests = [line.split(None, 2)[1:] for line in head if line.startswith("test: ")]
        if not self.tests or any(len(test) != 2 for test in self.tests):
            sys.exit(f"{path.name}: needs at least one line 'test: TARGET REGEX'")

    def changes(self, place):
        return any(place in line for line in self.change.splitlines() if line.startswith("+++ "))


def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)


def copy_tree():
    """Copies only what changed, so that a second run builds only that."""
    listed = run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, check=True).stdout
    wanted = {name for name in listed.split("\0") if name and (ROOT / name).is_file()}
    for name in wanted:
        source, copy = ROOT / name, TREE / name
        if copy.is_file() and copy.read_bytes() == source.read_bytes():
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, copy)
    for copy in [path for path in TREE.rglob("*") if path.is_file()]:
        if str(copy.relative_to(TREE)) not in wanted:
            copy.unlink()


def configure(jobs, targets):
    presets = ["cmake", "-S", str(TREE), "-B", str(BUILD), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
               "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1", "-DPERDURE_BUILD_BENCH=OFF", "-DPERDURE_WERROR=OFF",
               f"-DPERDURE_SQLITE_SOURCE={ROOT / 'build' / 'deps' / 'sqlite-3.53.4'}"]
    for command in (presets, ["cmake", "--build", str(BUILD), "-j", str(jobs), "--target", *targets]):
        done = run(command)
        if done.returncode:
            sys.exit(f"the tree without any mutant does not build:\n{done.stdout[-4000:]}")


def patch(mutant, *flags, tree=TREE):
    return run(["patch", "-p1", "--force", "--no-backup-if-mismatch", *flags, "-i", str(mutant.path)], cwd=tree)


def run_tests(regex, jobs):
    command = ["ctest", "--test-dir", str(BUILD), "-R", regex, "-j", str(jobs), "--timeout", str(TEST_SECONDS),
               "--no-tests=error", "--stop-on-failure"]
    return run(command)


def try_out(mutant, jobs):
    """Returns what caught it, and if nothing did, why not."""
    for target, regex in mutant.tests:
        built = run(["cmake", "--build", str(BUILD), "-j", str(jobs), "--target", target])
        if built.returncode:
            return None, "does not build:\n" + built.stdout[-2000:]
        tested = run_tests(regex, jobs)
        if "No tests were found" in tested.stdout:
            return None, f"no test matches {regex}"
        if re.search(r"\d+% tests passed, [1-9]\d* tests failed", tested.stdout):
            failed = re.search(r"FAILED:\s+\d+ - (.+)", tested.stdout)
            return failed.group(1) if failed else regex, None
    return None, "survived: the tests stay green"


def attempt(mutant, jobs):
    applied = patch(mutant, "--dry-run")
    if applied.returncode:
        return None, "does not apply:\n" + applied.stdout
    patch(mutant)
    try:
        return try_out(mutant, jobs)
    finally:
        patch(mutant, "--reverse")


def nameless(mutants, build):
    """The tests they name that this build has not."""
    listed = run(["ctest", "--test-dir", str(build), "--show-only"], check=True).stdout
    names = re.findall(r"^ +Test +#\d+: (.+)$", listed, re.MULTILINE)
    wanted = {regex for mutant in mutants for _, regex in mutant.tests}
    return sorted(regex for regex in wanted if not any(re.search(regex, name) for name in names))


def check(mutants, build):
    stale = {mutant.name: said for mutant in mutants
             if (said := patch(mutant, "--dry-run", tree=ROOT)).returncode}
    for name, said in stale.items():
        print(f"{name} does not apply:\n{said.stdout}")
    print(f"{len(mutants) - len(stale)} of {len(mutants)} apply")
    missing = nameless(mutants, build) if build else []
    for regex in missing:
        print(f"no test matches {regex}")
    return 1 if stale or missing else 0


def healthy(mutants, jobs):
    """The named tests must be green without a mutant, or catching one means nothing."""
    regex = "|".join(sorted({regex for mutant in mutants for _, regex in mutant.tests}))
    tested = run_tests(regex, jobs)
    if tested.returncode:
        sys.exit(f"tests fail without any mutant:\n{tested.stdout[-4000:]}")


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--only", help="names in which this regular expression is found")
    options.add_argument("--in", dest="place", help="that change a file whose path contains this")
    options.add_argument("--list", action="store_true")
    options.add_argument("--check", action="store_true", help="only whether each applies")
    options.add_argument("--tests", type=Path, metavar="BUILD", help="with --check: also whether it has their tests")
    options.add_argument("--jobs", type=int, default=os.cpu_count())
    chosen = options.parse_args()
    mutants = [Mutant(path) for path in sorted(HERE.glob("*.patch"))]
    mutants = [m for m in mutants if not chosen.only or re.search(chosen.only, m.name)]
    mutants = [m for m in mutants if not chosen.place or m.changes(chosen.place)]
    if chosen.list:
        for mutant in mutants:
            print(f"{mutant.name:40} {mutant.guarantee}")
        return 0
    if not mutants:
        sys.exit("there is no mutant of that name")
    if chosen.check:
        return check(mutants, chosen.tests)
    copy_tree()
    configure(chosen.jobs, sorted({target for mutant in mutants for target, _ in mutant.tests}))
    healthy(mutants, chosen.jobs)
    survivors = 0
    for number, mutant in enumerate(mutants, 1):
        started = time.monotonic()
        caught_by, why_not = attempt(mutant, chosen.jobs)
        survivors += why_not is not None
        print(f"[{number:2}/{len(mutants)}] {'caught  ' if why_not is None else 'SURVIVED'} {mutant.name}"
              f"  ({time.monotonic() - started:.0f} s){'' if why_not else ' by ' + caught_by}", flush=True)
        if why_not:
            print(f"        {mutant.guarantee}\n        {why_not}", flush=True)
    print(f"{len(mutants) - survivors} passed, {survivors} failed")
    return 1 if survivors else 0


sys.exit(main())
