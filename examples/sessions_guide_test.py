"""Runs the guide to sessions and compares its output: sessions_guide_test.py PROGRAM."""

import pathlib
import subprocess
import sys
import tempfile

SAID = """\
look: read_only
write_file: idempotent
pay: verifiable
send_email: unsafe
It is sunny.
run 1, verified 1
the model is told: paid
send_email is in doubt: it is unknown whether it took effect
look at: it is unknown whether it took effect
status: active
approved and run: 1
2 versions, 4 messages between them
rewound to 4 messages; fork has 4
left: 6700
conflict about budget
lease_held
10 turns, 1 version
"""

program = pathlib.Path(sys.argv[1]).resolve()
with tempfile.TemporaryDirectory() as folder:
    run = subprocess.run([program], cwd=folder, capture_output=True, text=True)
    if run.returncode != 0 or run.stdout != SAID:
        sys.exit(f"exit code {run.returncode}\nexpected:\n{SAID}\nsaid:\n{run.stdout}{run.stderr}")
