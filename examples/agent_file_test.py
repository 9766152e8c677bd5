"""Reads every agent file of the examples: agent_file_test.py PROGRAM.

Also an invalid one, and two that differ.
"""

import pathlib
import subprocess
import sys
import tempfile

AGENTS = pathlib.Path(__file__).resolve().parent / "agents"
SAID = {
    "refunds.yaml": "model claude-sonnet-5-5, tools ask_user order plan_create plan_show postcondition_verify refund step_update\n",
    "reviewer.yaml": "model qwen3-coder, tools edit_file list_files note_delete note_list note_read note_write plan_create plan_show "
    "postcondition_verify read_file search_files shell step_update write_file\n",
    "scripted.yaml": "model scripted, tools note_delete note_list note_read note_write\n",
}


def run(*files: pathlib.Path) -> subprocess.CompletedProcess:
    return subprocess.run([sys.argv[1], *files], capture_output=True, text=True)


def expect(holds: bool, said: subprocess.CompletedProcess) -> None:
    if not holds:
        sys.exit(f"{said.args}: exit code {said.returncode}\n{said.stdout}{said.stderr}")


agents = {file.name: file for file in AGENTS.glob("*.yaml")}
if agents.keys() != SAID.keys():
    sys.exit(f"agents without an expected text: {agents.keys() ^ SAID.keys()}")
for name, file in agents.items():
    said = run(file)
    expect(said.returncode == 0 and said.stdout == f"{file}: {SAID[name]}", said)

with tempfile.TemporaryDirectory() as folder:
    other = pathlib.Path(folder) / "scripted.yaml"
    (other.parent / "scripted.json").write_text((AGENTS / "scripted.json").read_text(encoding="utf-8"), encoding="utf-8")
    text = agents["scripted.yaml"].read_text(encoding="utf-8")
    other.write_text(text + "# a comment\nbudget: {dollars: 1}\n", encoding="utf-8")
    said = run(agents["scripted.yaml"], other)
    expect(said.returncode == 0 and "changed" not in said.stdout, said)
    other.write_text(text + "system_prompt: Hello.\npermissions: {read: ask}\n", encoding="utf-8")
    said = run(agents["scripted.yaml"], other)
    expect(said.stdout.endswith("changed: permissions\nchanged: system_prompt\n"), said)
    other.write_text(text + "tool: {plan: yes}\n", encoding="utf-8")
    said = run(other)
    expect(said.returncode == 1 and said.stderr.startswith(f'{other}:5:1: has no member "tool"; did you mean "tools"?\n{other}:5:14: yes means'), said)
