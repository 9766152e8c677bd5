"""Runs the first example twice, as its first line suggests: first_session_test.py PROGRAM."""

import pathlib
import subprocess
import sys
import tempfile

FIRST = "1 Hello!\nversion 1\n"
SECOND = "1 Hello!\n2 Hello!\nversion 2\n"

program = pathlib.Path(sys.argv[1]).resolve()
with tempfile.TemporaryDirectory() as folder:
    for expected in (FIRST, SECOND):
        run = subprocess.run([program], cwd=folder, capture_output=True, text=True)
        if run.returncode != 0 or run.stdout != expected:
            sys.exit(f"exit code {run.returncode}\nexpected:\n{expected}\nsaid:\n{run.stdout}{run.stderr}")
