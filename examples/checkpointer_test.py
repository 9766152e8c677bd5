"""Runs the checkpointer example; kills it between the effect and its record. checkpointer_test.py PROGRAM."""

import pathlib
import subprocess
import sys
import tempfile

TWICE = [
    ([], 0, "version 0, 0 in doubt\nsending\nsent, version 1\n"),
    ([], 0, "version 1, 0 in doubt\nreplay: sent, version 2\n"),
]
KILLED = [
    (["die"], 9, "version 0, 0 in doubt\nsending\n"),
    ([], 0, "version 0, 1 in doubt\nin doubt: look into the outbox, version 1\n"),
    ([], 0, "version 1, 1 in doubt\nin doubt: look into the outbox, version 2\n"),
]

program = pathlib.Path(sys.argv[1]).resolve()
for runs in (TWICE, KILLED):
    with tempfile.TemporaryDirectory() as folder:
        for arguments, code, expected in runs:
            run = subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True)
            if run.returncode != code or run.stdout != expected:
                sys.exit(f"exit code {run.returncode}\nexpected:\n{expected}\nsaid:\n{run.stdout}{run.stderr}")
