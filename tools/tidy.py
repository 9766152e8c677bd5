#!/usr/bin/env python3
"""Checks the style rules that no compiler checks: tools/tidy.py [--root DIR].

Prints one line per finding and fails if there is any. STYLE.md explains the rules.

An exception is one line of tools/tidy_allow.txt: `rule path limit reason`. The limit is what the
rule measures in that file or folder (lines for `size`, methods for `seam`, files for `folder`, else
the number of findings). Exceeding it is a finding, and so is a line that is no longer needed, so the
list only shrinks.
"""

import argparse
import collections
import os
import pathlib
import re
import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

LAYERS = ["core", "store", "runtime", "agent", "team"]
EDGES = ["cli", "server", "bindings"]  # all above the layers; they may not include each other
ADAPTERS = "adapters"  # over store and runtime, for users only: no other layer includes it
BELOW_ADAPTERS = {"core", "store", "runtime"}
UMBRELLA = "perdure/perdure.hpp"  # for users only
STRANGERS = [("src/store/memory/", "src/store/sqlite/"), ("src/store/sqlite/", "src/store/memory/")]

BANNED_NAMES = {"util", "utils", "helper", "helpers", "common", "misc", "manager"}
BANNED_WORDS = re.compile(r"\b(FIXME|XXX|HACK|TODO)\b")
# Time, randomness and the environment are injected, so that tests can control them.
BANNED_CALLS = re.compile(
    r"\b(?:(?:system|steady|high_resolution)_clock::now|random_device|sleep_for|sleep_until|usleep"
    r"|nanosleep|clock_gettime|getenv)\b"
)
CALLS_ALLOWED = ("src/core/time.cpp", "src/core/id.cpp", "src/cli/", "examples/", "bench/")

SIZE_MAX = {"header": 400, "source": 1000, "test": 1000}
SEAM_METHODS_MAX = 8
FOLDER_FILES_MAX = 40
STORE_FOLDER = "include/perdure/store"
STORE_HEADERS = (STORE_FOLDER + "/", "src/store/api/")
STORE_METHODS_MAX = 45  # All roles of the store together.
# The promise: what users include. They read it in an hour.
PUBLIC_HEADERS_MAX = 34
PUBLIC_LINES_MAX = 3500
COMMENT_PERCENT_MIN = 30
ABSTRACT_METHOD = re.compile(r"\bvirtual\b[^;~{}]*=\s*0\s*;")
# `virtual Log& log() = 0;` only returns another seam, which is counted separately.
DOOR = re.compile(r"\bvirtual\s+\w+&\s+\w+\(\)\s*(?:const\s*)?=\s*0\s*;")

# A fuzz corpus holds arbitrary bytes.
SKIPPED_FOLDERS = {".git", "build", "__pycache__", "node_modules", ".cache", "corpus"}
# The script and its tests contain the banned words.
OWN_FILES = ("tools/tidy.py", "tools/tidy_test.py", "tools/tidy_allow.txt")
CPP = {".cpp", ".hpp", ".c", ".h"}
CODE = CPP | {".py", ".cmake", ".sh", ".sql"}
OPENING = {".cpp": ("//", "/*"), ".hpp": ("//", "/*"), ".c": ("/*", "//"), ".h": ("/*", "//")}
OPENING |= {".py": ('"""', "#"), ".sql": ("--", "/*")}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


class Finding(NamedTuple):
    rule: str
    path: str
    line: int
    message: str
    measure: int = 0  # 0: findings of this rule in this file are counted


class File:
    """One text file: its path from the root, its lines, and its lines without comments."""

    def __init__(self, root: pathlib.Path, path: str):
        self.path = path
        self.suffix = pathlib.PurePath(path).suffix
        self.text = (root / path).read_text(encoding="utf-8", errors="replace")
        self.lines = self.text.splitlines()

    @property
    def is_code(self) -> bool:
        name = pathlib.PurePath(self.path).name
        return self.suffix in CODE or name in {"CMakeLists.txt", "Makefile"} or self.text.startswith("#!")

    def code_lines(self) -> list[str]:
        """The lines with comments and the insides of strings blanked out."""
        if self.suffix not in CPP:
            return self.lines
        token = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"', re.DOTALL)
        blanked = token.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), self.text)
        return blanked.splitlines()

    def includes(self) -> Iterator[tuple[int, str, str]]:
        for number, line in enumerate(self.lines, 1):
            if match := INCLUDE.match(line):
                yield number, match[1], match[2]


