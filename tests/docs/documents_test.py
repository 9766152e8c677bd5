"""Checks that the documents match the repository: documents_test.py [--root DIR].

Checks the documents at the root and below docs/:

- A fenced block after a line `<!-- path -->` is that file, byte for byte. After `<!-- path [name] -->` it is
  the part between the lines `// [name]` and `// [end]`, less its indentation; `[main]` is the function main,
  at the end of the file. Every C++ block has such a line, except in STYLE.md.
- Every link leads to a file, and to a heading in it. Every page but the index is linked from another one,
  and listed in docs/llms.txt.
- Commands and options, names of tests, and targets of make exist.
- docs/errors has one page for every code of error.hpp.
- docs/guarantees.md has at most 70 rows, each with a unique name, a condition, and tests that exist.
- docs/concepts/glossary.md: the names in C++ and on the command line exist, and all terms of ARCHITECTURE.md
  are defined.
- Figures of README.md are in docs/benchmarks.md, beside the cell of the benchmark that measures them.
- ARCHITECTURE.md is one page, decisions are short dated files, and the inputs of cmake/Doxyfile exist.
"""

import argparse
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
README_LINES_MAX = 150
ARCHITECTURE_LINES_MAX = 120
ARCHITECTURE_COLUMNS_MAX = 100
ROOT_PAGES = ("ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "STYLE.md")
BLOCK = re.compile(
    r"^(?:<!-- (?P<path>[^\n]+?)(?: \[(?P<part>\w+)\])? -->\n)?```(?P<language>[a-z+]*)\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE
)
TEST_MACRO = re.compile(r"^(?:TEST(?:_P|_F)?|RC_GTEST_PROP)\((\w+),\s*(\w+)", re.MULTILINE)
GUARANTEES_MAX = 70
ROW_NAME = re.compile(r"[a-z]+(-[a-z]+)*")


def part_of(text: str, name: str | None) -> str | None:
    """The named part of a source, or all of it without a name; None if there is no such part."""
    if name is None:
        return text
    shape = r"^(int main\(.*)" if name == "main" else rf"^ *// \[{name}\]\n(.*?)^ *// \[end\]$"
    part = re.search(shape, text, re.DOTALL | re.MULTILINE)
    return textwrap.dedent(part[1]) if part else None


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
            continue
        shown = part_of(file.read_text(encoding="utf-8"), block["part"])
        if shown is None:
            found.append(f"{name}:{line}: {block['path']} has no part [{block['part']}]")
        elif shown != block["code"]:
            found.append(f"{name}:{line}: the block is not what {block['path']} has; copy it in")
    return found


def link_findings(root: pathlib.Path, documents: list[pathlib.Path]) -> list[str]:
    found, named = [], {root / "README.md", root / "docs/index.md"}  # The two entrances.
    for document in documents:
        text = re.sub(r"```.*?^```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
        for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
            if re.match(r"[a-z]+:", link):
                continue
            target = (document.parent / link).resolve()
            named.add(target)
            if not target.exists():
                found.append(f"{document.relative_to(root)}: the link {link} leads nowhere")
    found += [f"{page.relative_to(root)}: no page names it" for page in documents if page not in named]
    index = (root / "docs/llms.txt").read_text(encoding="utf-8")
    listed = set(re.findall(r"^- \[[^\n]*\]\(([^)]+)\)$", index, re.MULTILINE))
    pages = {str(page.relative_to(root / "docs")) for page in documents if page.is_relative_to(root / "docs")}
    # Commands, errors and decisions have indexes of their own.
    pages = {page for page in pages if not re.match(r"(reference/cli|errors|decisions)/(?!README)", page)}
    found += [f"docs/llms.txt: {page} is missing, or no page" for page in sorted(pages ^ listed)]
    return found


def command_findings(root: pathlib.Path, documents: list[pathlib.Path]) -> list[str]:
    """In `console` and `sh` blocks, lines that begin with perdure use existing commands and options."""
    commands = {page.stem: page.read_text(encoding="utf-8") for page in root.glob("docs/reference/cli/*.md")}
    found = []
    for document in documents:
        for block in re.findall(r"^```(?:console|sh)\n(.*?)^```$", document.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
            for name, rest in re.findall(r"^(?:\$ )?perdure (?:-q )?([a-z]+)\b([^#\n|;]*)", block, re.MULTILINE):
                text = commands.get(name, "") + commands["README"]
                wrong = [] if name in commands else [name]
                wrong += [option for option in re.findall(r"(?<=\s)--[a-z-]+", rest) if f"{option}" not in text]
                found += [f"{document.relative_to(root)}: `perdure {name}{rest.rstrip()}`: there is no {word}" for word in wrong]
    return found


def error_findings(root: pathlib.Path) -> list[str]:
    """Each code has one page, and a row in the index."""
    header = (root / "include/perdure/core/error.hpp").read_text(encoding="utf-8")
    codes = set(re.findall(r"^  (\w+),", header.partition("enum class ErrorCode {")[2].partition("};")[0], re.MULTILINE))
    pages = {page.stem for page in root.glob("docs/errors/*.md")} - {"README"}
    rows = set(re.findall(r"^\| \[(\w+)\]\(\1\.md\)", (root / "docs/errors/README.md").read_text(encoding="utf-8"), re.MULTILINE))
    found = [f"docs/errors: no page, or no row, of {code}" for code in sorted(codes - (pages & rows))]
    return found + [f"docs/errors: there is no code {page}" for page in sorted((pages | rows) - codes)]


def test_name_findings(root: pathlib.Path, documents: list[pathlib.Path]) -> list[str]:
    """A test that a page names as `Suite.Test` exists."""
    known = tests_there_are(root)
    found = []
    for document in documents:
        names = re.findall(r"`([A-Z]\w+\.[A-Z]\w+)`", document.read_text(encoding="utf-8"))
        found += [f"{document.relative_to(root)}: there is no test {name}" for name in names if name not in known]
    return found


def glossary_findings(root: pathlib.Path) -> list[str]:
    text = (root / "docs/concepts/glossary.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if re.match(r"\| (?!word |-)", line)]
    promised = "".join(header.read_text(encoding="utf-8") for header in root.glob("include/perdure/**/*.hpp"))
    commands = {page.stem for page in root.glob("docs/reference/cli/*.md")}
    found = [] if rows else ["docs/concepts/glossary.md: has no words"]
    for name in (name for row in rows for name in re.findall(r"`([^`]+)`", row[2])):
        command = re.fullmatch(r"perdure ([a-z]+)", name)
        if command and command[1] not in commands:
            found.append(f"docs/concepts/glossary.md: there is no command {name}")
        if not command and not all(re.search(rf"\b{part}\b", promised) for part in name.split("::")):
            found.append(f"docs/concepts/glossary.md: no header has {name}")
    words = {word for row in rows for word in row[0].split(", ")}
    architecture = (root / "ARCHITECTURE.md").read_text(encoding="utf-8").partition("## The words")[2].partition("\n## ")[0]
    wanted = set(re.findall(r"\*\*([^*]+)\*\*", architecture))
    found += [] if wanted else ["ARCHITECTURE.md: names no words"]
    return found + [f"docs/concepts/glossary.md: the word {word} is missing" for word in sorted(wanted - words)]


def anchor_findings(root: pathlib.Path, documents: list[pathlib.Path]) -> list[str]:
    """A heading's anchor is its text in lower case with dashes for spaces, as on GitHub."""
    found = []
    for document in documents:
        for link, anchor in re.findall(r"\]\(([^)#\s:]*)#([^)]+)\)", document.read_text(encoding="utf-8")):
            target = (document.parent / link).resolve() if link else document
            if not target.is_file():
                continue
            headings = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
            if anchor not in anchors:
                found.append(f"{document.relative_to(root)}: {link}#{anchor} leads to no heading")
    return found


def figure_findings(root: pathlib.Path) -> list[str]:
    """Each row under "Measured" is the beginning of a row of docs/benchmarks.md, and names an existing cell."""
    section = (root / "README.md").read_text(encoding="utf-8").partition("## Measured\n")[2].partition("\n## ")[0]
    measured = (root / "docs/benchmarks.md").read_text(encoding="utf-8").splitlines()
    cells = set(re.findall(r'^    "([a-z-]+)": measure_', (root / "bench/cells.py").read_text(encoding="utf-8"), re.MULTILINE))
    rows = re.findall(r"^(\| (?!what ).+ \|) `([^`]+)` \|$", section, re.MULTILINE)
    found = [] if rows else ["README.md: shows no figures"]
    found += [f"README.md: docs/benchmarks.md has no row {row}" for row, _ in rows if not any(line.startswith(row) for line in measured)]
    return found + [f"README.md: the benchmark has no cell {cell}" for _, cell in rows if cell not in cells]


def page_findings(root: pathlib.Path) -> list[str]:
    """ARCHITECTURE.md is one page; a decision is a short dated file that its index lists in order."""
    architecture = (root / "ARCHITECTURE.md").read_text(encoding="utf-8").splitlines()
    found = [] if len(architecture) <= ARCHITECTURE_LINES_MAX else [f"ARCHITECTURE.md: {len(architecture)} lines, more than a page"]
    found += [
        f"ARCHITECTURE.md:{number}: longer than {ARCHITECTURE_COLUMNS_MAX} columns"
        for number, line in enumerate(architecture, 1)
        if len(line) > ARCHITECTURE_COLUMNS_MAX
    ]
    pages = sorted(page for page in root.glob("docs/decisions/*.md") if page.name != "README.md")
    for page in pages:
        text = page.read_text(encoding="utf-8")
        if not re.match(rf"# .+\n\n{page.name[:10]}\n\n\*\*Decision\.\*\* ", text) or not re.match(r"\d{4}-\d\d-\d\d-", page.name):
            found.append(f"docs/decisions/{page.name}: begins with a title, the date of its name, and the decision")
    index = (root / "docs/decisions/README.md").read_text(encoding="utf-8")
    rows = [f"- {page.name[:10]}: [{page.read_text(encoding='utf-8').splitlines()[0][2:]}]({page.name})" for page in pages]
    if rows != re.findall(r"^- .+$", index, re.MULTILINE):
        found.append("docs/decisions/README.md: does not list each decision by date, title and file")
    return found


def doxyfile_findings(root: pathlib.Path) -> list[str]:
    """The inputs and the filter of `make docs` exist."""
    text = (root / "cmake/Doxyfile").read_text(encoding="utf-8")
    inputs = re.findall(r"^INPUT += (.+)$", text, re.MULTILINE) + re.findall(r"^INPUT_FILTER += \"awk -f (.+)\"$", text, re.MULTILINE)
    found = [] if len(inputs) == 2 else ["cmake/Doxyfile: names no input, or no filter"]
    return found + [f"cmake/Doxyfile: there is no {name}" for name in inputs if not (root / name).exists()]


def make_findings(root: pathlib.Path, documents: list[pathlib.Path]) -> list[str]:
    targets = set(re.findall(r"^([a-z-]+):", (root / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    found = []
    for document in documents:
        named = re.findall(r"(?:`|^)make ((?:[a-z-]+ ?)+)", document.read_text(encoding="utf-8"), re.MULTILINE)
        wrong = sorted({name for names in named for name in names.split()} - targets)
        found += [f"{document.relative_to(root)}: there is no target `make {name}`" for name in wrong]
    return found


def tests_there_are(root: pathlib.Path) -> set[str]:
    """Every `Suite.Test` of C++, and the names of script tests in CMake."""
    sources = [*root.glob("tests/**/*.cpp"), *root.glob("src/**/*_test.cpp")]
    lists = [*root.glob("tests/**/CMakeLists.txt"), *root.glob("tests/**/*.cmake")]
    found = {f"{suite}.{test}" for source in sources for suite, test in TEST_MACRO.findall(source.read_text(encoding="utf-8"))}
    for text in (file.read_text(encoding="utf-8") for file in lists):
        found |= set(re.findall(r"add_test\(\s*NAME\s+(\w+)", text))
        found |= {f"cli_{name}" for names in re.findall(r"foreach\(name ([\w ]+)\)", text) for name in names.split()}
    return found


def guarantee_findings(root: pathlib.Path) -> list[str]:
    text = (root / "docs/guarantees.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines() if line.startswith("| `")]
    names = [row[0].strip("`") for row in rows]
    found = [] if 0 < len(rows) <= GUARANTEES_MAX else [f"{len(rows)} rows, not 1 to {GUARANTEES_MAX}"]
    found += [f"two rows are called {name}" for name in sorted(set(names)) if names.count(name) > 1]
    found += [f"not a name of a row: {name}" for name in names if not ROW_NAME.fullmatch(name)]
    known = tests_there_are(root)
    for name, row in zip(names, rows):
        if len(row) != 4 or not all(row):
            found.append(f"{name}: a row is a name, a promise, its conditions and its tests")
            continue
        found += [] if re.search("`.+`", row[3]) else [f"{name}: names no test"]
        found += [f"{name}: there is no test {test}" for test in re.findall(r"`(.+?)`", row[3]) if test not in known]
    return [f"docs/guarantees.md: {what}" for what in found]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=pathlib.Path, default=ROOT)
    root = parser.parse_args().root
    documents = [root / "README.md", *(root / name for name in ROOT_PAGES), *sorted(root.glob("docs/**/*.md"))]
    found = [finding for document in documents for finding in block_findings(root, document) if document.name != "STYLE.md"]
    if "<!-- examples/" not in documents[0].read_text(encoding="utf-8"):
        found.append("README.md: shows no file of the repository; its first example should be one")
    lines = documents[0].read_text(encoding="utf-8").count("\n")
    if lines > README_LINES_MAX:
        found.append(f"README.md: {lines} lines, more than {README_LINES_MAX}")
    found += page_findings(root) + doxyfile_findings(root)
    found += link_findings(root, documents) + command_findings(root, documents) + error_findings(root) + guarantee_findings(root)
    found += glossary_findings(root) + anchor_findings(root, documents) + test_name_findings(root, documents)
    found += figure_findings(root) + make_findings(root, documents)
    print("\n".join(found) if found else f"{len(documents)} documents show what there is")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
