"""The PostgreSQL server of a run: started on demand, stopped with the run.

It is the server of the tests (tests/postgres/cluster_program.cpp), but on disk, and as durable as
PostgreSQL is by default. Both sides of a cell use it, over the same kind of connection.
"""

import os
import pathlib
import subprocess
import tempfile

STOP_SECONDS_MAX = 60


class Server:
    """A context manager: at its end the server is stopped and its files are removed."""

    def __init__(self, keeper: pathlib.Path):
        self.keeper = keeper
        self.process: subprocess.Popen | None = None
        self.schemas = 0
        self.found = ""

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self.process.kill()  # The kernel notifies the server.
            self.process.wait()

    def address(self) -> str:
        if self.process is None:
            self.process = subprocess.Popen(
                [str(self.keeper), "--watch", str(os.getpid()), "--in", tempfile.gettempdir()],
                stdout=subprocess.PIPE,
                text=True,
            )
            self.found = self.process.stdout.readline().strip()
            if not self.found:
                raise subprocess.SubprocessError("PostgreSQL did not start")
        return self.found

    def fresh_location(self) -> str:
        """The address of a new store. The previous one is deleted."""
        self.execute(f"DROP SCHEMA IF EXISTS bench_{self.schemas} CASCADE")
        self.schemas += 1
        return f"{self.address()}?schema=bench_{self.schemas}"

    def settle(self) -> None:
        """Writes out the pages that earlier programs changed, so that the next one does not have to."""
        self.execute("CHECKPOINT")

    def execute(self, sql: str) -> None:
        command = ["psql", "--no-psqlrc", "--quiet", "--dbname", self.address(), "--command", sql]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
