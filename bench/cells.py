"""The measurements: each cell runs our side and its comparators once, on the same turns.

A cell returns {name in bars.json: (ours, the comparator's or None)}. The order of the programs
is reversed in every other round, so that drift during a cell affects both sides.
"""

import json
import os
import pathlib
import statistics
import subprocess
from collections.abc import Callable

from cli_cells import measure_cli_resume, measure_cli_sessions, measure_cli_timeline
from server import Server

TURNS = 1000  # of the single session; also for size and load
GROUP_SESSIONS, GROUP_TURNS = 64, 100
GATED_TURNS = 25  # of those sessions, with a call each
PROCESSES, PROCESS_SESSIONS, PROCESS_TURNS = 4, 16, 50
LOADS = 5
UPKEEP_MEGABYTES = 1024
LONG_MEGABYTES = 100  # of text, in the session that is resumed
SAVER_FRESH = 5  # of the turns, each put by a separate process
SECONDS_MAX = 600  # for one program; a disk of a busy machine can be slow

Figures = dict[str, tuple[float, float | None]]


class Failed(Exception):
    """A program failed, or the two sides did not do the same work."""


class Bench:
    """The programs, a scratch folder with the workload in it, and a PostgreSQL server."""

    def __init__(self, programs: pathlib.Path, scratch: pathlib.Path, generator: pathlib.Path, server: Server):
        self.programs = programs
        self.perdure = programs.parent / "bin/perdure"
        self.server = server
        self.scratch = scratch
        self.workload = scratch / "workload.tsv"
        self.reverse = False
        subprocess.run(
            ["python3", str(generator), str(self.workload), str(TURNS)],
            check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip

    def command(self, program: str, *words: object) -> list[str]:
        return [str(self.programs / program), *map(str, words)]

    def run_on_server(self, program: str, *words: object) -> dict:
        self.server.settle()
        return self.run(program, *words)

    def run(self, program: str, *words: object) -> dict:
        """The JSON line that the program printed. Dirty pages of earlier programs are written out first."""
        os.sync()
        command = self.command(program, *words)
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX)
        if done.returncode != 0:
            raise Failed(f"{program} {words[0]} ended with {done.returncode}: {done.stderr.strip()}")
        result = json.loads(done.stdout.splitlines()[-1]) if done.stdout else {}
        if result.get("errors"):
            raise Failed(f"{program} {words[0]}: {result['errors']} errors: {result['first_error']}")
        return result

    def in_turn(self, *sides: Callable[[], dict]) -> list[dict]:
        order = range(len(sides))
        results = {i: sides[i]() for i in (reversed(order) if self.reverse else order)}
        return [results[i] for i in order]

    def write_bare_rows(self, file: pathlib.Path, sessions: int, turns: int, sync: str) -> dict:
        self.run("store_bench", "prepare", file, sessions)
        return self.run("bare_rows", "write", file, self.workload, turns, sync)

    def require_same_rows(self, ours: pathlib.Path, bare: pathlib.Path) -> None:
        """The comparison is valid only if both wrote the same to every table and index."""
        mine, theirs = (self.run("bare_rows", "tables", file) for file in (ours, bare))
        for name in sorted(mine.keys() | theirs.keys()):
            if mine.get(name) != theirs.get(name):
                raise Failed(f"bare_rows.c does not write our rows: {name}: {theirs.get(name)}, ours {mine.get(name)}")


def stored_bytes(file: pathlib.Path) -> int:
    """The size of the database and the files beside it: their length, or their disk usage if larger."""
    stats = [path.stat() for path in file.parent.glob(file.name + "*")]
    return sum(max(stat.st_size, stat.st_blocks * 512) for stat in stats)


def measure_session(bench: Bench, folder: pathlib.Path) -> Figures:
    ours_file, bare_file = folder / "ours.db", folder / "bare.db"
    ours, bare, append = bench.in_turn(
        lambda: bench.run("store_bench", "session", ours_file, bench.workload, TURNS),
        lambda: bench.write_bare_rows(bare_file, 1, TURNS, "full"),
        lambda: bench.run("limits", "session", "append4k", bench.workload, folder, TURNS, 1),
    )
    size = stored_bytes(ours_file)
    bench.require_same_rows(ours_file, bare_file)
    return {
        "session_vs_bare_rows": (ours["p50_us"], bare["p50_us"]),
        "session_vs_append": (ours["p50_us"], append["all_p50_us"]),
        "session_p99": (ours["p99_us"], bare["p99_us"]),
        "size": (size, ours["bytes"]),
    }


def measure_group(bench: Bench, folder: pathlib.Path) -> Figures:
    ours_file, bare_file = folder / "ours.db", folder / "bare.db"
    ours, bare = bench.in_turn(
        lambda: bench.run("store_bench", "threads", ours_file, bench.workload, GROUP_TURNS, GROUP_SESSIONS),
        lambda: bench.write_bare_rows(bare_file, GROUP_SESSIONS, GROUP_TURNS, "full"),
    )
    bench.require_same_rows(ours_file, bare_file)
    return {
        "group_throughput": (ours["turns_per_s"], bare["turns_per_s"]),
        "group_p99": (ours["p99_us"], ours["p50_us"]),
        "group_size": (ours["turns"] / ours["transactions"], None),
    }


