#!/usr/bin/env python3
"""Runs the crash, power, fault and property tests for long, with seeds nobody chose.

usage: run.py [--minutes N] [--seed N] [--full] [--programs DIR]

Round after round until the time is up, each with the next seed: SIGKILL under load from two
processes, deaths during recovery and while the WAL is written back (other samples each round),
power cuts with several disks each, failing calls and allocations, random operation sequences. The first failure ends it, and the
command that repeats it is printed. --full instead sweeps every pair of deaths and of power cuts,
and every fault, once, which takes hours.
"""

import argparse
import os
import pathlib
import secrets
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SAMPLED = "--gtest_filter=UnderLoad.*:*RecoverySweep*:*LargeSweep*"
LOAD_ROUNDS = 200
DISKS = 4
FULL = ("crash_test", "power_test", "faults_test", "memory_test")


def commands(programs: pathlib.Path, seed: int) -> list[tuple[dict[str, str], list[str]]]:
    crash = [str(programs / "crash_test"), SAMPLED, f"--seed={seed}", f"--rounds={LOAD_ROUNDS}"]
    power = [str(programs / "power_test"), f"--seed={seed}", f"--rounds={DISKS}"]
    faults = [[str(programs / name), f"--seed={seed}"] for name in ("faults_test", "memory_test")]
    return [({}, crash), ({}, power), *(({}, each) for each in faults),
            ({"SEED": str(seed)}, [str(programs / "store_property_test")])]


def full_commands(programs: pathlib.Path, seed: int) -> list[tuple[dict[str, str], list[str]]]:
    return [({}, [str(programs / name), "--full", f"--seed={seed}"]) for name in FULL]


def run(environment: dict[str, str], command: list[str]) -> bool:
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True)
    if done.returncode == 0:
        # What was swept, as the tests count it.
        for line in done.stdout.splitlines():
            if line.endswith(" violations"):
                print(f"soak: {line}", flush=True)
        return True
    words = [f"{name}={value}" for name, value in environment.items()] + command
    print(done.stdout + done.stderr)
    print(f"soak: failed (exit code {done.returncode}). Again:\n  " + " ".join(words))
    return False


def main() -> int:
    parser = argparse.ArgumentParser(description="long crash, power, fault and property tests")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000_000))
    parser.add_argument("--full", action="store_true", help="every pair of deaths and of power cuts, and every fault, once")
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build" / "dev" / "tests")
    options = parser.parse_args()
    if options.full:
        return 0 if all(run(*each) for each in full_commands(options.programs, options.seed)) else 1

    end = time.monotonic() + 60 * options.minutes
    rounds = 0
    while rounds == 0 or time.monotonic() < end:
        seed = options.seed + rounds
        if not all(run(environment, command) for environment, command in commands(options.programs, seed)):
            return 1
        rounds += 1
        left = max(0.0, end - time.monotonic()) / 60
        print(f"soak: round {rounds} with seed {seed} passed, {left:.0f} minutes left", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
