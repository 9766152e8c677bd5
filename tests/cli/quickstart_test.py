"""Does what docs/quickstart/cli.md says, and compares what it prints: quickstart_test.py PERDURE [--show]

A block `sh` is run in one shell, after those before it; the block `text` that follows is what it prints.
Ids, times and the place of the store differ from run to run, and are not compared. --show prints all, to be
copied into the page after a change that is meant.
"""

import difflib
import pathlib
import re
import subprocess
import sys
import tempfile

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/quickstart/cli.md"
BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
MARK = "== block"
VARYING = (
    (r"ses_[0-9a-z]{26}", "ses_…"),
    (r"in \d+ ms", "in N ms"),
    (r" +\d+\.\d+s$", " N s"),
    (r"store: \S+", "store: …"),
    (r"by \S+\.$", "by …."),
)


def alike(text: str) -> str:
    for pattern, instead in VARYING:
        text = re.sub(pattern, instead, text, flags=re.MULTILINE)
    return text


def main() -> int:
    program = pathlib.Path(sys.argv[1]).resolve()
    scripts: list[str] = []
    expected: list[str] = []
    for kind, body in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        if kind == "sh":
            scripts.append(body)
            expected.append("")
        else:
            expected[-1] = body
    # A process that a tool kills must not make the shell speak.
    shell = "".join(f"echo '{MARK}'\n{{\n{script}}} 2>&1\n" for script in scripts)
    with tempfile.TemporaryDirectory() as place:
        environment = {"PATH": f"{program.parent}:/usr/bin:/bin", "HOME": place, "LANG": "C.UTF-8"}
        done = subprocess.run(
            ["bash", "-c", shell], cwd=place, env=environment, capture_output=True, text=True, timeout=100
        )
    printed = done.stdout.split(f"{MARK}\n")[1:]
    printed = [re.sub(r"^.*Killed +.*\n", "", text, flags=re.MULTILINE) for text in printed]
    if "--show" in sys.argv:
        print("\n---\n".join(printed) + done.stderr)
        return 0
    wrong = 0
    for script, said, wanted in zip(scripts, printed, expected, strict=True):
        if alike(said) != alike(wanted):
            wrong += 1
            print(f"{PAGE.name}: another output of\n{script}")
            print("\n".join(difflib.unified_diff(alike(wanted).splitlines(), alike(said).splitlines(), lineterm="")))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
