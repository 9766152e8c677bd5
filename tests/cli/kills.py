"""Kills `perdure run` with SIGKILL at random times, and resumes it until it is done.

usage: kills.py PERDURE PROGRAMS [--kills N] [--seed N] [--each N]

An agent orders a chair: it looks, reserves, pays, calls a carrier, writes a letter, books. Its tools are
clients of a server that counts real effects (tests/world; PROGRAMS is the folder of world_server and
world_program). A run is killed after a random time, or after a random number of printed events; then its
resume is killed, and so on. A call in doubt is resolved truthfully, by the vendor's ledger. At the end
each operation must have taken effect once.

It prints how often each phase of a turn was hit: the last commit before the death. With --each N, every
phase must have been hit at least N times.
"""

import argparse
import collections
import json
import pathlib
import random
import select
import socket
import subprocess
import sys
import time
import os

from agent_folder import PATIENCE, AgentFolder, kill
from model_server import ModelServer

PHASES = {
    0: "nothing is recorded yet",
    1: "the message and the request",
    2: "a response, its intents, its first call dispatched",
    3: "an outcome, and the next call dispatched",
    4: "a response without calls",
}
OPERATIONS = ("reserve-1", "pay-1", "carrier-1", "mail-1", "book-1")
RESPONSES = [
    # Long, to leave time to die before it is recorded.
    {
        "text": "First I look what a chair costs and what a stool would cost instead, so that nobody pays too much.",
        "calls": [{"name": "price", "args": {"op": "price-1"}}, {"name": "price", "args": {"op": "price-2"}}],
    },
    {"calls": [{"name": "reserve", "args": {"op": "reserve-1"}}, {"name": "pay", "args": {"op": "pay-1"}}]},
    {"calls": [{"name": "carrier", "args": {"op": "carrier-1"}}]},
    {"calls": [{"name": "mail", "args": {"op": "mail-1"}}, {"name": "book", "args": {"op": "book-1"}}]},
    {"text": "The chair is on its way."},
]
# How each tool calls the world, and whether it can be verified.
TOOLS = {
    "price": ("look", False),
    "reserve": ("keyed", False),
    "pay": ("effect", True),
    "carrier": ("effect", False),
    "mail": ("keyed", False),
    "book": ("effect", True),
}


class Wrong(Exception):
    pass


