#!/usr/bin/env python3
"""Prints the figures of an `llvm-cov export`: lines and branches reached in calc/.

usage: scripts/coverage.py EXPORT.json [--list [FILE...]]

A branch is one way out of a condition: "a && b" has four. --list prints what was never taken or reached, of all files or
of those whose path contains one of FILE. Exits 1 when less than LEAST of the branches was taken. Called by
scripts/coverage.sh.
"""
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORST = 10
LEAST = 94.5  # % of the branches: below that somebody forgot tests. Raise it when it has been passed for good.


def missing(file):
    """(line, column, what is missing) of each condition that went one way only, in all instances of a template."""
    taken = {}
    for line, column, _, _, true, false, *_ in file["branches"]:
        before = taken.get((line, column), (0, 0))
        taken[line, column] = before[0] + true, before[1] + false
    for (line, column), (true, false) in sorted(taken.items()):
        if not true or not false:
            yield line, column, "never true" if false else "never false" if true else "never reached"


def total(files, kind):
    """How many there are, and how many % of them were reached."""
    count = sum(file["summary"][kind]["count"] for file in files)
    return count, 100 * sum(file["summary"][kind]["covered"] for file in files) / max(count, 1)


def figures(files, kind):
    count, share = total(files, kind)
    return f"{share:6.2f} % of {count:5} {kind}"


def list_missing(files, wanted):
    for name, file in files.items():
        if wanted and not any(text in name for text in wanted):
            continue
        source = (ROOT / name).read_text().splitlines()
        for line, column, what in missing(file):
            if line > len(source):
                sys.exit(f"error: {name} has changed since the tests ran: scripts/sanitize.sh")
            print(f"{name}:{line}:{column}: {what}: {source[line - 1].strip()}")


def main():
    export = json.loads(pathlib.Path(sys.argv[1]).read_text())
    files = {str(pathlib.Path(file["filename"]).relative_to(ROOT)): file for file in export["data"][0]["files"]}
    if "--list" in sys.argv:
        list_missing(files, sys.argv[sys.argv.index("--list") + 1 :])
    for folder in ("calc/core", "calc/read", "calc/report", "calc"):
        within = [file for name, file in files.items() if name.startswith(folder + "/")]
        print(f"{folder:12} {figures(within, 'branches')}, {figures(within, 'lines')}")
    worst = sorted(files, key=lambda name: -len(list(missing(files[name]))))[:WORST]
    print("most conditions that went one way only: " + ", ".join(f"{name} {len(list(missing(files[name])))}" for name in worst))
    _, share = total(files.values(), "branches")
    if share < LEAST:
        sys.exit(f"error: {share:.2f} % of the branches of calc/, and {LEAST} % is the least")


main()
