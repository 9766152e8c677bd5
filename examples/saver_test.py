"""Runs the saver example twice: answered questions are not asked again. saver_test.py PROGRAM."""

import pathlib
import subprocess
import sys
import tempfile

ANSWER = '{"answer":"Answer to Why?"}'
LAST = f'{{"turn":3,"messages":[{ANSWER},{ANSWER},{ANSWER}]}}\n{{"turn":2,"messages":[{ANSWER},{ANSWER}]}}\n'
FIRST = "asking: Why?\n" * 3 + LAST
SECOND = "going on after turn 3\n" + LAST

program = pathlib.Path(sys.argv[1]).resolve()
with tempfile.TemporaryDirectory() as folder:
    for expected in (FIRST, SECOND):
        run = subprocess.run([program], cwd=folder, capture_output=True, text=True)
        if run.returncode != 0 or run.stdout != expected:
            sys.exit(f"exit code {run.returncode}\nexpected:\n{expected}\nsaid:\n{run.stdout}{run.stderr}")
