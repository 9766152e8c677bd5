"""Runs the demonstration as `make demo` does, and compares its output with the bank's ledger:
demo_test.py PERDURE."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

SECONDS_MAX = 120
perdure = pathlib.Path(sys.argv[1]).resolve()


def lines_of(path: pathlib.Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


with tempfile.TemporaryDirectory() as place:
    folder = pathlib.Path(place, "demo")
    began = time.monotonic()
    done = subprocess.run(
        [perdure, "demo", folder], env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, timeout=300
    )
    took = time.monotonic() - began
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("\nKilled\n") == 2, done.stdout
    assert [line["cents"] for line in lines_of(folder / "book.jsonl")] == [4900]
    assert len(lines_of(folder / "letters.jsonl")) == 1
    assert "is first asked whether it took effect" in done.stdout, done.stdout
    assert "letter (unsafe); not run again" in done.stdout, done.stdout
    assert "Order 1042 is refunded" in done.stdout, done.stdout
    assert done.stderr == "", done.stderr

    assert "STEP   KIND" in done.stdout and "settled by" in done.stdout, "it shows no timeline"
    assert "@last@1.1 @last" in done.stdout and "\n+ " in done.stdout, "it shows no difference"
    assert took < SECONDS_MAX, f"the demonstration took {took:.0f} s"

    # The suggested commands work as printed, in any folder and in a fresh shell.
    tries = done.stdout.partition("# Try:\n")[2].splitlines()
    assert len(tries) == 3, tries
    for line in tries:
        tried = subprocess.run(line, shell=True, cwd="/", env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True)
        assert tried.returncode == 0 and tried.stdout, (line, tried.stdout + tried.stderr)

    # It does not remove a folder that it did not create.
    again = subprocess.run([perdure, "demo", place], capture_output=True, text=True)
    assert again.returncode == 2 and folder.exists(), again.stderr

    # Without its desk it names what is missing.
    alone = pathlib.Path(place, "alone")
    shutil.copy(perdure, alone)
    lost = subprocess.run([alone, "demo"], capture_output=True, text=True)
    assert lost.returncode == 3 and "the refund desk is not there" in lost.stderr, lost.stderr
    print(f"demo: {took:.1f} s")
