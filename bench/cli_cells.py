"""The measurements of the command line: the program itself, on prepared stores.

Times begin before the process starts, so its whole start counts.
"""

import fcntl
import os
import pathlib
import pty
import select
import socket
import statistics
import struct
import subprocess
import termios
import threading
import time

SESSIONS = 10_000
SHORT_TURNS, LONG_TURNS = 1_667, 16_667  # of three steps each
RESUMED_TURNS = 1000
STARTS = 7  # of a program whose time counts; the median is used
PATIENCE = 60
WAITS = 8  # An exit code: the plan of the turns is not finished, so the session waits.
SCREEN_ROWS, SCREEN_COLUMNS = 24, 120
RESPONSE = (
    b'data: {"id": "r", "model": "bench", "choices": [{"index": 0, "delta": {"content": "Yes."}, "finish_reason": "stop"}]}\n\n'
    b'data: {"id": "r", "model": "bench", "choices": [], "usage": {"prompt_tokens": 6, "completion_tokens": 1, "total_tokens": 7}}\n\n'
    b"data: [DONE]\n\n"
)


class Terminal:
    """The program on a terminal. Closing it ends the program."""

    def __init__(self, program: pathlib.Path, store: pathlib.Path, *words: object):
        self.master, inside = pty.openpty()
        fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", SCREEN_ROWS, SCREEN_COLUMNS, 0, 0))
        self.began = time.perf_counter()
        self.process = subprocess.Popen(
            command_line(program, store, *words), env=environment(store.parent), stdin=inside, stdout=inside, stderr=inside
        )
        os.close(inside)

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.master)
        if self.process.returncode is None:
            self.process.kill()
            self.process.wait()

    def read_rows(self, rows: int | None) -> float:
        """Milliseconds until this many rows were printed; None: until the last."""
        seen = 0
        while rows is None or seen < rows:
            if not select.select([self.master], [], [], PATIENCE)[0]:
                raise subprocess.SubprocessError("the program shows nothing more")
            try:
                seen += os.read(self.master, 1 << 16).count(b"\n")
            except OSError:  # It closed its end.
                break
        if seen < (rows or SCREEN_ROWS):
            raise subprocess.SubprocessError(f"the program showed only {seen} rows")
        return 1e3 * (time.perf_counter() - self.began)

    def memory(self) -> int:
        """Its peak memory in bytes, once it has ended."""
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        return usage.ru_maxrss * 1024


class Listener:
    """A model server that records when the first byte of each request arrived, and sends a one-word response."""

    def __init__(self) -> None:
        self.seen: list[float] = []
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}/v1"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        while True:
            connection, _ = self.socket.accept()
            with connection, connection.makefile("rwb") as stream:
                stream.peek(1)
                self.seen.append(time.perf_counter())
                length = 0
                while (line := stream.readline().strip().lower()) != b"":
                    if line.startswith(b"content-length:"):
                        length = int(line.split()[1])
                stream.read(length)
                stream.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
                stream.write(RESPONSE)


def command_line(program: pathlib.Path, store: pathlib.Path, *words: object) -> list[str]:
    return [str(program), *map(str, words), "--store", str(store)]


def environment(folder: pathlib.Path) -> dict[str, str]:
    return {"PATH": "/usr/bin:/bin", "HOME": str(folder), "TERM": "xterm", "LANG": "C.UTF-8"}


def first_screen_ms(program: pathlib.Path, store: pathlib.Path, *words: object) -> float:
    times = []
    for _ in range(STARTS):
        with Terminal(program, store, *words) as terminal:
            times.append(terminal.read_rows(SCREEN_ROWS))
    return statistics.median(times)


def resume_ms(listener: Listener, command: list[str], folder: pathlib.Path) -> float:
    """The time until the model server gets a request. The turn then runs to its end."""
    listener.seen.clear()
    began = time.perf_counter()
    done = subprocess.run(command, env=environment(folder), capture_output=True, text=True, timeout=PATIENCE)
    if done.returncode not in {0, WAITS} or not listener.seen:
        raise subprocess.SubprocessError(f"perdure resume ended with {done.returncode}: {done.stderr.strip()}")
    return 1e3 * (listener.seen[0] - began)


def measure_cli_sessions(bench, folder: pathlib.Path) -> dict:
    store = folder / "ours.db"
    bench.run("cli_bench", "sessions", store, SESSIONS)
    return {"cli_sessions": (first_screen_ms(bench.perdure, store, "sessions"), None)}


def measure_cli_timeline(bench, folder: pathlib.Path) -> dict:
    memory = {}
    for turns in (SHORT_TURNS, LONG_TURNS):
        store = folder / f"{turns}.db"
        bench.run("cli_bench", "turns", store, bench.workload, turns)
        with Terminal(bench.perdure, store, "timeline", "@last") as terminal:
            terminal.read_rows(None)
            memory[turns] = terminal.memory()
    return {
        "cli_timeline_memory": (memory[LONG_TURNS], memory[SHORT_TURNS]),
        "cli_timeline": (first_screen_ms(bench.perdure, store, "timeline", "@last"), None),
    }


def measure_cli_resume(bench, folder: pathlib.Path) -> dict:
    store, agent = folder / "ours.db", folder / "agent.yaml"
    bench.run("cli_bench", "turns", store, bench.workload, RESUMED_TURNS)
    listener = Listener()
    agent.write_text(f'name: bench\nmodel: {{provider: openai, id: bench, base_url: "{listener.url}"}}\n')
    resume = command_line(bench.perdure, store, "resume", "@last", "Go on.")
    # The first one takes the session over from the process that ran its turns, and records the agent.
    resume_ms(listener, [*resume, "--agent", str(agent), "--accept-changes"], folder)
    os.sync()
    return {"cli_resume": (statistics.median(resume_ms(listener, resume, folder) for _ in range(STARTS)), None)}
