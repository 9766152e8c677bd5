#!/usr/bin/env python3
"""Builds the fuzz targets and runs them, up to JOBS at a time.

usage: run.py [--runs N] [--seconds N] [--seed N] [--only NAME] [--jobs N]

Each target starts from its checked-in corpus, fuzz/corpus/<target>, and ends after the given number of runs
or seconds, whichever comes first. New inputs that libFuzzer finds are kept in
build/fuzz/seen/<target> for the next run. A failing input is kept in build/fuzz/found, and the
command that repeats it is printed; once the bug is fixed, add the input to the corpus. The last line
counts the executions.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
BUILD = ROOT / "build" / "fuzz"
TARGETS = ["agent_file", "body", "bundle", "cursor", "hex", "id", "json", "json_schema", "match", "model_stream", "sse", "state", "store_file", "time"]
# Each run opens, reads and writes a store file; the other targets only decode.
SLOW = {"store_file": 20}


def build(jobs: int, targets: list[str]) -> bool:
    commands = [["cmake", "--build", "--preset", "fuzz", "-j", str(jobs), "--target"] + [f"fuzz_{t}" for t in targets]]
    ninja, presets = BUILD / "build.ninja", ROOT / "CMakePresets.json"
    if not ninja.exists() or ninja.stat().st_mtime < presets.stat().st_mtime:
        commands.insert(0, ["cmake", "--preset", "fuzz"])
    for command in commands:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            print(done.stdout[-4000:] + done.stderr[-4000:])
            return False
    return True


def run(target: str, options: argparse.Namespace) -> int:
    """Returns the number of executions, or -1 if one failed."""
    seen, found, corpus = BUILD / "seen" / target, BUILD / "found", HERE / "corpus" / target
    seen.mkdir(parents=True, exist_ok=True)
    found.mkdir(exist_ok=True)
    program = BUILD / "fuzz" / f"fuzz_{target}"
    runs = options.runs // SLOW.get(target, 1) if options.runs > 0 else -1
    command = [str(program), f"-runs={runs}", f"-max_total_time={options.seconds}", f"-seed={options.seed}",
               "-timeout=300", "-rss_limit_mb=4096", "-max_len=4096", "-print_final_stats=1",
               f"-artifact_prefix={found}/{target}-", str(seen), str(corpus)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    counted = re.search(r"stat::number_of_executed_units: +(\d+)", done.stderr)
    if done.returncode or not counted:
        print(done.stderr[-6000:])
        written = re.search(r"Test unit written to (\S+)", done.stderr)
        print(f"fuzz: {target} failed. Again:\n  {program} {written.group(1) if written else ' '.join(command[1:])}")
        return -1
    print(f"fuzz: {target:11} {int(counted.group(1)):9} executions", flush=True)
    return int(counted.group(1))


def main() -> int:
    parser = argparse.ArgumentParser(description="runs the fuzz targets")
    parser.add_argument("--runs", type=int, default=20_000, help="of each target; 0: as many as the time allows")
    parser.add_argument("--seconds", type=int, default=5, help="for each target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=TARGETS)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    targets = [options.only] if options.only else TARGETS
    if not build(options.jobs, targets):
        return 1
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        counts = list(pool.map(lambda target: run(target, options), targets))
    if min(counts) < 0:
        return 1
    print(f"fuzz: {sum(counts)} executions of {len(counts)} targets, 0 failures")
    return 0


if __name__ == "__main__":
    sys.exit(main())
