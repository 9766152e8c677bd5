"""Compares our JSON Schema with ajv: oracle_test.py VERDICTS FOLDER [--seed N] [--schemas N].

Both get the same schemas and values: a handwritten table, and random ones. Every verdict must be the
same, except for patterns in cases.DIALECT, where they must differ. Only ours may refuse a schema whose
evaluation would not terminate.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys

import cases
import generated

HERE = pathlib.Path(__file__).resolve().parent
# We refuse non-terminating schemas when they are loaded; ajv may notice when it runs.
ENDLESS = "without going deeper"


def table() -> list[dict]:
    rows = [{"draft": 2020, "schema": s, "values": cases.COMMON + own} for s, own in cases.CASES]
    return rows + [{"draft": 7, "schema": s, "values": cases.COMMON + own} for s, own in cases.DRAFT_7]


def drawn(seed: int, schemas: int) -> list[dict]:
    rng = random.Random(seed)
    values = lambda: [generated.value(rng) for _ in range(12)]  # noqa: E731
    return [{"draft": 2020, "schema": generated.document(rng), "values": values()} for _ in range(schemas)]


def answers(command: list[str], rows: list[dict]) -> list:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    run = subprocess.run(command, input=text, capture_output=True, text=True, check=True, timeout=500)
    return [line if line.startswith('"refused"') else json.loads(line) for line in run.stdout.splitlines() if not line.startswith("  ")]


def is_in_another_dialect(row: dict) -> bool:
    schema = row["schema"]
    return isinstance(schema, dict) and list(schema) == ["pattern"] and schema["pattern"] in cases.DIALECT


def differences(rows: list[dict], ours: list, theirs: list) -> tuple[list[str], int]:
    found, compared = [], 0
    for row, mine, other in zip(rows, ours, theirs, strict=True):
        if is_in_another_dialect(row):
            if mine == other or (isinstance(mine, str) and isinstance(other, str)):
                found.append(f"we no longer differ on {json.dumps(row['schema'])}")
            continue
        if isinstance(mine, str):
            if other != '"refused"' and ENDLESS not in mine:
                found.append(f"only we refuse {json.dumps(row['schema'])}: {mine}")
            continue
        if isinstance(other, str):
            found.append(f"only ajv refuses {json.dumps(row['schema'])}")
            continue
        compared += len(mine)
        wrong = [v for v, a, b in zip(row["values"], mine, other, strict=True) if a != b]
        found += [f"schema {json.dumps(row['schema'])}, value {json.dumps(v)}: we differ" for v in wrong[:3]]
    return found, compared


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("verdicts")
    parser.add_argument("folder", type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--schemas", type=int, default=3000)
    options = parser.parse_args()
    rows = table() + drawn(options.seed, options.schemas)
    ours = answers([options.verdicts, "--errors"], rows)
    theirs = answers(["node", str(HERE / "oracle.mjs"), options.folder], rows)
    found, compared = differences(rows, ours, theirs)
    print(f"{len(rows)} schemas, {compared} verdicts compared, {len(found)} differ")
    print("\n".join(found[:20]))
    return 1 if found or compared < 20_000 else 0


if __name__ == "__main__":
    sys.exit(main())
