"""Runs the fork example and compares its output: fork_test.py PROGRAM."""

import pathlib
import subprocess
import sys
import tempfile

SAID = """\
sending {"text":"Hi Ann"}
after this point: send_email (succeeded)
sending {"text":"Dear Ms Lee"}
the session: "Be brief.", 4 messages
its fork: "Be formal.", 4 messages
"""

program = pathlib.Path(sys.argv[1]).resolve()
with tempfile.TemporaryDirectory() as folder:
    run = subprocess.run([program], cwd=folder, capture_output=True, text=True)
    if run.returncode != 0 or run.stdout != SAID:
        sys.exit(f"exit code {run.returncode}\nexpected:\n{SAID}\nsaid:\n{run.stdout}{run.stderr}")
