"""Runs the upkeep example on a store of the first example: upkeep_test.py FIRST_SESSION UPKEEP."""

import pathlib
import subprocess
import sys
import tempfile


def run(program: str, folder: str, *words: str) -> str:
    done = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{program}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def main() -> int:
    first, upkeep = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(15):
            run(first, folder)
        told = run(upkeep, folder)
        assert "15 entries are sound" in told, told
        assert "my first session: 5 versions forgotten" in told, told
        assert (pathlib.Path(folder) / "first.db.backup").stat().st_size > 0
        # All messages are still there, and a second run works as well.
        assert "16 Hello!" in run(first, folder)
        assert "16 entries are sound" in run(upkeep, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
