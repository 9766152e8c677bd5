#!/usr/bin/env python3
"""Runs the long checks and records the commit that each of them checked: tools/verify.py run [PART...] | report

Each part is a target of the Makefile. When it ends, build/verify/PART.stamp records its result, its commit, and
whether the tree had uncommitted changes. `run` without names runs all parts, even after a failure, and fails
if one of them did. `report` shows the stamps and fails unless every part passed on the current commit,
without changes.
"""

import datetime
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PARTS = {
    "lint": ["lint", "LINT=all"],
    "clang": ["clang"],
    "asan": ["asan"],
    "tsan": ["tsan"],
    "mutants": ["mutants"],
    "package": ["package"],
}


def git(root: pathlib.Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=True).stdout.strip()


def state(root: pathlib.Path) -> dict[str, object]:
    """The current commit, and whether files differ from it."""
    return {"commit": git(root, "rev-parse", "HEAD"), "changed": bool(git(root, "status", "--porcelain"))}


def stamp_path(root: pathlib.Path, part: str) -> pathlib.Path:
    return root / "build" / "verify" / f"{part}.stamp"


def run_part(root: pathlib.Path, part: str) -> bool:
    before = state(root)
    print(f"verify: make {' '.join(PARTS[part])}", flush=True)
    began = datetime.datetime.now()
    passed = subprocess.run(["make", "-C", str(root), *PARTS[part]]).returncode == 0
    # It may have missed changes made while it ran.
    stamp = before | {"changed": before["changed"] or state(root) != before}
    ended = datetime.datetime.now()
    stamp |= {"passed": passed, "date": ended.isoformat(" ", "minutes"), "minutes": round((ended - began).seconds / 60)}
    path = stamp_path(root, part)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(stamp, indent=1) + "\n")
    return passed


def why_stale(root: pathlib.Path, stamp: dict[str, object]) -> str:
    """Why the stamp does not apply to the current tree; empty if it does."""
    now = state(root)
    if stamp["changed"]:
        return "the tree had uncommitted changes"
    if stamp["commit"] != now["commit"]:
        return "another commit is checked out"
    return "the tree has changed since" if now["changed"] else ""


def report(root: pathlib.Path) -> bool:
    all_good = True
    for part in PARTS:
        path = stamp_path(root, part)
        if not path.exists():
            print(f"{part:8} never run")
            all_good = False
            continue
        stamp = json.loads(path.read_text())
        stale = why_stale(root, stamp)
        result = "passed" if stamp["passed"] else "FAILED"
        line = f"{part:8} {result} {stamp['commit'][:12]} {stamp['date']} in {stamp['minutes']} min"
        print(f"{line}  stale: {stale}" if stale else line)
        all_good = all_good and stamp["passed"] and not stale
    return all_good


def main(words: list[str], root: pathlib.Path = ROOT) -> int:
    if words == ["report"]:
        return 0 if report(root) else 1
    parts = words[1:] or list(PARTS)
    if words[:1] != ["run"] or not set(parts) <= set(PARTS):
        print(f"usage: verify.py run [PART...] | report; the parts are {', '.join(PARTS)}", file=sys.stderr)
        return 2
    failed = [part for part in parts if not run_part(root, part)]
    report(root)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
