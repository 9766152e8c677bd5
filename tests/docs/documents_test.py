"""What documents show is what the repository holds: documents_test.py [--root DIR].

Of README.md and docs/*.md: a fenced block after a line `<!-- path -->` must be that file, byte for
byte, and every C++ block must have such a line, so that none can rot unseen. Of docs/guarantees.md:
every row names tests, and each of them exists.
"""

import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BLOCK = re.compile(
    r"^(?:<!-- (?P<path>[^\n]+?) -->\n)?```(?P<language>[a-z+]*)\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE
)
TEST_NAME = re.compile(r"`(\w+)\.(\w+)`")


def block_findings(root: pathlib.Path, document: pathlib.Path) -> list[str]:
    text = document.read_text(encoding="utf-8")
    name = document.relative_to(root)
    found = []
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start()) + 1
        if block["path"] is None:
            if block["language"] in {"cpp", "c++"}:
                found.append(f"{name}:{line}: a C++ block without a line <!-- file --> before it")
            continue
        file = root / block["path"]
        if not file.is_file():
            found.append(f"{name}:{line}: there is no file {block['path']}")
        elif file.read_text(encoding="utf-8") != block["code"]:
            found.append(f"{name}:{line}: the block is not {block['path']}; copy the file in")
    return found


def tests_there_are(root: pathlib.Path) -> set[tuple[str, str]]:
    test = re.compile(r"^TEST(?:_P|_F)?\((\w+),\s*(\w+)\)", re.MULTILINE)
    sources = [*root.glob("tests/**/*.cpp"), *root.glob("src/**/*_test.cpp")]
    return {found.groups() for source in sources for found in test.finditer(source.read_text(encoding="utf-8"))}


def guarantee_findings(root: pathlib.Path) -> list[str]:
    document = root / "docs/guarantees.md"
    rows = [line for line in document.read_text(encoding="utf-8").splitlines() if line.startswith("| **")]
    known = tests_there_are(root)
    found = [] if rows else ["docs/guarantees.md: has no rows"]
    for row in rows:
        named = TEST_NAME.findall(row)
        if not named:
            found.append(f"docs/guarantees.md: no test behind: {row[:60]}")
        found += [f"docs/guarantees.md: there is no test {'.'.join(t)}" for t in named if t not in known]
    return found


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=pathlib.Path, default=ROOT)
    root = parser.parse_args().root
    documents = [root / "README.md", *sorted(root.glob("docs/**/*.md"))]
    found = [finding for document in documents for finding in block_findings(root, document)]
    if "<!-- examples/" not in documents[0].read_text(encoding="utf-8"):
        found.append("README.md: shows no file of the repository; its first example should be one")
    found += guarantee_findings(root)
    print("\n".join(found) if found else f"{len(documents)} documents show what there is")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
