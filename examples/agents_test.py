"""Runs the agents example to its end, then again: agents_test.py PROGRAM."""

import pathlib
import subprocess
import sys
import tempfile

program = str(pathlib.Path(sys.argv[1]).resolve())
script = str(pathlib.Path(__file__).resolve().parent / "agents_script.json")


def expect(store: str, words: list[str], said: str) -> None:
    run = subprocess.run([program, store, script, *words], capture_output=True, text=True, timeout=300)
    if run.returncode != 0 or run.stdout != said:
        sys.exit(f"{words}: exit code {run.returncode}\nexpected:\n{said}\nsaid:\n{run.stdout}{run.stderr}")


with tempfile.TemporaryDirectory() as folder:
    store = f"{folder}/bills.db"
    paid = "I pay it.\n[succeeded: paid]\nThe water is paid.\n[completed]\n188 micros so far\n"
    expect(store, ["Pay the water."], paid)
    expect(store, [], "\n[completed]\n188 micros so far\n")
    expect(store, ["Thanks."], "You are welcome.\n[completed]\n291 micros so far\n")
    if len(pathlib.Path(f"{store}.book").read_text(encoding="utf-8").splitlines()) != 1:
        sys.exit("the bill was paid more than once")
