#!/usr/bin/env python3
"""Runs the crash, property and fuzz tests for long, with seeds nobody chose.

usage: run.py [--minutes N] [--seed N] [--full] [--programs DIR]

Round after round until the time is up, each with the next seed: SIGKILL under load from two
processes, deaths during recovery and while the WAL is written back (other samples each round),
random operation sequences, and the fuzz targets, whose executions are counted. The first failure
ends it, and the command that repeats it is printed.
--full instead sweeps every pair of deaths once, which takes hours.
"""

import argparse
import collections
import os
import pathlib
import re
import secrets
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SAMPLED = "--gtest_filter=UnderLoad.*:*RecoverySweep*:*LargeSweep*"
LOAD_ROUNDS = 200
FUZZ_SECONDS = 30  # for each target, each round


def commands(programs: pathlib.Path, seed: int) -> list[tuple[dict[str, str], list[str]]]:
    crash = [str(programs / "crash_test"), SAMPLED, f"--seed={seed}", f"--rounds={LOAD_ROUNDS}"]
    fuzz = [sys.executable, str(ROOT / "fuzz" / "run.py"), "--runs=0", f"--seconds={FUZZ_SECONDS}", f"--seed={seed}"]
    return [({}, crash), ({"SEED": str(seed)}, [str(programs / "store_property_test")]), ({}, fuzz)]


def run(environment: dict[str, str], command: list[str], executions: collections.Counter) -> bool:
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True)
    if done.returncode == 0:
        for target, count in re.findall(r"^fuzz: (\w+) +(\d+) executions$", done.stdout, re.MULTILINE):
            executions[target] += int(count)
        return True
    words = [f"{name}={value}" for name, value in environment.items()] + command
    print(done.stdout + done.stderr)
    print(f"soak: failed (exit code {done.returncode}). Again:\n  " + " ".join(words))
    return False


def main() -> int:
    parser = argparse.ArgumentParser(description="long crash and property tests")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000_000))
    parser.add_argument("--full", action="store_true", help="every pair of deaths, once")
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build" / "dev" / "tests")
    options = parser.parse_args()
    executions: collections.Counter = collections.Counter()
    if options.full:
        every = [str(options.programs / "crash_test"), "--full", f"--seed={options.seed}"]
        return 0 if run({}, every, executions) else 1

    end = time.monotonic() + 60 * options.minutes
    rounds = 0
    while rounds == 0 or time.monotonic() < end:
        seed = options.seed + rounds
        if not all(run(*command, executions) for command in commands(options.programs, seed)):
            return 1
        rounds += 1
        left = max(0.0, end - time.monotonic()) / 60
        print(f"soak: round {rounds} with seed {seed} passed, {left:.0f} minutes left; "
              f"{sum(executions.values())} fuzz executions so far", flush=True)
    for target, count in sorted(executions.items()):
        print(f"soak: fuzz target {target}: {count} executions, 0 failures")
    return 0


if __name__ == "__main__":
    sys.exit(main())
