"""Shared by the tests of the program: a folder with an agent, its store, and the program to run there."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import threading

PATIENCE = 300  # Seconds. A timeout that a passing test never reaches.


class AgentFolder:
    """A temporary folder with its own store. At its end, programs started in it are stopped."""

    def __init__(self, program: str):
        self.program = os.path.abspath(program)
        self._folder = tempfile.TemporaryDirectory(prefix="perdure-cli-")
        self.path = pathlib.Path(self._folder.name)
        self.environment = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "HOME": str(self.path),
            "PERDURE_STORE": str(self.path / "store.db"),
            "LANG": "C.UTF-8",
        }
        self._started: list[subprocess.Popen] = []

    def close(self) -> None:
        for process in self._started:
            if process.poll() is None:
                process.kill()
            process.communicate()
        for pipe in self.path.glob("*.go"):
            end_wait_at(pipe)
        self._folder.cleanup()

    def write(self, name: str, text: str) -> pathlib.Path:
        path = self.path / name
        path.write_text(text, encoding="utf-8")
        return path

    def write_agent(self, responses: list, tools: dict, asks: bool = False, notes: bool = False, **more) -> str:
        """An agent file (JSON is valid YAML), and the script of its model."""
        self.write("script.json", json.dumps({"responses": responses}))
        agent = {"name": "tested", "model": {"provider": "scripted", "script": "script.json"}}
        agent |= {"permissions": {"write": "allow", "mutate": "allow"}} | more
        if tools or notes:
            agent["tools"] = {"exec": tools, "ask_user": asks, "notes": notes}
        return str(self.write("agent.yaml", json.dumps(agent)))

    def start(self, *words: str, **more) -> subprocess.Popen:
        process = subprocess.Popen(
            [self.program, *words],
            cwd=self.path,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **more,
        )
        self._started.append(process)
        return process

    def run(self, *words: str, **more) -> subprocess.CompletedProcess:
        more = {"stdin": subprocess.DEVNULL} | more if "input" not in more else more
        return subprocess.run(
            [self.program, *words],
            cwd=self.path,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            **more,
        )


def end_wait_at(pipe: pathlib.Path) -> None:
    """Ends a program that outlived its agent at a gate: it reads end of file there."""
    try:
        os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
    except OSError:
        pass  # No process waits.


class Gate:
    """A program that reports its arrival, and waits until it may continue: two pipes in the folder."""

    def __init__(self, folder: AgentFolder, name: str = "gate"):
        self._there = folder.path / f"{name}.there"
        self._go = folder.path / f"{name}.go"
        os.mkfifo(self._there)
        os.mkfifo(self._go)

    def shell(self) -> str:
        """The shell commands with which a program passes the gate."""
        return f"echo here > '{self._there}'; read word < '{self._go}'"

    def await_arrival(self) -> None:
        arrived = threading.Event()

        def look() -> None:
            self._there.read_text()
            arrived.set()

        threading.Thread(target=look, daemon=True).start()
        if not arrived.wait(PATIENCE):
            raise TimeoutError("the program never came")

    def open(self) -> None:
        def let_go() -> None:
            self._go.write_text("go\n")

        threading.Thread(target=let_go, daemon=True).start()


def end_of(process: subprocess.Popen) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out, err


def kill(process: subprocess.Popen) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait(PATIENCE)
