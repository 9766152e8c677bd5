"""Turns the figures of all rounds into verdicts and a table.

A figure with a comparator is judged by its ratio, one without by its value. The median over the rounds
counts, or the worst round where bars.json sets that.
"""

import os
import statistics
import sys
from typing import NamedTuple

MORE_IS_BETTER = {"turns/s", "MB/s", ""}
CHANGE_MAX = 1.10  # of a figure with a bar, against another build
GREEN, RED, BOLD, PLAIN = "\033[32m", "\033[31m", "\033[1m", "\033[0m"


class Row(NamedTuple):
    name: str
    bar: dict
    ours: float
    comparator: float | None
    values: list[float]  # one per round: the ratio, or ours without a comparator
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


class Change(NamedTuple):
    name: str
    what: str
    ours: str
    before: str
    ratio: float  # above 1 is worse
    is_worse: bool


def compare(bars: dict, rounds: list[dict], other_rounds: list[dict]) -> list[Change]:
    """Our figures of two builds, by their medians. Figures without a bar are shown, not judged."""
    changes = []
    for name, bar in bars.items():
        ours, before = (
            [figures[name][0] for figures in some if name in figures] for some in (rounds, other_rounds)
        )
        if not ours or not before or not all(ours + before):
            continue
        mine, other = statistics.median(ours), statistics.median(before)
        ratio = other / mine if bar["unit"] in MORE_IS_BETTER else mine / other
        is_judged = not bar.keys().isdisjoint({"at_most", "at_least", "change_at_most"})
        bound = bar.get("change_at_most", CHANGE_MAX)
        unit = bar["unit"]
        changes.append(
            Change(name, bar["what"], amount(mine, unit), amount(other, unit), ratio, is_judged and ratio > bound)
        )
    return changes


def print_changes(changes: list[Change]) -> None:
    if not changes:
        return
    print("\nthis build against the other one (above 1.00x is worse)")
    width = max(len(change.what) for change in changes)
    for change in changes:
        verdict = "  worse" if change.is_worse else ""
        print(f"{change.what.ljust(width)}  {change.ours:>14}  {change.before:>14}  {change.ratio:.2f}x{verdict}")
