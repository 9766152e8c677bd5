#!/usr/bin/env python3
"""Runs the crash, power, fault, damage, property, simulation and fuzz tests for a long time, with fresh seeds.

usage: run.py [--minutes N] [--seed N] [--full] [--programs DIR]

Round after round until the time is up, each with the next seed: SIGKILL under load from two
processes, deaths during recovery and while the WAL is written back (other samples each round),
power cuts with several disks each, failing calls, random operation sequences, simulated lives of
sessions, PostgreSQL servers that are restarted and fail over under load, sessions that move among
processes which are killed and stopped, deaths of sessions among real effects, of whole agents, of the
program that runs them and of a mover between stores, and the fuzz targets, whose executions are counted.
It ends at the first failure, and prints the command that repeats it. --full instead sweeps every pair of
deaths and of power cuts, every fault and every damage once, which takes hours.
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
SAMPLED = "--gtest_filter=*UnderLoad.*:*RecoverySweep*:*LargeSweep*"
LOAD_ROUNDS = 200
DISKS = 4
SEQUENCES = 100
LIVES = 4000  # of the simulation, each round
FUZZ_SECONDS = 30  # for each target, each round
# PostgreSQL: what is done to servers and their clients, and how often in each round.
SERVERS = (("herd_test", "*", 40), ("pg_faults_test", "Restarts.UnderLoad*", 30), ("failover_test", "FailOver.*", 5))
FULL = ("damage_test", "faults_test", "memory_test", "power_test", "crash_test", "agent_sweep_test",
        "effects_test", "copy_test")
# "power: 724 cuts, 969 disks, 0 violations": the summary that a test prints.
SWEPT = re.compile(r"^(?P<who>[^:\n]+): (?P<counts>.+), 0 violations$", re.MULTILINE)

Command = tuple[dict[str, str], list[str]]


def commands(programs: pathlib.Path, seed: int) -> list[Command]:
    crash = [str(programs / "crash_test"), SAMPLED, f"--seed={seed}", f"--rounds={LOAD_ROUNDS}"]
    power = [str(programs / "power_test"), f"--seed={seed}", f"--rounds={DISKS}"]
    faults = [[str(programs / name), f"--seed={seed}"] for name in ("faults_test", "memory_test")]
    fuzz = [sys.executable, str(ROOT / "fuzz" / "run.py"), "--runs=0", f"--seconds={FUZZ_SECONDS}", f"--seed={seed}"]
    damage = [str(programs / "damage_test"), "--gtest_filter=DamageSweep.*", f"--seed={seed}"]
    sequences = {"SEED": str(seed), "PERDURE_PROPERTY_RUNS": str(SEQUENCES)}
    lives = {"SEED": str(seed * LIVES), "PERDURE_PROPERTY_RUNS": str(LIVES)}
    servers = [
        [str(programs / name), f"--gtest_filter={which}", f"--seed={seed}", f"--rounds={rounds}"]
        for name, which, rounds in SERVERS
    ]
    sweeps = [
        [str(programs / "agent_sweep_test"), f"--seed={seed}"],
        [str(programs / "effects_test"), "--gtest_filter=*EffectsSweep*", f"--seed={seed}"],
        [str(programs / "copy_test"), "--gtest_filter=*CopySweep*", f"--seed={seed}"],
    ]
    kills = [sys.executable, str(ROOT / "tests/cli/kills.py"), str(programs.parent / "bin/perdure"), str(programs)]
    kills += ["--kills=200", "--each=5", f"--seed={seed}"]
    begun = [sys.executable, str(ROOT / "tests/cli/begun.py"), str(programs.parent / "bin/perdure")]
    begun += [str(programs / "dies_at_write.so"), "--random=400", f"--seed={seed}"]
    plain = [kills, begun, crash, power, *faults, damage, *servers, *sweeps, fuzz]
    seeded = [(sequences, [str(programs / "store_property_test")]), (lives, [str(programs / "simulation_test")])]
    return [*(({}, each) for each in plain), *seeded]


def full_commands(programs: pathlib.Path, seed: int) -> list[Command]:
    return [({}, [str(programs / name), "--full", f"--seed={seed}"]) for name in FULL]


def run(command: Command, totals: collections.Counter) -> bool:
    environment, words = command
    done = subprocess.run(words, env={**os.environ, **environment}, capture_output=True, text=True)
    if done.returncode != 0:
        again = [f"{name}={value}" for name, value in environment.items()] + words
        print(done.stdout + done.stderr)
        print(f"soak: failed (exit code {done.returncode}). Again:\n  " + " ".join(again))
        return False
    if words[1].endswith("kills.py"):  # How often each phase of a turn was hit.
        print(done.stdout, end="", flush=True)
    for target, count in re.findall(r"^fuzz: (\w+) +(\d+) executions$", done.stdout, re.MULTILINE):
        totals[f"fuzz {target}: executions"] += int(count)
    for swept in SWEPT.finditer(done.stdout):
        for count, what in re.findall(r"(\d+) ([A-Za-z ]*[A-Za-z])", swept["counts"]):
            totals[f"{swept['who']}: {what}"] += int(count)
    return True


def print_counts(totals: collections.Counter) -> None:
    for what, count in sorted(totals.items()):
        print(f"soak: {what:40} {count:>12,}")


def main() -> int:
    parser = argparse.ArgumentParser(description="long tests with random seeds")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000_000))
    parser.add_argument("--full", action="store_true", help="every pair of deaths and cuts, every fault, once")
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build" / "dev" / "tests")
    options = parser.parse_args()
    totals: collections.Counter = collections.Counter()
    end = time.monotonic() + 60 * options.minutes
    rounds = 0
    while rounds == 0 or (not options.full and time.monotonic() < end):
        seed = options.seed + rounds
        todo = full_commands(options.programs, seed) if options.full else commands(options.programs, seed)
        if not all(run(command, totals) for command in todo):
            print_counts(totals)
            return 1
        rounds += 1
        left = max(0.0, end - time.monotonic()) / 60
        print(f"soak: round {rounds} with seed {seed} passed, {left:.0f} minutes left", flush=True)
    print_counts(totals)
    print(f"soak: {rounds} rounds from seed {options.seed}, 0 violations", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
