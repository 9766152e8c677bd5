#!/usr/bin/env python3
"""Proves with nm that our archives neither define nor reference a symbol of the system's SQLite.

usage: hidden_symbols.py --nm NM SQLITE_ARCHIVE OTHER_ARCHIVE...
"""

import argparse
import subprocess
import sys


def symbols(nm: str, archive: str, *options: str) -> set[str]:
    run = subprocess.run([nm, "-g", "-P", *options, archive], capture_output=True, text=True, check=True)
    return {line.split()[0] for line in run.stdout.splitlines() if line and not line.endswith(":")}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--nm", default="nm")
    parser.add_argument("archives", nargs="+")
    options = parser.parse_args()

    bad = []
    offered = symbols(options.nm, options.archives[0], "--defined-only")
    if "perdure_sqlite3_open_v2" not in offered:
        bad.append(f"{options.archives[0]} does not define perdure_sqlite3_open_v2: is this our SQLite?")
    # A leading underscore: what a sanitizer adds.
    bad += [f"defined: {name}" for name in sorted(offered) if not name.startswith(("perdure_", "_"))]
    for archive in options.archives:
        foreign = {name for name in symbols(options.nm, archive) if name.startswith("sqlite3")}
        bad += [f"{archive} names {name}" for name in sorted(foreign)]

    for line in bad:
        print(line)
    print(f"hidden_symbols: {len(offered)} names of our SQLite, {len(bad)} not hidden")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