class Tree:
    def __init__(self, root: pathlib.Path):
        self.root = root
        self.paths = sorted(self._walk())
        self.known = set(self.paths)
        self.files = [File(root, path) for path in self.paths]

    def _walk(self) -> Iterator[str]:
        for folder, folders, names in os.walk(self.root):
            folders[:] = [name for name in folders if name not in SKIPPED_FOLDERS]
            for name in names:
                path = pathlib.Path(folder, name)
                if path.suffix in CODE | {".md", ".json", ".txt", ".in"} or not path.suffix:
                    yield path.relative_to(self.root).as_posix()

    def resolve(self, file: File, name: str) -> str:
        """The path of an included file, or "" if it is not ours."""
        parts = pathlib.PurePath(file.path).parts
        roots = [os.path.dirname(file.path), "include"]
        if parts[0] == "src":
            roots += ["/".join(parts[:2]), "src"]
        roots += ["tests", "src"]
        for root in roots:
            path = os.path.normpath(os.path.join(root, name))
            if path in self.known:
                return path
        return ""


def layer_of(path: str) -> str:
    parts = pathlib.PurePath(path).parts
    if parts[0] == "include" and len(parts) > 3:
        return parts[2]
    if parts[0] == "src" and len(parts) > 2:
        return parts[1]
    return parts[0] if parts[0] == "bindings" else ""


def points_up(user: str, used: str) -> bool:
    if user == used or not user or not used:
        return False
    if user == ADAPTERS:
        return used not in BELOW_ADAPTERS
    if used in EDGES or used == ADAPTERS:
        return True
    if user in EDGES:
        return False
    return user not in LAYERS or used not in LAYERS or LAYERS.index(used) > LAYERS.index(user)


def check_layers(tree: Tree) -> Iterator[Finding]:
    for file in tree.files:
        user = layer_of(file.path)
        if file.suffix not in CPP or not user:
            continue
        for number, _, name in file.includes():
            if name == UMBRELLA:
                yield Finding("layer", file.path, number, f"{name} includes every layer: include what is used")
            target = tree.resolve(file, name)
            used = layer_of(target) if target else layer_of("include/" + name)
            if points_up(user, used):
                yield Finding("layer", file.path, number, f"{user} may not include {used} ({name})")
            elif target.startswith(f"src/{used}/api/"):
                # Shared with our layers above, but not installed, so a public header may not include it.
                if file.path.startswith("include/"):
                    yield Finding("layer", file.path, number, f"{name} is not installed")
            elif target.startswith("src/") and (used != user or f"/{used}/api/" in file.path):
                yield Finding("layer", file.path, number, f"{name} is private to {used}")
            for mine, theirs in STRANGERS:
                if file.path.startswith(mine) and target.startswith(theirs):
                    yield Finding("layer", file.path, number, f"{mine} and {theirs} may not include each other")


def check_public(tree: Tree) -> Iterator[Finding]:
    for file in tree.files:
        if not file.path.startswith("include/"):
            continue
        for number, _, name in file.includes():
            if not name.startswith("perdure/") and not re.fullmatch(r"[a-z0-9_]+", name):
                yield Finding("public", file.path, number, f"a public header may not include {name}")


def check_names(tree: Tree) -> Iterator[Finding]:
    for path in tree.paths:
        words = set(re.split(r"[/_.\-]", path.lower()))
        for word in sorted(words & BANNED_NAMES):
            yield Finding("name", path, 1, f"'{word}' is not a concept; name the file after its concept")


def check_words(tree: Tree) -> Iterator[Finding]:
    for file in tree.files:
        for number, line in enumerate(file.lines, 1) if file.is_code else ():
            if match := BANNED_WORDS.search(line):
                yield Finding("word", file.path, number, f"{match[1]}: do it, or open an issue")


def check_calls(tree: Tree) -> Iterator[Finding]:
    for file in tree.files:
        if file.suffix not in CPP or file.path.startswith(CALLS_ALLOWED):
            continue
        for number, line in enumerate(file.code_lines(), 1):
            if match := BANNED_CALLS.search(line):
                yield Finding("call", file.path, number, f"{match[0]} is not allowed in this file; inject it")


def check_opening(tree: Tree) -> Iterator[Finding]:
    for file in tree.files:
        if not file.is_code:
            continue
        lines = file.lines[1:] if file.text.startswith("#!") else file.lines
        opening = OPENING.get(file.suffix, ("#", '"""'))
        if not lines or not lines[0].startswith(opening):
            yield Finding("opening", file.path, 1, "has no opening comment that describes it")


def check_size(tree: Tree) -> Iterator[Finding]:
    for file in tree.files:
        if not file.is_code:
            continue
        kind = "header" if file.suffix in {".hpp", ".h"} else "source"
        if file.path.startswith("tests/") or pathlib.PurePath(file.path).stem.endswith("_test"):
            kind = "test"
        lines = len(file.lines)
        if lines > SIZE_MAX[kind]:
            message = f"{lines} lines; a {kind} has at most {SIZE_MAX[kind]}. Cut by concept."
            yield Finding("size", file.path, 1, message, lines)


