"""Runs the demonstration as `make demo` does, and holds what it shows against the bank's own book:
demo_test.py PERDURE REFUND_DESK."""

import json
import pathlib
import subprocess
import sys
import tempfile
import time

perdure, desk = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
demo = pathlib.Path(__file__).resolve().parent / "demo"


def lines_of(path: pathlib.Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


with tempfile.TemporaryDirectory() as place:
    folder = pathlib.Path(place, "demo")
    began = time.monotonic()
    done = subprocess.run(
        ["bash", str(demo), str(perdure), str(desk.parent), str(folder)], capture_output=True, text=True, timeout=100
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

    # What it says to try works.
    for words in (["show", "@last"], ["log", "@last"], ["fork", "@last@1.1", "--title", "What if"]):
        tried = subprocess.run(
            [perdure, *words], env={"PERDURE_STORE": str(folder / "store.db"), "HOME": place}, capture_output=True, text=True
        )
        assert tried.returncode == 0, (words, tried.stdout + tried.stderr)

    # It does not remove a folder that is not its own.
    again = subprocess.run(["bash", str(demo), str(perdure), str(desk.parent), place], capture_output=True, text=True)
    assert again.returncode == 2 and folder.exists(), again.stderr
    print(f"demo: {took:.1f} s")
