"""Checks that packaged documents have no dead links: packaged_documents_test.py [FOLDER] [--with-examples].

FOLDER is share/doc/perdure of a package, or of an installed tree, which has the examples too. Without it the
documents are prepared as scripts/package does; then links to existing files must still be links, and blocks
must be unchanged.
"""

import importlib.machinery
import importlib.util
import os
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BLOCK = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


def links_of(page: pathlib.Path) -> list[str]:
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    return [link for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text) if not re.match(r"[a-z]+:", link)]


def is_there(folder: pathlib.Path, page: pathlib.Path, link: str) -> bool:
    # Not resolved: the folder `include` of an installed tree is a link to the headers.
    target = pathlib.Path(os.path.normpath(page.parent.resolve() / link))
    return target.is_relative_to(folder.resolve()) and target.exists()


def dead_links(folder: pathlib.Path) -> list[str]:
    pages = [page for page in sorted(folder.rglob("*")) if page.suffix in {".md", ".txt"}]
    found = [] if any(links_of(page) for page in pages) else [f"{folder}: has no links at all"]
    return found + [
        f"{page.relative_to(folder)}: the link {link} leads nowhere"
        for page in pages
        for link in links_of(page)
        if not is_there(folder, page, link)
    ]


def changes(folder: pathlib.Path) -> list[str]:
    found = []
    for page in sorted(folder.rglob("*.md")):
        name = page.relative_to(folder)
        wanted = [link for link in links_of(ROOT / name) if is_there(folder, page, link)]
        found += [f"{name}: {link} is there, and no longer a link" for link in sorted(set(wanted) - set(links_of(page)))]
        if BLOCK.findall(page.read_text(encoding="utf-8")) != BLOCK.findall((ROOT / name).read_text(encoding="utf-8")):
            found.append(f"{name}: a block is not what it was")
    return found


def missing_examples(folder: pathlib.Path) -> list[str]:
    """Every example of the repository is installed, except its test."""
    wanted = {path.relative_to(ROOT) for path in (ROOT / "examples").rglob("*") if path.is_file()}
    wanted = {name for name in wanted if not re.search(r"_test\.py$|__pycache__", str(name))}
    found = [] if wanted else ["there are no examples"]
    return found + [f"{name} is not installed" for name in sorted(wanted) if not (folder / name).is_file()]


def put_documents(folder: pathlib.Path) -> None:
    loader = importlib.machinery.SourceFileLoader("package", str(ROOT / "scripts/package"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("package", loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    module.put_documents(folder)


def main() -> int:
    if len(sys.argv) > 1:
        folder = pathlib.Path(sys.argv[1])
        found = dead_links(folder) + (missing_examples(folder) if "--with-examples" in sys.argv else [])
    else:
        with tempfile.TemporaryDirectory() as place:
            folder = pathlib.Path(place)
            put_documents(folder)
            found = dead_links(folder) + changes(folder)
    print("\n".join(found) if found else "every link of the packaged documents leads somewhere")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
