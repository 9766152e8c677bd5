"""From the figures of all rounds to verdicts, and to a table for a person.

A figure with a comparator is judged by its ratio, one without by itself. Each round gives one;
the median over the rounds counts, or the worst where bars.json says so.
"""

import os
import statistics
import sys
from typing import NamedTuple

GREEN, RED, BOLD, PLAIN = "\033[32m", "\033[31m", "\033[1m", "\033[0m"


class Row(NamedTuple):
    name: str
    bar: dict
    ours: float
    comparator: float | None
    values: list[float]  # one a round: the ratio, or ours where there is no comparator
    value: float
    verdict: str  # "pass", "miss", or "" where there is no bar


def judge(bars: dict, rounds: list[dict]) -> list[Row]:
    rows = []
    for name, bar in bars.items():
        pairs = [figures[name] for figures in rounds if name in figures]
        if not pairs:
            continue
        values = [ours / theirs if theirs else ours for ours, theirs in pairs]
        worst = max if "at_most" in bar else min
        value = worst(values) if bar.get("judged_by") == "worst" else statistics.median(values)
        comparators = [theirs for _, theirs in pairs if theirs is not None]
        rows.append(
            Row(
                name=name,
                bar=bar,
                ours=statistics.median(ours for ours, _ in pairs),
                comparator=statistics.median(comparators) if comparators else None,
                values=values,
                value=value,
                verdict=verdict_of(bar, value),
            )
        )
    return rows


def verdict_of(bar: dict, value: float) -> str:
    if "at_most" in bar:
        return "pass" if value <= bar["at_most"] else "miss"
    if "at_least" in bar:
        return "pass" if value >= bar["at_least"] else "miss"
    return ""


def to_json(row: Row) -> dict:
    return {
        "ours": row.ours,
        "comparator": row.comparator,
        "unit": row.bar["unit"],
        "value": row.value,
        "spread": [min(row.values), max(row.values)],
        "rounds": row.values,
        "bar": {key: row.bar[key] for key in ("at_most", "at_least") if key in row.bar},
        "verdict": row.verdict or "no bar",
    }


def amount(number: float, unit: str) -> str:
    if unit == "bytes":
        return f"{number / 1e6:.2f} MB"
    if unit == "us" and number >= 10_000:
        return f"{number / 1e3:.1f} ms"
    digits = f"{number:,.0f}" if number >= 100 or number == int(number) else f"{number:,.1f}"
    return f"{digits} {unit}".strip()


def cells_of(row: Row) -> list[str]:
    unit = row.bar["unit"]
    is_ratio = row.comparator is not None
    show = (lambda value: f"{value:.2f}x") if is_ratio else (lambda value: amount(value, unit))
    bound = row.bar.get("at_most", row.bar.get("at_least"))
    sign = "<=" if "at_most" in row.bar else ">="
    spread = f"{show(min(row.values))} .. {show(max(row.values))}"
    return [
        row.bar["what"],
        amount(row.ours, unit),
        row.bar.get("against", ""),
        amount(row.comparator, unit) if is_ratio else "",
        show(row.value) if is_ratio else "",
        spread if len(row.values) > 1 else "",
        f"{sign} {show(bound)}" if bound is not None else "",
        row.verdict,
    ]


def print_table(rows: list[Row]) -> None:
    colours = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    head = ["what", "ours", "against", "theirs", "ratio", "spread", "bar", ""]
    lines = [head, *map(cells_of, rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    for number, line in enumerate(lines):
        right = {1, 3, 4}
        padded = [cell.rjust(w) if i in right else cell.ljust(w) for i, (cell, w) in enumerate(zip(line, widths))]
        text = "  ".join(padded).rstrip()
        if colours and number == 0:
            text = BOLD + text + PLAIN
        elif colours and line[-1]:
            colour = GREEN if line[-1] == "pass" else RED
            text = text.removesuffix(line[-1]) + colour + line[-1] + PLAIN
        print(text)
