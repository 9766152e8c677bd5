"""Checks that docs/reference/store-format.md lists the existing tables: store_format_test.py [--root DIR] [--write].

tests/cli/pages_test.py compares the SQLite part with a real store. This test needs no server: it reads the
columns of PostgreSQL's tables from the scripts that create them, and compares them with the block after the
line `<!-- postgres columns -->`, which --write fills in. It also checks that both format numbers are those of
the code, and that each table of either backend has a row with its purpose.
"""

import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BLOCK = re.compile(r"(?<=<!-- postgres columns -->\n\n```\n).+?(?=^```$)", re.DOTALL | re.MULTILINE)
TABLE = re.compile(r"CREATE (?:UNLOGGED )?TABLE (?:perdure\.)?(\w+) \((.*?)\)(?: WITHOUT ROWID| WITH \([^)]*\)| /\*by session\*/)?;", re.DOTALL)


def tables_of(text: str) -> dict[str, list[str]]:
    """Tables and their columns, in order, as the scripts create and change them."""
    text = re.sub(r"--[^\n]*", "", text)
    tables: dict[str, list[str]] = {}
    for name, body in TABLE.findall(text):
        parts = re.split(r",(?![^()]*\))", body)
        words = [part.split()[0] for part in parts]
        tables[name] = [word for word in words if word not in {"PRIMARY", "UNIQUE"}]
    for name, other in re.findall(r"CREATE TABLE perdure\.(\w+) \(LIKE perdure\.(\w+)", text):
        tables[name] = tables[other]
    for name, column in re.findall(r"ALTER TABLE (\w+) ADD COLUMN (\w+)", text):
        tables[name].append(column)
    return tables


def number_in(root: pathlib.Path, header: str) -> str:
    return re.search(r"format_number = (\d+)", (root / header).read_text(encoding="utf-8"))[1]


def findings(root: pathlib.Path, page: str) -> list[str]:
    postgres = tables_of("".join(f.read_text(encoding="utf-8") for f in sorted(root.glob("src/store/postgres/sql/format*.sql"))))
    sqlite = tables_of((root / "src/store/sqlite/engine/schema.cpp").read_text(encoding="utf-8"))
    found = []
    for backend, header in (("SQLite", "src/store/sqlite/engine/schema.hpp"), ("PostgreSQL", "src/store/postgres/upkeep/schema.hpp")):
        if f"{backend}: format {number_in(root, header)}." not in page:
            found.append(f"does not say `{backend}: format {number_in(root, header)}.`")
    rows = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    there_are = set(postgres) | set(sqlite)
    found += [f"no row describes table {name}" for name in sorted(there_are - rows)]
    found += [f"there is no table {name}" for name in sorted(rows - there_are)]
    shown = BLOCK.search(page)
    if not shown or shown[0] != columns_text(postgres):
        found.append("its columns on PostgreSQL are not those of the scripts: --write")
    return found


def columns_text(tables: dict[str, list[str]]) -> str:
    return "".join(f"{name}: {' '.join(columns)}\n" for name, columns in sorted(tables.items()))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=pathlib.Path, default=ROOT)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    page = given.root / "docs/reference/store-format.md"
    if given.write:
        scripts = sorted(given.root.glob("src/store/postgres/sql/format*.sql"))
        text = columns_text(tables_of("".join(f.read_text(encoding="utf-8") for f in scripts)))
        page.write_text(BLOCK.sub(lambda _: text, page.read_text(encoding="utf-8"), count=1), encoding="utf-8")
    found = findings(given.root, page.read_text(encoding="utf-8"))
    print("\n".join(f"docs/reference/store-format.md: {what}" for what in found) or "the store's format is as described")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