def check_white_space(tree: Tree) -> Iterator[Finding]:
    for file in tree.files:
        is_makefile = pathlib.PurePath(file.path).name.startswith("Makefile")
        for number, line in enumerate(file.text.split("\n"), 1):
            if "\t" in line and not is_makefile:
                yield Finding("space", file.path, number, "a tab")
            if line != line.rstrip():
                yield Finding("space", file.path, number, "white space at the end of the line")
        if file.text and not file.text.endswith("\n"):
            yield Finding("space", file.path, len(file.lines), "no newline at the end of the file")


def class_bodies(code: str) -> Iterator[tuple[str, int, str]]:
    """Name, line and text between the braces of each class, nested ones included."""
    for match in re.finditer(r"\b(?:class|struct)\s+(\w+)[^;{()<>=]*\{", code):
        depth, end = 1, match.end()
        while depth and end < len(code):
            depth += {"{": 1, "}": -1}.get(code[end], 0)
            end += 1
        yield match[1], code.count("\n", 0, match.start()) + 1, code[match.end() : end]


def check_seams(tree: Tree) -> Iterator[Finding]:
    for file in tree.files:
        if not file.path.startswith("include/perdure/"):
            continue
        for name, line, body in class_bodies("\n".join(file.code_lines())):
            methods = len(ABSTRACT_METHOD.findall(body)) - len(DOOR.findall(body))
            if methods > SEAM_METHODS_MAX:
                message = f"{name} has {methods} abstract methods, at most {SEAM_METHODS_MAX}: split it"
                yield Finding("seam", file.path, line, message, methods)
    headers = [file for file in tree.files if file.path.startswith(STORE_HEADERS)]
    methods = sum(len(re.findall(r"\bvirtual\b(?!\s*~)", "\n".join(file.code_lines()))) for file in headers)
    if methods > STORE_METHODS_MAX:
        message = f"the store has {methods} virtual methods, at most {STORE_METHODS_MAX}: compute some from others"
        yield Finding("seam", STORE_FOLDER, 1, message, methods)


# What a header declares at namespace scope: it begins in the first column.
DECLARED = re.compile(
    r"^(?:class|struct|enum class) (?:\[\[nodiscard\]\] )?(\w+)[^;{]*\{"
    r"|^(?:using|inline constexpr [\w:<>]+) (\w+)"
    r"|^(?:\[\[nodiscard\]\] )?(?:constexpr )?[A-Za-z_][\w:<>, *&]*[ *&](\w+)\(",
    re.MULTILINE,
)


def check_promise(tree: Tree) -> Iterator[Finding]:
    """Few public headers, short ones, with comments, and in each something that an example shows."""
    home = "include/perdure"
    headers = [file for file in tree.files if file.path.startswith(home + "/")]
    if len(headers) > PUBLIC_HEADERS_MAX:
        message = f"{len(headers)} public headers, at most {PUBLIC_HEADERS_MAX}: merge, or move to src/<layer>/api"
        yield Finding("headers", home, 1, message, len(headers))
    lines = [line.strip() for file in headers for line in file.lines]
    if len(lines) > PUBLIC_LINES_MAX:
        message = f"{len(lines)} lines of public headers, at most {PUBLIC_LINES_MAX}: what does a user not need?"
        yield Finding("promise", home, 1, message, len(lines))
    comments = sum(line.startswith("//") for line in lines)
    full = sum(bool(line) for line in lines)
    if full >= 100 and comments * 100 < full * COMMENT_PERCENT_MIN:
        message = f"{comments * 100 // full} % comments in public headers, at least {COMMENT_PERCENT_MIN} %"
        yield Finding("comments", home, 1, message)
    examples = [file for file in tree.files if file.path.startswith("examples/") and file.suffix in CPP]
    shown = {word for file in examples for word in re.findall(r"\w+", "\n".join(file.code_lines()))}
    for file in headers if examples else ():
        declared = {name for match in DECLARED.findall("\n".join(file.code_lines())) for name in match}
        names = declared - {"", "to_string", "perdure", "std"}
        if names and not names & shown:
            yield Finding("unused", file.path, 1, "no example uses anything of it: is it for users?")


