"""Checks that docs/holes.md states the status of every hole and names existing tests: holes_test.py [--root DIR].

All 52 numbers, in order. A closed hole, or one closed in part, names tests (`TARGET Suite.Test`). A
hole that is not closed states what comes later.
"""

import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HOLES = 52
TEST = re.compile(r"`(\w+) (\w+)\.(\w+)`")
TEST_MACRO = re.compile(r"^(?:TEST(?:_P|_F)?|RC_GTEST_PROP)\((\w+),\s*(\w+)", re.MULTILINE)
TARGET = re.compile(r"^perdure_test\(\s*(\w+)([^)]*)\)", re.MULTILINE)


def sources_of_targets(root: pathlib.Path) -> dict[str, list[pathlib.Path]]:
    targets = {f"{layer.name}_test": [*layer.glob("**/*_test.cpp")] for layer in (root / "src").iterdir()}
    for listing in root.glob("tests/**/sources.cmake"):
        for name, rest in TARGET.findall(listing.read_text(encoding="utf-8")):
            targets[name] = [root / "tests" / word for word in rest.split() if word.endswith(".cpp")]
    return targets


def tests_there_are(root: pathlib.Path) -> set[tuple[str, str, str]]:
    return {
        (target, *test)
        for target, sources in sources_of_targets(root).items()
        for source in sources
        if source.is_file()
        for test in TEST_MACRO.findall(source.read_text(encoding="utf-8"))
    }


def row_findings(cells: list[str], known: set[tuple[str, str, str]]) -> list[str]:
    here = cells[3]
    word = re.match(r"\*\*(Closed|Partly|Open|Not ours)\b", here)
    if not word:
        return ["is none of Closed, Partly, Open and Not ours"]
    found = [f"there is no test {t[0]} {t[1]}.{t[2]}" for t in TEST.findall(here) if t not in known]
    if word[1] in {"Closed", "Partly"} and not TEST.search(here):
        found.append("closed, but by no test")
    if word[1] in {"Partly", "Open"} and not re.search(r"\blater\b", here):
        found.append("does not state what comes later")
    return found


def findings(root: pathlib.Path) -> list[str]:
    lines = (root / "docs/holes.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| H")]
    numbers = [row[0] for row in rows]
    if numbers != [f"H{number}" for number in range(1, HOLES + 1)]:
        return [f"the numbers are not H1 to H{HOLES}, each once, in order: {' '.join(numbers)}"]
    known = tests_there_are(root)
    found = [f"{row[0]}: has {len(row)} cells, not 4" for row in rows if len(row) != 4]
    found += [f"{row[0]}: {what}" for row in rows if len(row) == 4 for what in row_findings(row, known)]
    return found


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=pathlib.Path, default=ROOT)
    found = findings(parser.parse_args().root)
    print("\n".join(f"docs/holes.md: {what}" for what in found) if found else f"{HOLES} holes, each accounted for")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