class Book:
    """The world's server and its ledger."""

    def __init__(self, programs: pathlib.Path, folder: AgentFolder):
        self.socket = str(folder.path / "world.socket")
        self._server = subprocess.Popen(
            [programs / "world_server", self.socket, folder.path / "world.jsonl"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        if self._server.stdout.readline() != "ready\n":
            raise Wrong("the world does not come up")

    def ask(self, **request) -> dict:
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(PATIENCE)
            line.connect(self.socket)
            line.sendall(json.dumps(request).encode() + b"\n")
            return json.loads(line.makefile().readline())["answer"]

    def effects(self, op: str) -> int:
        return len(self.ask(request="count", op=op)["effects"])

    def close(self) -> None:
        self._server.kill()
        self._server.communicate()


class Trial:
    """One order, from its first run until it is done."""

    span = 0.6  # Estimated duration of a run in seconds: that of the last one.

    def __init__(self, arguments: argparse.Namespace, chance: random.Random):
        self.chance = chance
        self.folder = AgentFolder(arguments.perdure)
        self.book = Book(arguments.programs, self.folder)
        self.model = ModelServer(RESPONSES, pause=0.004)
        self.programs = self.folder.path / "programs"
        program = str(arguments.programs / "world_program")
        self.agent = self._write_agent(program)
        self.phases: collections.Counter = collections.Counter()

    def _write_agent(self, program: str) -> str:
        environment = {"WORLD_SOCKET": self.book.socket, "WORLD_STEPS": f"0 0 9 0 {self.folder.path}/steps", "WORLD_PROGRAMS": str(self.programs)}
        tools = {}
        for name, (how, has_verify) in TOOLS.items():
            tools[name] = {
                "description": f"Does {name}.",
                "command": [program, how, name],
                "side_effects": ["read"] if how == "look" else ["write", "mutate"],
                "env": environment,
            }
            if how == "keyed":
                tools[name]["honours_key"] = True
            if has_verify:
                tools[name]["verify"] = [program, "verify", name]
        model = {"provider": "openai", "id": "scripted", "base_url": self.model.url}
        return self.folder.write_agent([], tools, model=model, prices={"scripted": {"input": 0, "output": 0}})

    def close(self) -> None:
        self.folder.close()
        self.book.close()
        self.model.close()

    def session(self) -> dict | None:
        shown = self.folder.run("show", "@last", "--json")
        return json.loads(shown.stdout)["session"] if shown.returncode == 0 else None

    def words(self) -> list[str]:
        row = self.session()
        if row is None or row["head"] == 0:  # Nothing was recorded.
            return ["run", self.agent, "Order a chair", "--jsonl"]
        # If it died before its first message was recorded, the message is sent again.
        message = ["Order a chair"] if self.phase() == 0 else []
        return ["resume", row["id"], *message, "--jsonl"]

    def go(self, may_die: bool) -> int | None:
        """Runs or resumes it. Returns its exit code, or None if it was killed."""
        process = self.folder.start(*self.words())
        if may_die and self._killed(process):
            self.phases[self.phase()] += 1
            return None
        process.communicate(timeout=PATIENCE)
        return process.returncode

    def _killed(self, process: subprocess.Popen) -> bool:
        if self.chance.random() < 0.5:
            try:
                process.wait(self.chance.uniform(0, self.span))
                return False
            except subprocess.TimeoutExpired:
                kill(process)
                return True
        for _ in range(self.chance.randint(1, 60)):
            if not process.stdout.readline():
                return False
        kill(process)
        return True

    def phase(self) -> int:
        """The last commit, by the last entry of the log."""
        log = self.folder.run("log", "@last", "--jsonl")
        has_calls = False
        for entry in reversed([json.loads(line) for line in log.stdout.splitlines()]):
            if entry["channel"] == "calls":
                has_calls = True
            if entry["channel"] != "transcript":
                continue
            role = entry["body"]["role"]
            if role == "assistant":
                return 2 if has_calls else 4
            is_result = any(block["kind"] == "tool_result" for block in entry["body"]["blocks"])
            return 3 if is_result else 1
        return 0

    def settle(self) -> None:
        """Resolves the call by the vendor's ledger, once the program that made the call has ended."""
        pending = json.loads(self.folder.run("pending", "@last", "--json").stdout)["items"]
        if not pending:
            raise Wrong("it needs attention, and nothing is pending")
        for pid in self.programs.read_text().split():
            await_end(int(pid))
        call = f"{pending[0]['session']}:{pending[0]['position']}"
        landed = self.book.effects(f"{pending[0]['tool']}-1") > 0
        decision = ["--as", "succeeded", "--result", "it is in the book"] if landed else ["--as", "retry", "--yes"]
        done = self.folder.run("resolve", call, *decision, "--reason", "seen in the vendor's book")
        if done.returncode != 0:
            raise Wrong(f"resolve: {done.stderr}")

    def judge(self) -> None:
        for op in OPERATIONS:
            if self.book.effects(op) != 1:
                raise Wrong(f"{op} took effect {self.book.effects(op)} times: {self.book.ask(request='all')}")


def await_end(pid: int) -> None:
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        if not select.select([watched], [], [], PATIENCE)[0]:
            raise Wrong(f"program {pid} does not end")
    finally:
        os.close(watched)


def play(trial: Trial, kills: int) -> int:
    """Kills it at most that often, then runs it to its end. Returns how often it was killed."""
    killed = 0
    while True:
        began = time.monotonic()
        code = trial.go(may_die=killed < kills)
        if code is None:
            killed += 1
        elif code == 7:
            trial.settle()
        elif code == 0:
            if killed == 0:
                Trial.span = max(0.2, time.monotonic() - began)
            trial.judge()
            return killed
        else:
            raise Wrong(f"exit code {code}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("perdure")
    parser.add_argument("programs", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", type=int, default=0)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    phases: collections.Counter = collections.Counter()
    killed = trials = 0
    while killed < arguments.kills:
        trial = Trial(arguments, chance)
        try:
            killed += play(trial, min(chance.randint(2, 10), arguments.kills - killed))
        except Wrong as wrong:
            print(f"kills: {wrong}\nAgain: --kills {arguments.kills} --seed {arguments.seed}")
            return 1
        finally:
            trial.close()
        phases += trial.phases
        trials += 1
    for phase, what in PHASES.items():
        print(f"{phase}  {what:<52} {phases[phase]:>4}  {'#' * phases[phase]}")
    print(f"kills: {killed} kills, {trials} orders, 0 violations")
    missed = [phase for phase in PHASES if phase > 0 and phases[phase] < arguments.each]
    if missed:
        print(f"kills: phases hit less than {arguments.each} times: {missed}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
