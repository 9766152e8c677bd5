"""Code in README.md is code that is compiled and run: readme_test.py [--root DIR].

A fenced block after a line `<!-- path -->` must be that file, byte for byte. Every C++ block must
have such a line, so that none can rot unseen.
"""

import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BLOCK = re.compile(
    r"^(?:<!-- (?P<path>[^\n]+?) -->\n)?```(?P<language>[a-z+]*)\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE
)


def findings(root: pathlib.Path) -> list[str]:
    text = (root / "README.md").read_text(encoding="utf-8")
    found = []
    compared = 0
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start()) + 1
        if block["path"] is None:
            if block["language"] in {"cpp", "c++"}:
                found.append(f"README.md:{line}: a C++ block without a line <!-- file --> before it")
            continue
        file = root / block["path"]
        if not file.is_file():
            found.append(f"README.md:{line}: there is no file {block['path']}")
        elif file.read_text(encoding="utf-8") != block["code"]:
            found.append(f"README.md:{line}: the block is not {block['path']}; copy the file in")
        compared += 1
    if compared == 0:
        found.append("README.md: shows no file of the repository; its first example should be one")
    return found


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=pathlib.Path, default=ROOT)
    found = findings(parser.parse_args().root)
    print("\n".join(found) if found else "README.md shows its files as they are")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
