#!/usr/bin/env python3
"""The benchmark: bench/run.py [--rounds N] [--only NAME] [--quick] [--against BUILD]. `make bench` builds first.

Runs every cell once per round, compares with the bars in bars.json, prints a table, writes all
figures to build/bench/results.json, and fails if a bar is missed. docs/benchmarks.md explains what
is measured and why. With --against, each round also runs another build of Perdure, cell by cell in
turn with this one. A figure with a bar must not be worse than the other build's by more than
report.CHANGE_MAX, or than its own `change_at_most`.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile

import cells
import report
from server import Server

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = ["store_bench", "bare_rows", "limits", "saver_bench", "whole_states", "runtime_bench",
            "agent_bench", "cli_bench", "pglimit", "postgres_cluster", "../bin/perdure"]  # fmt: skip
# Above this, a program that waited for the disk then waits for a core. That hides the cost of the
# library: everything takes one tick of the scheduler.
OTHERS_SHARE_MAX = 0.15


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure Perdure against the physical limits.")
    parser.add_argument("--rounds", type=int, default=5, help="how often each cell runs (5)")
    parser.add_argument("--only", choices=cells.CELLS, action="append", metavar="NAME",
                        help="only this cell; may be repeated: " + ", ".join(cells.CELLS))  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="one round: does it run, roughly how fast")
    parser.add_argument("--against", type=pathlib.Path, metavar="BUILD",
                        help="another release build folder: compare this build's figures with its")  # fmt: skip
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release",
                        help="the build folder that holds the programs (build/release)")  # fmt: skip
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error("--rounds: at least 1")
    if arguments.quick:
        arguments.rounds = 1
    return arguments


def file_system_of(folder: pathlib.Path) -> str:
    """The type of the folder's file system, from /proc/self/mounts."""
    best, kind = "", "unknown"
    for line in pathlib.Path("/proc/self/mounts").read_text().splitlines():
        _, point, this_kind, *_ = line.split()
        inside = point == "/" or str(folder) == point or str(folder).startswith(point + "/")
        if inside and len(point) >= len(best):
            best, kind = point, this_kind
    return kind


def describe_machine(folder: pathlib.Path) -> dict:
    models = [line.split(":", 1)[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
              if line.startswith("model name")]  # fmt: skip
    return {
        "cores": os.cpu_count(),
        "cpu": models[0] if models else platform.machine(),
        "kernel": platform.release(),
        "file_system": file_system_of(folder),
    }


class CpuOfOthers:
    """The share of CPU time that other processes took since this object was created."""

    def __init__(self) -> None:
        self.start = self._read()

    def share(self) -> float:
        (busy, total, own), (busy_before, total_before, own_before) = self._read(), self.start
        others = (busy - busy_before) - (own - own_before)
        return max(0.0, others / max(total - total_before, 1e-9))

    @staticmethod
    def _read() -> tuple[float, float, float]:
        user, nice, system, idle, waiting, *rest = map(
            int, pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:9]
        )
        busy = user + nice + system + sum(rest)  # rest: interrupts and steal time
        ticks = os.sysconf("SC_CLK_TCK")
        return busy / ticks, (busy + idle + waiting) / ticks, sum(os.times()[:4])


def progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def run_rounds(benches: list[cells.Bench], names: list[str], rounds: int) -> list[list[dict]]:
    """Per bench, the figures of each round. The benches alternate at every cell."""
    all_figures: list[list[dict]] = [[] for _ in benches]
    for number in range(rounds):
        figures: list[cells.Figures] = [{} for _ in benches]
        order = list(enumerate(benches))
        for name in names:
            progress(f"round {number + 1} of {rounds}: {name}")
            for index, bench in reversed(order) if number % 2 else order:
                bench.reverse = number % 2 == 1
                with tempfile.TemporaryDirectory(dir=bench.scratch) as folder:
                    figures[index] |= cells.CELLS[name](bench, pathlib.Path(folder))
        for kept, found in zip(all_figures, figures, strict=True):
            kept.append(found)
    progress("")
    return all_figures


def write_results(path: pathlib.Path, machine: dict, rows: list[report.Row]) -> None:
    results = {
        "finished_at": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "machine": machine,
        "figures": {row.name: report.to_json(row) for row in rows},
    }
    path.write_text(json.dumps(results, indent=2) + "\n")


def main() -> int:
    arguments = parse_arguments()
    builds = [build / "bench" for build in (arguments.build, arguments.against) if build]
    programs = builds[0]
    missing = [str(build / name) for build in builds for name in PROGRAMS if not (build / name).exists()]
    if missing:
        print(f"not built: {', '.join(missing)}. Run `make bench`.", file=sys.stderr)
        return 2
    output = ROOT / "build/bench"
    output.mkdir(parents=True, exist_ok=True)
    machine = describe_machine(output)
    # The server's files are in the system's temporary folder: its user may not enter ours.
    for folder, what in (output, "the build folder"), (tempfile.gettempdir(), "the temporary folder (TMPDIR)"):
        if file_system_of(pathlib.Path(folder)) in {"tmpfs", "ramfs"}:
            print(f"{what} is on a RAM disk: a sync costs nothing there, so there is nothing to measure", file=sys.stderr)
            return 2

    others = CpuOfOthers()
    bars = json.loads((ROOT / "bench/bars.json").read_text())
    names = [name for name in cells.CELLS if not arguments.only or name in arguments.only]
    try:
        with (
            tempfile.TemporaryDirectory(dir=output, prefix="scratch-") as scratch,
            Server(programs / "postgres_cluster") as server,
        ):
            generator = ROOT / "bench/gen_workload.py"
            benches = [cells.Bench(build, pathlib.Path(scratch), generator, server) for build in builds]
            figures = run_rounds(benches, names, arguments.rounds)
            rows = report.judge(bars, figures[0])
            changes = report.compare(bars, *figures) if arguments.against else []
    except (cells.Failed, subprocess.SubprocessError) as error:
        progress("")
        print(f"bench: {error}", file=sys.stderr)
        return 1
    machine["cpu_share_of_others"] = round(others.share(), 3)
    write_results(output / "results.json", machine, rows)
    report.print_table(rows)
    report.print_changes(changes)
    missed = [row.name for row in rows if row.verdict == "miss"]
    missed += [f"{change.name} against the other build" for change in changes if change.is_worse]
    rounds = f"{arguments.rounds} round{'s' if arguments.rounds > 1 else ''}"
    verdict = f"missed: {', '.join(missed)}" if missed else "every bar held"
    print(f"\n{rounds}; {verdict}. All figures: build/bench/results.json")
    if machine["cpu_share_of_others"] > OTHERS_SHARE_MAX:
        print(f"Others took {machine['cpu_share_of_others']:.0%} of this machine's CPU meanwhile: "
              "the timings are not to be trusted. Run it on a quiet machine.")  # fmt: skip
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
