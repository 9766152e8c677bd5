"""Runs the commands of the pages, and compares their output: pages_test.py PERDURE REFUND_DESK [PAGE…] [--write]

Covers README.md and every page below docs/ that has a block `sh`. The blocks of a page run in one shell, in
order, in a folder of their own; the block `text` that follows one is its expected output. Ids, times and
paths differ from run to run, and are not compared. MODEL_URL is a model server on this machine that plays
the refund desk's script, DESK the folder of the refund desk. After an intended change, --write updates the
pages.
"""

import difflib
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from model_server import ModelServer

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
MARK = "== block"
PLACE = (r"/[^\s\"]*perdure-pages-\w+/work", "~")
TRAILING = (r" +(?=\n)", "")
VARYING = (
    (r"ses_[0-9a-z]{26}", "ses_…"),
    (r"in \d+ ms", "in N ms"),
    (r"store: \S+", "store: …"),
    (r"by \S+\.$", "by …."),
    (r"settled by \S+", "settled by …"),
    (r"\d{4}-\d\d-\d\dT[0-9:.]+Z", "<time>"),
    (r"[0-9a-f]{64}", "<hash>"),
    (r" +\d+\.\d+s\b", " N s"),
    (r"\b[0-9,.]+ (bytes|kB|KB|KiB|MB|MiB)\b", "N bytes"),
    PLACE,
    TRAILING,
)  # fmt: skip


def alike(text: str) -> str:
    for pattern, instead in VARYING:
        text = re.sub(pattern, instead, text, flags=re.MULTILINE)
    return text


def blocks_of(page: pathlib.Path) -> list[tuple[str, str]]:
    """Each script, and its expected output."""
    found: list[tuple[str, str]] = []
    for kind, body in BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "sh":
            found.append((body, ""))
        elif found:
            found[-1] = (found[-1][0], body)
    return found


def write_into(page: pathlib.Path, printed: list[str]) -> None:
    """Replaces every block `text` by the output of the scripts before it."""
    left = iter(printed)
    said = ""

    def fill(block: re.Match) -> str:
        nonlocal said
        if block[1] == "sh":
            said = next(left)
            return block[0]
        return f"```text\n{re.sub(*PLACE, re.sub(*TRAILING, said))}```"

    page.write_text(BLOCK.sub(fill, page.read_text(encoding="utf-8")), encoding="utf-8")


def printed_by(scripts: list[str], environment: dict[str, str]) -> tuple[list[str], str]:
    # Programs that a page leaves running end with it. The shell must not report a process that a tool kills.
    shell = "trap 'kill $(jobs -p) 2>/dev/null' EXIT\n"
    shell += "".join(f"echo '{MARK}'\n{{\n{script}}} 2>&1\n" for script in scripts)
    with tempfile.TemporaryDirectory(prefix="perdure-pages-") as place:
        work = pathlib.Path(place, "work")
        work.mkdir()
        done = subprocess.run(
            ["bash", "-c", shell], cwd=work, env=environment | {"HOME": str(work)},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300,
        )  # fmt: skip
    parts = done.stdout.split(f"{MARK}\n")[1:]
    return [re.sub(r"^.*Killed +.*\n", "", text, flags=re.MULTILINE) for text in parts], done.stderr


def main() -> int:
    words = [word for word in sys.argv[1:] if word != "--write"]
    program, desk = (pathlib.Path(word).resolve() for word in words[:2])
    pages = [pathlib.Path(word).resolve() for word in words[2:]] or [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
    server = ModelServer(json.loads((ROOT / "examples/refund_desk/script.json").read_text())["responses"])
    environment = {
        "PATH": f"{program.parent}:/usr/bin:/bin", "LANG": "C.UTF-8", "USER": "you",
        "MODEL_URL": server.url, "DESK": str(desk.parent),
    }  # fmt: skip
    wrong = ran = 0
    for page in pages:
        blocks = blocks_of(page)
        if not blocks:
            continue
        printed, errors = printed_by([script for script, _ in blocks], environment)
        if "--write" in sys.argv:
            write_into(page, printed)
            continue
        ran += 1
        printed += ["(was not reached)\n"] * (len(blocks) - len(printed))
        for (script, wanted), said in zip(blocks, printed, strict=True):
            if alike(said) != alike(wanted):
                wrong += 1
                print(f"{page.relative_to(ROOT)}: another output of\n{script}{errors}")
                print("\n".join(difflib.unified_diff(alike(wanted).splitlines(), alike(said).splitlines(), lineterm="")))
    server.close()
    print(f"{ran} pages do what they say" if not wrong else f"{wrong} blocks print something else")
    return 1 if wrong or ran == 0 and "--write" not in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
