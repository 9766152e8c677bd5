"""Checks that docs/reference/cpp.md lists every public header: cpp_reference_test.py [--root DIR] [--write].

Its description of a header is the first sentence of the header's opening comment, and the types that it
defines. --write regenerates the tables.
"""

import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LAYERS = ("store", "runtime", "agent", "adapters", "core")
# Of other libraries: a user who needs one includes it.
INTERFACES_OF_OTHERS = {f"perdure/adapters/{name}.hpp" for name in ("checkpointer", "saver")}
MARKS = re.compile(r"(?<=<!-- made by tests/docs/cpp_reference_test.py -->\n).*(?=<!-- end -->)", re.DOTALL)


def row_of(root: pathlib.Path, header: pathlib.Path) -> str:
    text = header.read_text(encoding="utf-8")
    comment = re.match(r"(?:// .+\n)+", text)[0]
    words = " ".join(line.removeprefix("// ") for line in comment.splitlines())
    sentence = re.match(r".+?(?=\.(?: |$)|$)", words)[0]
    types = re.findall(r"^(?:class|struct|enum class) (\w+)[^;]*?\{", text, re.MULTILINE)
    names = ", ".join(f"`{name}`" for name in dict.fromkeys(types))
    path = header.relative_to(root).as_posix()
    return f"| [{header.name}](../../{path}) | {sentence.replace('|', chr(92) + '|')} | {names} |\n"


def tables(root: pathlib.Path) -> str:
    text = ""
    for folder in ("perdure", *(f"perdure/{layer}" for layer in LAYERS)):
        text += f"\n## `{folder}/`\n\n| header | what it is | types |\n|---|---|---|\n"
        text += "".join(row_of(root, header) for header in sorted(root.glob(f"include/{folder}/*.hpp")))
    return text + "\n"


def included(file: pathlib.Path) -> set[str]:
    return set(re.findall(r'^#include ["<](perdure/[^">]+)', file.read_text(encoding="utf-8"), re.MULTILINE))


def outside_umbrella(root: pathlib.Path) -> set[str]:
    """Headers that an example includes, but perdure.hpp does not."""
    covered: set[str] = set()
    todo = {"perdure/perdure.hpp"}
    while todo:
        name = todo.pop()
        covered.add(name)
        todo |= included(root / "include" / name) - covered
    examples = set().union(*(included(file) for file in root.glob("examples/**/*.cpp")))
    return examples - covered - INTERFACES_OF_OTHERS


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=pathlib.Path, default=ROOT)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    page = given.root / "docs/reference/cpp.md"
    text = page.read_text(encoding="utf-8")
    wanted = MARKS.sub(lambda _: tables(given.root), text, count=1)
    if given.write:
        page.write_text(wanted, encoding="utf-8")
    elif wanted != text:
        print("docs/reference/cpp.md: the headers say something else; run this with --write")
        return 1
    if missing := outside_umbrella(given.root):
        print(f"an example includes what perdure.hpp does not: {', '.join(sorted(missing))}")
        return 1
    print("every public header is listed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