def check_listed(tree: Tree) -> Iterator[Finding]:
    """An unlisted source is not compiled; an unlisted test never fails."""
    for file in tree.files:
        parts = pathlib.PurePath(file.path).parts
        if file.suffix != ".cpp" or parts[0] not in {"src", "tests"}:
            continue
        home = "/".join(parts[:2]) if parts[0] == "src" else "tests"
        lists = [f.text for f in tree.files if f.path.startswith(home + "/") and is_build_list(f)]
        if not any(re.search(rf"(?<![\w.-]){re.escape(parts[-1])}\b", text) for text in lists):
            yield Finding("listed", file.path, 1, f"no sources.cmake or CMakeLists.txt in {home} names it")


def is_build_list(file: File) -> bool:
    return pathlib.PurePath(file.path).name in {"CMakeLists.txt", "sources.cmake", "Makefile"}


def is_product(file: File) -> bool:
    """C++ of a layer, without its tests and test fixtures."""
    name = pathlib.PurePath(file.path).name
    is_test = name.endswith(("_test.cpp", "_test.hpp")) or "fixture" in file.path
    return file.path.startswith("src/") and file.suffix in CPP and not is_test


def folder_includes(tree: Tree) -> dict[str, dict[str, list[str]]]:
    """The includes between folders of one layer, with their places."""
    edges: dict[str, dict[str, list[str]]] = collections.defaultdict(dict)
    for file in filter(is_product, tree.files):
        folder = os.path.dirname(file.path)
        for number, _, name in file.includes():
            target = tree.resolve(file, name)
            used = os.path.dirname(target)
            if used != folder and target.startswith("src/") and layer_of(target) == layer_of(file.path):
                edges[folder].setdefault(used, []).append(f"{file.path}:{number} includes {name}")
    return edges


def reachable(edges: dict[str, dict[str, list[str]]], start: str) -> set[str]:
    found, open_folders = set(), [start]
    while open_folders:
        for used in edges.get(open_folders.pop(), {}):
            if used not in found:
                found.add(used)
                open_folders.append(used)
    return found


def check_cycles(tree: Tree) -> Iterator[Finding]:
    """One finding for each include that is part of a cycle of folders."""
    edges = folder_includes(tree)
    reached = {folder: reachable(edges, folder) for folder in edges}
    for folder, uses in edges.items():
        for used, places in uses.items():
            if folder not in reached.get(used, ()):
                continue
            knot = sorted(other for other in reached[folder] if folder in reached.get(other, ()))
            for place in places:
                yield Finding("cycle", folder, 1, f"{place}; a cycle of {', '.join(knot)}")


def check_folder_size(tree: Tree) -> Iterator[Finding]:
    folders = collections.Counter(os.path.dirname(file.path) for file in filter(is_product, tree.files))
    for folder, files in folders.items():
        if files > FOLDER_FILES_MAX:
            message = f"{files} product files, at most {FOLDER_FILES_MAX}: merge them, or cut by concept"
            yield Finding("folder", folder, 1, message, files)


RULES: list[Callable[[Tree], Iterator[Finding]]] = [
    check_layers, check_public, check_names, check_words, check_calls, check_opening, check_size,
    check_white_space, check_seams, check_promise, check_listed, check_cycles, check_folder_size,
]  # fmt: skip


def apply_allowances(tree: Tree, findings: list[Finding]) -> list[Finding]:
    allow_path = "tools/tidy_allow.txt"
    groups: dict[tuple[str, str], list[Finding]] = collections.defaultdict(list)
    for finding in findings:
        groups[finding.rule, finding.path].append(finding)

    complaints = []
    listing = tree.root / allow_path
    for number, line in enumerate(listing.read_text().splitlines() if listing.exists() else [], 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = line.split(None, 3)
        if len(fields) < 4 or not fields[2].isdigit():
            complaints.append(Finding("allow", allow_path, number, "wanted: rule path limit reason"))
            continue
        rule, path, limit = fields[0], fields[1], int(fields[2])
        group = groups.get((rule, path), [])
        measure = max((finding.measure for finding in group), default=0) or len(group)
        if not group:
            complaints.append(Finding("allow", allow_path, number, f"{rule} {path}: no longer needed, remove it"))
        elif measure <= limit:
            del groups[rule, path]
        else:
            note = f"{rule} {path}: allowed {limit}, is {measure}"
            complaints.append(Finding("allow", allow_path, number, note))
    return complaints + [finding for group in groups.values() for finding in group]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    tree = Tree(parser.parse_args().root.resolve())

    findings = [finding for rule in RULES for finding in rule(tree)]
    findings = [finding for finding in findings if finding.path not in OWN_FILES or finding.rule != "word"]
    findings = apply_allowances(tree, findings)
    for finding in sorted(findings, key=lambda f: (f.path, f.line, f.rule)):
        print(f"{finding.path}:{finding.line}: {finding.rule}: {finding.message}")
    print(f"tidy: {len(tree.files)} files, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