def measure_processes(bench: Bench, folder: pathlib.Path) -> Figures:
    """All processes are prepared first; then they start at once."""
    words = [folder / "ours.db", bench.workload, PROCESS_TURNS, PROCESS_SESSIONS]
    os.sync()
    workers = [
        subprocess.Popen(
            bench.command("store_bench", "worker", *words, number),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for number in range(PROCESSES)
    ]  # fmt: skip
    try:
        for worker in workers:
            if worker.stdout.readline() != "ready\n":
                raise Failed(f"store_bench worker did not start: {worker.stderr.read().strip()}")
        for worker in workers:
            worker.stdin.write("go\n")
            worker.stdin.flush()
        results = [json.loads(worker.communicate(timeout=SECONDS_MAX)[0]) for worker in workers]
    finally:
        for worker in workers:
            if worker.poll() is None:
                worker.kill()
                worker.wait()
    latencies = sorted(latency for result in results for latency in result["latency_us"])
    return {
        "processes_errors": (sum(result["errors"] for result in results), None),
        "processes_p99": (latencies[round(0.99 * (len(latencies) - 1))] / 1e3, None),
        "processes_throughput": (sum(result["turns_per_s"] for result in results), None),
    }


def measure_load(bench: Bench, folder: pathlib.Path) -> Figures:
    store, flat = folder / "ours.db", folder / "flat"
    bench.run("store_bench", "cpu", store, bench.workload, TURNS)
    bench.run("store_bench", "flatten", store, flat)
    pairs = [
        bench.in_turn(
            lambda: bench.run("store_bench", "load", store), lambda: bench.run("store_bench", "flat", flat)
        )
        for _ in range(LOADS)
    ]
    for ours, theirs in pairs:
        if any(ours[key] != theirs[key] for key in ("entries", "bytes", "channels")):
            raise Failed(f"store and flat file gave different states: {ours}, {theirs}")
    ours, theirs = (statistics.median(pair[side]["load_us"] for pair in pairs) for side in (0, 1))
    return {"load": (ours, theirs)}


def measure_cpu(bench: Bench, folder: pathlib.Path) -> Figures:
    ours_file, bare_file = folder / "ours.db", folder / "bare.db"
    ours, bare = bench.in_turn(
        lambda: bench.run("store_bench", "cpu", ours_file, bench.workload, TURNS),
        lambda: bench.write_bare_rows(bare_file, 1, TURNS, "normal"),
    )
    bench.require_same_rows(ours_file, bare_file)
    return {"cpu": (ours["cpu_us_per_turn"], bare["cpu_us_per_turn"])}


def measure_upkeep(bench: Bench, folder: pathlib.Path) -> Figures:
    ours = bench.run("store_bench", "upkeep", folder / "ours.db", bench.workload, UPKEEP_MEGABYTES)
    if ours["bytes_stored"] < UPKEEP_MEGABYTES << 20 or ours["bytes_pruned"] < ours["bytes_stored"] / 4:
        raise Failed(f"the store was too small, or hardly anything was pruned: {ours}")
    return {
        "backup_p99": (ours["backup_p99_us"], ours["quiet_p99_us"]),
        "prune_p99": (ours["prune_p99_us"], ours["quiet_p99_us"]),
        "backup_speed": (ours["bytes_stored"] / ours["backup_s"] / 1e6, None),
        "prune_speed": (ours["bytes_pruned"] / ours["prune_s"] / 1e6, None),
    }


def measure_saver(bench: Bench, folder: pathlib.Path) -> Figures:
    """Whole states: put by one saver, then by a fresh process each. The last states are the largest."""
    ours_file, whole_file = folder / "ours.db", folder / "whole.db"
    warm_turns = TURNS - SAVER_FRESH
    ours, whole = bench.in_turn(
        lambda: bench.run("saver_bench", "warm", ours_file, bench.workload, warm_turns),
        lambda: bench.run("whole_states", "warm", whole_file, bench.workload, warm_turns),
    )
    size = stored_bytes(ours_file)
    pairs = [
        bench.in_turn(
            lambda: bench.run("saver_bench", "fresh", ours_file, bench.workload, turn),
            lambda: bench.run("whole_states", "fresh", whole_file, bench.workload, turn),
        )
        for turn in range(warm_turns + 1, TURNS + 1)
    ]
    fresh, fresh_whole = (statistics.median(pair[side]["put_us"] for pair in pairs) for side in (0, 1))
    return {
        "saver_warm": (ours["put_us"], whole["put_us"]),
        "saver_fresh": (fresh, fresh_whole),
        "saver_size": (size, ours["state_bytes"]),
        "saver_written": (ours["put_bytes"], whole["put_bytes"]),
        "saver_list": (ours["list_us"], ours["early_list_us"]),
    }


def measure_resume(bench: Bench, folder: pathlib.Path) -> Figures:
    """A session of turns with calls, resumed by a fresh process."""
    store, flat = folder / "ours.db", folder / "flat"
    bench.run("runtime_bench", "turns", store, bench.workload, TURNS, 1)
    bench.run("store_bench", "flatten", store, flat)
    pairs = [
        bench.in_turn(
            lambda: bench.run("runtime_bench", "resume", store), lambda: bench.run("store_bench", "flat", flat)
        )
        for _ in range(LOADS)
    ]
    for ours, theirs in pairs:
        if ours["entries"] != theirs["entries"]:
            raise Failed(f"store and flat file have different entries: {ours}, {theirs}")
    ours, theirs = (statistics.median(pair[side]["load_us"] for pair in pairs) for side in (0, 1))
    memory = statistics.median(pair[0]["memory"] for pair in pairs)
    return {"resume": (ours, theirs), "resume_memory": (memory, pairs[0][1]["bytes"])}


def measure_turns(bench: Bench, folder: pathlib.Path) -> Figures:
    ours, bare = bench.in_turn(
        lambda: bench.run("runtime_bench", "turns", folder / "ours.db", bench.workload, GATED_TURNS, GROUP_SESSIONS),
        lambda: bench.run("runtime_bench", "commits", folder / "bare.db", bench.workload, GATED_TURNS, GROUP_SESSIONS),
    )
    return {"turns_throughput": (ours["turns_per_s"], bare["turns_per_s"])}


def measure_agent(bench: Bench, folder: pathlib.Path) -> Figures:
    """The loop only, then the bodies of its requests in both formats. CPU, not elapsed time."""
    turns = bench.run("agent_bench", "turns", folder / "ours.db", bench.workload, TURNS)
    figures: Figures = {"agent_flat": (turns["late_us"], turns["early_us"])}
    for kind in ("anthropic", "chat"):
        body = bench.run("agent_bench", "body", kind, bench.workload, TURNS)
        figures[f"body_{kind}"] = (1000 * body["extend_ms_per_mb"], 1000 * body["whole_ms_per_mb"])
    return figures


def measure_agent_memory(bench: Bench, folder: pathlib.Path) -> Figures:
    """A long session against an empty one, each resumed by a fresh process."""
    long, empty = folder / "long.db", folder / "empty.db"
    bench.run("agent_bench", "fill", long, bench.workload, LONG_MEGABYTES)
    bench.run("agent_bench", "fill", empty, bench.workload, 0)
    figures: Figures = {}
    for what in ("resume", "ask"):
        ours, base = bench.run("agent_bench", what, long), bench.run("agent_bench", what, empty)
        if ours["text"] < LONG_MEGABYTES << 20:
            raise Failed(f"the session was too short: {ours}")
        figures[f"agent_{what}_memory"] = (ours["memory"] - base["memory"], ours["text"])
    return figures


def measure_postgres_session(bench: Bench, _: pathlib.Path) -> Figures:
    location = bench.server.fresh_location()
    ours, bare = bench.in_turn(
        lambda: bench.run_on_server("store_bench", "session", location, bench.workload, TURNS),
        lambda: bench.run_on_server("pglimit", "session", bench.server.address(), bench.workload, TURNS, 1),
    )
    return {
        "postgres_session": (ours["p50_us"], bare["all_p50_us"]),
        "postgres_session_p99": (ours["p99_us"], bare["all_p99_us"]),
        "postgres_flat": (ours["late_p50_us"], ours["early_p50_us"]),
    }


def measure_postgres_group(bench: Bench, _: pathlib.Path) -> Figures:
    location, only_checkpoints = bench.server.fresh_location(), 0
    ours, bare = bench.in_turn(
        lambda: bench.run_on_server("store_bench", "threads", location, bench.workload, GROUP_TURNS, GROUP_SESSIONS),
        lambda: bench.run_on_server("pglimit", "group", bench.server.address(), bench.workload, GROUP_SESSIONS, GROUP_TURNS,
                          only_checkpoints),
    )  # fmt: skip
    return {
        "postgres_group": (ours["turns_per_s"], bare["turns_per_s"]),
        "postgres_group_p99": (ours["p99_us"], ours["p50_us"]),
        "postgres_group_size": (ours["turns"] / ours["transactions"], None),
    }


CELLS: dict[str, Callable[[Bench, pathlib.Path], Figures]] = {
    "session": measure_session,
    "group": measure_group,
    "processes": measure_processes,
    "load": measure_load,
    "cpu": measure_cpu,
    "upkeep": measure_upkeep,
    "saver": measure_saver,
    "resume": measure_resume,
    "turns": measure_turns,
    "agent": measure_agent,
    "agent-memory": measure_agent_memory,
    "cli-sessions": measure_cli_sessions,
    "cli-timeline": measure_cli_timeline,
    "cli-resume": measure_cli_resume,
    "postgres-session": measure_postgres_session,
    "postgres-group": measure_postgres_group,
}
