"""Kills `perdure run` and `perdure chat` with SIGKILL while they start: at each write, and at random times.

usage: begun.py PERDURE DIES_AT_WRITE [--random DEATHS] [--seed N]

DIES_AT_WRITE is the library that ends a program at its Nth write to a file. All deaths use one store.
After each of them:

- An id that was printed belongs to a session that has its prompt.
- Every existing session can be resumed, and the model answers its prompt.
"""

import argparse
import json
import os
import pathlib
import pty
import random
import re
import select
import subprocess
import sys
import time

from agent_folder import PATIENCE, AgentFolder, kill

ANSWER = "Good day."
ID = re.compile(r"Session (ses_\w+)")


class Wrong(Exception):
    pass


class Begun:
    """The output of one process."""

    def __init__(self, text: str, died: bool):
        self.ids = ID.findall(text)
        self.died = died


class Trials:
    def __init__(self, arguments: argparse.Namespace):
        self.library = str(pathlib.Path(arguments.library).resolve())
        self.chance = random.Random(arguments.seed)
        self.folder = AgentFolder(arguments.perdure)
        self.agent = self.folder.write_agent([{"text": ANSWER}], {})
        self.number = 0
        self.printed = self.rows = 0
        self.span = 0.2  # Estimated duration in seconds: that of the last one that was not killed.
        # The store exists; its creation is tested elsewhere.
        if self.folder.run("run", self.agent, "The first").returncode != 0:
            raise Wrong("a run that nothing happens to fails")
        self.known = set(self.sessions())

    def sessions(self) -> dict[str, dict]:
        listed = self.folder.run("sessions", "--all", "--jsonl")
        if listed.returncode != 0:
            raise Wrong(f"sessions: {listed.stderr}")
        return {row["id"]: row for row in map(json.loads, listed.stdout.splitlines())}

    def begin(self, verb: str, write: int = 0, after: float | None = None) -> Begun:
        """`write`: it dies right before that write; `after`: that many seconds after its start."""
        self.number += 1
        self.prompt = f"Greet me, {verb} {self.number}"
        environment = self.folder.environment | {"TERM": "xterm"}
        if write > 0:
            environment |= {
                "LD_PRELOAD": self.library,
                "PERDURE_DIES_AT": str(write),
                "ASAN_OPTIONS": "verify_asan_link_order=0",
            }
        began = time.monotonic()
        text, code = (self._run if verb == "run" else self._chat)(environment, after)
        if code == 0:
            self.span = max(0.05, time.monotonic() - began)
        elif code != -9:
            raise Wrong(f"{verb} ends with {code}: {text}")
        return Begun(text, code != 0)

    def _run(self, environment: dict, after: float | None) -> tuple[str, int]:
        process = subprocess.Popen(
            [self.folder.program, "run", self.agent, self.prompt],
            cwd=self.folder.path, env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        if after is not None:
            try:
                process.wait(after)
            except subprocess.TimeoutExpired:
                kill(process)
        _, told = process.communicate(timeout=PATIENCE)
        return told, process.returncode

    def _chat(self, environment: dict, after: float | None) -> tuple[str, int]:
        """In its own terminal: types the line at once, and end of input when it has answered."""
        here, there = pty.openpty()
        process = subprocess.Popen(
            [self.folder.program, "chat", self.agent],
            cwd=self.folder.path, env=environment, stdin=there, stdout=there, stderr=there, start_new_session=True,
        )  # fmt: skip
        os.close(there)
        began = time.monotonic()
        deadline = began + (PATIENCE if after is None else after)
        text = ""
        typed = left = False
        while True:
            wait = deadline - time.monotonic()
            if wait <= 0:
                break
            if not select.select([here], [], [], wait)[0]:
                break
            try:
                piece = os.read(here, 1 << 16)
            except OSError:  # The other end is closed.
                break
            if not piece:
                break
            text += piece.decode(errors="replace")
            if not typed and "> " in text:
                os.write(here, self.prompt.encode() + b"\r")
                typed = True
            if typed and not left and ANSWER in text:
                os.write(here, b"/quit\r")
                left = True
        if after is None and process.poll() is None and time.monotonic() >= deadline:
            kill(process)
            raise Wrong(f"a chat does not end: {text}")
        if after is not None and process.poll() is None:
            kill(process)
        process.wait(PATIENCE)
        os.close(here)
        return text, process.returncode

    def judge(self, begun: Begun) -> None:
        rows = self.sessions()
        for printed in begun.ids:
            if printed not in rows:
                raise Wrong(f"{printed} was printed, and is not there")
        self.printed += len(begun.ids)
        for new in set(rows) - self.known:
            self.rows += 1
            self._resume(new)
        self.known |= set(rows)

    def _resume(self, session: str) -> None:
        resumed = self.folder.run("resume", session)
        # Without new input nothing more is asked of an ended session.
        if resumed.returncode != 0:
            raise Wrong(f"resume {session} ends with {resumed.returncode}: {resumed.stderr}")
        log = self.folder.run("log", session, "--channel", "transcript", "--jsonl")
        said = [json.loads(line)["body"] for line in log.stdout.splitlines()]
        texts = ["".join(block.get("text", "") for block in body["blocks"]) for body in said]
        if [body["role"] for body in said] != ["user", "assistant"] or texts != [self.prompt, ANSWER]:
            raise Wrong(f"{session} has {texts} for the prompt {self.prompt}")

    def at_each_write(self, verb: str) -> int:
        write = 0
        while True:
            write += 1
            begun = self.begin(verb, write=write)
            self.judge(begun)
            if not begun.died and write < 10:
                raise Wrong(f"{verb} was to die at write {write}, and did not")
            if not begun.died:
                return write - 1

    def at_random(self, deaths: int) -> int:
        """Starts processes until the given number was killed."""
        died = started = 0
        while died < deaths:
            if started > 20 * deaths:
                raise Wrong(f"of {started} that were started only {died} were killed")
            begun = self.begin(("run", "chat")[started % 2], after=self.chance.uniform(0, self.span))
            self.judge(begun)
            died += begun.died
            started += 1
        return started


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("perdure")
    parser.add_argument("library")
    parser.add_argument("--random", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    trials = Trials(arguments)
    try:
        for verb in ("run", "chat"):
            print(f"begun: {verb} killed at each of {trials.at_each_write(verb)} writes", flush=True)
        started = trials.at_random(arguments.random)
        print(f"begun: {started} started, {arguments.random} of them killed at random times")
    except Wrong as wrong:
        print(f"begun: {wrong}\nAgain: --random {arguments.random} --seed {arguments.seed}")
        return 1
    finally:
        trials.folder.close()
    print(f"begun: {trials.printed} ids were printed, {trials.rows} sessions resumed, 0 violations")
    return 0


if __name__ == "__main__":
    sys.exit(main())
