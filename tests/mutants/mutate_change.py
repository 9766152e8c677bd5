#!/usr/bin/env python3
"""Mutates the lines that a change touched, one at a time, and reports how many of the bugs the tests catch.

usage: mutate_change.py [BASE] --tests SUITE.TEST... [--most N] [--jobs N]

The change is the working tree against BASE (a commit; HEAD without one), in C++ sources that are not
tests. Conditions are negated, && and || and comparisons exchanged, statements removed, numbers made one
larger, and early returns inserted. The tests are named as in mutants.toml: `Suite.Test`, also
`Suite.Test/sqlite`, or `Suite.*` for all of a suite. Nothing is kept: the bugs are planted in the
copy in build/mutants/tree, as by run.py. Examine the survivors: a test may be missing, or the line has
no effect. Bugs that do not build, crash or hang prove nothing and do not count in the score.
"""

import argparse
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import run

SWAPS = {"&&": "||", "||": "&&", "==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "+": "-", "-": "+"}
WORDS = {"true": "false", "false": "true", "any_of": "all_of", "all_of": "any_of", "min": "max", "max": "min"}
NO_CODE = re.compile(r"\s*(//|#|namespace\b|using\b|static_assert\b|[})\]]*[;,]?$)")


def is_balanced(text):
    return text.count("(") == text.count(")") and text.count("{") == text.count("}")


def condition_of(code):
    """The range of the condition of an if or a while, without its initialiser; None if it ends on another line."""
    opened = re.match(r"\s*(?:} )?(?:else )?(?:if|while) (?:constexpr )?\(", code)
    ends = (at for at in range(opened.end(), len(code)) if code[at] == ")" and is_balanced(code[opened.end() : at])) if opened else iter(())
    end = next(ends, None)
    return None if end is None else (max(opened.end(), code.rfind("; ", opened.end(), end) + 2), end)


def without_strings(line):
    """The line at the same length, with strings and comments blanked."""
    line = re.sub(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])+\'', lambda found: '"' + "_" * (len(found[0]) - 2) + '"', line)
    return re.sub(r"//.*", lambda found: " " * len(found[0]), line)


def mutations_of(line):
    """The mutations of a line: (description, mutated line)."""
    if NO_CODE.match(line):
        return
    code = without_strings(line)
    # clang-format puts spaces around operators, but not around < and > of templates.
    for found in re.finditer(r"(?<= )(&&|\|\||==|!=|<=|>=|<|>|\+|-)(?= )", code):
        yield f"{found[0]} is {SWAPS[found[0]]}", line[: found.start()] + SWAPS[found[0]] + line[found.end() :]
    for found in re.finditer(r"\b(true|false|any_of|all_of|(?<=std::)(?:min|max))\b", code):
        yield f"{found[0]} is {WORDS[found[0]]}", line[: found.start()] + WORDS[found[0]] + line[found.end() :]
    for found in re.finditer(r"(?<![\w.])\d+(?![\w.'])", code):
        yield f"{found[0]} is one more", line[: found.start()] + str(int(found[0]) + 1) + line[found.end() :]
    if (condition := condition_of(code)) is not None:
        begin, end = condition
        yield "the condition is turned round", f"{line[:begin]}!({line[begin:end]}){line[end:]}"
    statement = re.match(r"(\s*)([\w.:\->\[\]*]+(?:\(.*\)| [-+*/|&]?= .*)|\+\+.*|--.*|.*\+\+);$", code)
    if statement and is_balanced(code) and not re.match(r"\s*return\b", code):
        yield "the statement is gone", statement[1] + ";"
        yield "the function is left before it", f"{statement[1]}if (true) return {{}};\n{line}"
    if re.match(r"\s*return .+;$", code) and is_balanced(code) and "{};" not in code:
        yield "nothing is returned", re.match(r"\s*", line)[0] + "return {};"


def changed_lines(root, base):
    """(file, number) of each line that was added since the base."""
    command = ["git", "diff", "--unified=0", "--no-color", base, "--", "src/*.cpp", "src/*.hpp", "include/*.hpp"]
    file = None
    for line in subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout.splitlines():
        if line.startswith("+++ "):
            file = line[6:] if line.startswith("+++ b/") and not line.endswith("_test.cpp") else None
        elif file and (hunk := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line)):
            yield from ((file, int(hunk[1]) + at) for at in range(int(hunk[2] or 1)))


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("base", nargs="?", default="HEAD")
    options.add_argument("--tests", nargs="+", required=True)
    options.add_argument("--most", type=int, default=100, help="bugs that are tried, chosen at random if there are more")
    options.add_argument("--jobs", type=int, default=os.cpu_count())
    chosen = options.parse_args()
    root = Path(__file__).resolve().parent.parent.parent
    planned = []
    for file, number in changed_lines(root, chosen.base):
        line = (root / file).read_text().splitlines()[number - 1]
        planned += [(file, number, what, other) for what, other in mutations_of(line)]
    if not planned:
        sys.exit(f"no line of C++ that can be mutated differs from {chosen.base}")
    if len(planned) > chosen.most:
        print(f"{len(planned)} bugs can be planted; {chosen.most} of them are tried")
        planned = sorted(random.Random(1).sample(planned, chosen.most))
    tree = run.Tree(root, chosen.jobs)
    tree.require_green(chosen.tests)
    counts = {"caught": 0, "SURVIVED": 0, "ERROR": 0}
    for file, number, what, other in planned:
        sound = (tree.path / file).read_text()
        lines = sound.splitlines()
        lines[number - 1] = other
        outcome, why = tree.try_out(file, "\n".join(lines) + "\n", chosen.tests)
        counts[outcome] += 1
        print(f"{outcome:8} {file}:{number} {what}{f' ({why.splitlines()[0]})' if outcome == 'caught' else ''}", flush=True)
    told = counts["caught"] + counts["SURVIVED"]
    print(f"{counts['caught']} of {told} caught; {counts['ERROR']} did not build, crashed or hung")
    return 0


if __name__ == "__main__":
    sys.exit(main())
