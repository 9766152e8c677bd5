"""Runs the guide to tools and compares its output: tools_guide_test.py PROGRAM."""

import os
import pathlib
import subprocess
import sys
import tempfile

BEGINNINGS = [
    '{"error":"unknown_tool","tool":"readfile","message":"There is no such tool. Did you mean read_file?"',
    '{"error":"arguments_not_json","tool":"read_file"',
    '{"error":"invalid_arguments","tool":"deploy"',
    '{"error":"not_permitted","tool":"read_file"',
    'ask: the rule for paths "**/*.lock", which "yarn.lock" fits',
    "go",
    '{"error":"loop","tool":"read_file"',
    "plan_create: succeeded",
    "deploy: succeeded",
    "step_update: succeeded",
    "finished: 1",
]
TOKEN = "sk-planted-in-the-guide"

program = pathlib.Path(sys.argv[1]).resolve()
with tempfile.TemporaryDirectory() as folder:
    run = subprocess.run([program], cwd=folder, capture_output=True, text=True, env={**os.environ, "DEPLOY_TOKEN": TOKEN})
    lines = run.stdout.splitlines()
    as_expected = len(lines) == len(BEGINNINGS) and all(line.startswith(begin) for line, begin in zip(lines, BEGINNINGS))
    if run.returncode != 0 or not as_expected:
        sys.exit(f"exit code {run.returncode}\nsaid:\n{run.stdout}{run.stderr}")
    if TOKEN not in (pathlib.Path(folder) / "deployed").read_text(encoding="utf-8"):
        sys.exit("the program did not get its secret")
    if TOKEN in run.stdout or any(TOKEN.encode() in file.read_bytes() for file in pathlib.Path(folder).glob("tools.db*")):
        sys.exit("the secret is in the store or in the output")
