"""Runs the models example on a script and on the model server of the tests: models_test.py PROGRAM SERVER."""

import os
import pathlib
import subprocess
import sys

program, server = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:3])
here = pathlib.Path(__file__).resolve().parent
clean = {key: value for key, value in os.environ.items() if not key.endswith(("_API_KEY", "BASE_URL"))}


def expect(arguments: list[str], code: int, said: str, **environment: str) -> None:
    run = subprocess.run([program, *arguments], capture_output=True, text=True, env=clean | environment, timeout=300)
    if run.returncode != code or said not in run.stdout + run.stderr:
        sys.exit(f"{arguments}: exit code {run.returncode}\nexpected:\n{said}\nsaid:\n{run.stdout}{run.stderr}")
    if "sk-secret" in run.stdout + run.stderr:
        sys.exit(f"{arguments}: the key was shown")


expect(["script", str(here / "models_script.json")], 0, "I look it up.\n[120 tokens in, 30 out, 128 micros]\n")
expect(["script", "/nowhere"], 1, "JSON")
expect(["anthropic", "m"], 1, "the environment has no ANTHROPIC_API_KEY")

with subprocess.Popen([server], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
    url = f"http://127.0.0.1:{int(running.stdout.readline())}"
    key = {"ANTHROPIC_API_KEY": "sk-secret", "OPENAI_API_KEY": "sk-secret"}
    done = "Done.\n[9 tokens in, 2 out, cost unknown]\n"
    expect(["anthropic", "m"], 0, done, BASE_URL=f"{url}/final", **key)
    expect(["chat", "m"], 0, done, BASE_URL=f"{url}/final/v1", **key)
    expect(["chat", "m"], 0, done, BASE_URL=f"{url}/final/v1")
    expect(["anthropic", "m"], 1, "anthropic said 401: some_error: no, not with key [key]", BASE_URL=f"{url}/status-401", **key)
    expect(["anthropic", "m"], 1, "cut off: overloaded_error: Overloaded", BASE_URL=f"{url}/error", **key)
    running.stdin.close()
