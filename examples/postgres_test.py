"""Runs the commands of docs/postgres.md: postgres_test.py PERDURE_POSTGRES.

The lines after `$` are run in a temporary folder, by a user that initdb accepts, on a free port;
their output must be what the document shows.
"""

import os
import pathlib
import pwd
import re
import shutil
import socket
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = pathlib.Path(subprocess.run(["pg_config", "--bindir"], capture_output=True, text=True, check=True).stdout.strip())
AS_ROOT = os.geteuid() == 0


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def run(line: str, folder: str, path: str) -> str:
    user = {"user": "postgres", "group": "postgres", "extra_groups": []} if AS_ROOT else {}
    done = subprocess.run(
        ["bash", "-c", line], cwd=folder, env={"PATH": path, "HOME": folder, "LC_ALL": "C"}, text=True, timeout=300,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **user,
    )  # fmt: skip
    assert done.returncode == 0, f"{line}: {done.returncode}\n{done.stdout}"
    return done.stdout


def transcript() -> list[tuple[str, str]]:
    document = (ROOT / "docs/postgres.md").read_text(encoding="utf-8")
    block = re.search(r"^```console\n(.*?)^```$", document, re.DOTALL | re.MULTILINE)
    assert block, "docs/postgres.md shows no commands"
    steps = re.findall(r"^\$ ([^\n]*)\n((?:(?!\$ )[^\n]*\n)*)", block[1], re.MULTILINE)
    return [(line, said) for line, said in steps]


def main() -> int:
    program = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(program, folder)
        if AS_ROOT:
            shutil.chown(folder, "postgres", pwd.getpwnam("postgres").pw_gid)
        path = f"{folder}:{PROGRAMS}:{os.environ['PATH']}"
        port = str(free_port())
        steps = transcript()
        assert len(steps) >= 4, steps
        try:
            for line, shown in steps:
                said = run(line.replace("5433", port), folder, path)
                # The minor version depends on the machine.
                said = re.sub(r"PostgreSQL [0-9.]+", "PostgreSQL 15", said)
                assert not shown or said == shown, f"{line}\nsaid\n{said}\nthe document shows\n{shown}"
        finally:
            if (pathlib.Path(folder) / "data/postmaster.pid").exists():
                run("pg_ctl -D data -m immediate stop", folder, path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
