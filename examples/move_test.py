"""Moves the store of the first example: move_test.py FIRST_SESSION MOVE."""

import pathlib
import shutil
import subprocess
import sys
import tempfile


def run(program: str, folder: str, *words: str, code: int = 0) -> str:
    done = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == code, f"{program}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def main() -> int:
    first, move = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(3):
            run(first, folder)
        told = run(move, folder, "first.db", "other.db")
        assert "1 sessions with 3 entries moved" in told, told
        assert "my first session was moved to other.db" in told, told
        # It cannot run in the source, and continues in the target.
        done = subprocess.run([first], cwd=folder, capture_output=True, text=True, timeout=300)
        assert done.returncode != 0, done.stdout
        elsewhere = pathlib.Path(folder) / "elsewhere"
        elsewhere.mkdir()
        shutil.move(pathlib.Path(folder) / "other.db", elsewhere / "first.db")
        assert "4 Hello!" in run(first, str(elsewhere))
    return 0


if __name__ == "__main__":
    sys.exit(main())
