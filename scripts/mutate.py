#!/usr/bin/env python3
"""Breaks the engine on purpose, one small change at a time, and says which changes the tests do not notice.

usage: scripts/mutate.py [--count N] [--seed S] [--only TEXT] [--list] [--jobs J] [--tests REGEX]

Mutants are drawn from calc/core/**/*.cpp as last committed, the same ones for the same seed: a constant off by one,
another operator or comparison, a term or a statement less (what an operation keeps for its backward pass among them),
two arguments swapped. Each is built and tested in a git worktree of its own under build/mutants; the tree you work in
is never touched. The tests run in order of their time and stop at the first that fails. Exits 1 when a mutant survives.
"""
import argparse
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TREE = ROOT / "build" / "mutants"
BUILD = TREE / "build" / "release"
TARGETS = ["llmcalc", "llmcalc_tests"]

WORD = r"[A-Za-z_][\w.]*(?:\(\))?"
COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
SIGNS = {"+": "-", "-": "+", "*": "+", "/": "*", "%": "/", "&&": "||", "||": "&&", "+=": "=", "-=": "+="}


def constants(code):
    for found in re.finditer(r"(?<![\w.'])(\d+)(?![\w.'])", code):
        yield found.start(), found.end(), str(int(found[1]) + 1)


def flags(code):
    for found in re.finditer(r"\b(true|false)\b", code):
        yield found.start(), found.end(), "false" if found[1] == "true" else "true"


def comparisons(code):
    for found in re.finditer(r" (<=|>=|==|!=|<|>) ", code):
        yield found.start(1), found.end(1), COMPARISONS[found[1]]


def operators(code):
    for found in re.finditer(r" (\+=|-=|\+|-|\*|/|%|&&|\|\|) ", code):
        yield found.start(1), found.end(1), SIGNS[found[1]]


def terms(code):
    for found in re.finditer(rf" [+-] (?:{WORD}|\d+)(?=[;)\]}},])", code):
        yield found.start(), found.end(), ""


def swaps(code):
    for found in re.finditer(rf"(?<=[({{, ])({WORD}), ({WORD})(?=[)}},])", code):
        if found[1] != found[2]:
            yield found.start(), found.end(), f"{found[2]}, {found[1]}"


def statements(code):
    found = re.fullmatch(r"(\s+)((?:if \([^()]*(?:\([^()]*\))?[^()]*\) )?[\w.>-]+(?:\(.*\)| [+*]= .*);)\s*", code)
    if found and not found[2].startswith(("return", "throw")):
        yield found.start(2), found.end(2), ";"


def kept(code):
    for site in statements(code):
        if ".keep(" in code:
            yield site


KINDS = {"constant": constants, "flag": flags, "comparison": comparisons, "operator": operators, "term dropped": terms,
         "arguments swapped": swaps, "statement dropped": statements, "kept tensor dropped": kept}


def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                          text=True, errors="replace", **options)


def must(command, **options):
    done = run(command, **options)
    if done.returncode != 0:
        sys.exit(f"{done.stdout}\nfailed: {' '.join(map(str, command))}")
    return done.stdout


def code_lines(text):
    """Lines with their number, without what no test should notice: comments, texts, declarations, compile-time checks."""
    for number, line in enumerate(text.split("\n"), 1):
        bare = line.strip()
        if bare.startswith(("//", "#", "static_assert", "template", "using", "namespace")) or '"' in line:
            continue
        yield number, line.split("  //")[0]


def candidates(only):
    """{kind: {file: [(line, start, end, replacement)]}}"""
    found = {kind: {} for kind in KINDS}
    for path in sorted((TREE / "calc" / "core").rglob("*.cpp")):
        name = str(path.relative_to(TREE))
        if only and only not in name:
            continue
        for number, code in code_lines(path.read_text()):
            for kind, sites in KINDS.items():
                for start, end, replacement in sites(code):
                    found[kind].setdefault(name, []).append((number, start, end, replacement))
    return found


def mutants(seed, only):
    """An endless-looking supply that goes round the kinds and, within a kind, round the files."""
    rng = random.Random(seed)
    supply = {}
    for kind, files in candidates(only).items():
        for sites in files.values():
            rng.shuffle(sites)
        order = sorted(files)
        rng.shuffle(order)
        supply[kind] = [(name, sites) for name, sites in ((n, files[n]) for n in order)]
    while any(supply.values()):
        for kind in KINDS:
            if not supply[kind]:
                continue
            name, sites = supply[kind].pop(0)
            yield kind, name, *sites.pop()
            if sites:
                supply[kind].append((name, sites))


class Suite:
    """The ctest entries, quickest first."""

    def __init__(self, only):
        listed = json.loads(must(["ctest", "--show-only=json-v1"], cwd=BUILD))["tests"]
        self.entries = []
        for test in listed:
            if only and not re.search(only, test["name"]):
                continue
            folder = next((p["value"] for p in test["properties"] if p["name"] == "WORKING_DIRECTORY"), BUILD)
            started = time.monotonic()
            done = run(test["command"], cwd=folder)
            if done.returncode != 0:
                sys.exit(f"{done.stdout}\n{test['name']} fails without any mutant")
            self.entries.append((time.monotonic() - started, test["name"], test["command"], folder))
        self.entries.sort()

    def first_failure(self):
        for seconds, name, command, folder in self.entries:
            try:
                if run(command, cwd=folder, timeout=20 * seconds + 30).returncode != 0:
                    return name
            except subprocess.TimeoutExpired:
                return name + " (never ends)"
        return None


def prepare(jobs):
    if not (TREE / ".git").exists():
        run(["git", "worktree", "prune"], cwd=ROOT)
        must(["git", "worktree", "add", "--detach", "--force", TREE, "HEAD"], cwd=ROOT)
    head = must(["git", "rev-parse", "HEAD"], cwd=ROOT).strip()
    must(["git", "checkout", "--quiet", "--detach", "--force", head], cwd=TREE)
    settings = ["-DLLMCALC_CUDA=OFF", "-DLLMCALC_TESTS=ON", "-DLLMCALC_STRUCTURE_TESTS=OFF", "-DCMAKE_BUILD_TYPE=Release"]
    if run(["ccache", "--version"]).returncode == 0:
        settings.append("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
    must(["cmake", "-S", TREE, "-B", BUILD, "-G", "Ninja", *settings])
    must(["cmake", "--build", BUILD, "-j", str(jobs), "--target", *TARGETS])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=50, help="mutants that compile (50)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="of files whose path holds this text")
    parser.add_argument("--tests", help="run only ctest entries that match")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--list", action="store_true", help="show the mutants, run nothing")
    given = parser.parse_args()

    os.environ.setdefault("CCACHE_BASEDIR", str(TREE))
    if given.list and not (TREE / ".git").exists():
        must(["git", "worktree", "add", "--detach", "--force", TREE, "HEAD"], cwd=ROOT)
    suite = None
    if not given.list:
        prepare(given.jobs)
        suite = Suite(given.tests)

    tested = killed = broken = 0
    survivors = []
    for kind, name, number, start, end, replacement in mutants(given.seed, given.only):
        if tested == given.count:
            break
        path = TREE / name
        original = path.read_text()
        lines = original.split("\n")
        line = lines[number - 1]
        lines[number - 1] = line[:start] + replacement + line[end:]
        shown = f"{kind}: {name}:{number}\n    - {line.strip()}\n    + {lines[number - 1].strip()}"
        if given.list:
            tested += 1
            print(shown)
            continue
        try:
            path.write_text("\n".join(lines))
            if run(["cmake", "--build", BUILD, "-j", str(given.jobs), "--target", *TARGETS]).returncode != 0:
                broken += 1
                continue
            by = suite.first_failure()
        finally:
            path.write_text(original)
        tested += 1
        if by:
            killed += 1
            print(f"{tested}. killed by {by}: {shown}", flush=True)
        else:
            survivors.append(shown)
            print(f"{tested}. SURVIVED: {shown}", flush=True)
    if given.list:
        return 0
    print(f"\n{killed} of {tested} mutants killed (seed {given.seed}; {broken} more did not compile)")
    for shown in survivors:
        print("survived: " + shown)
    return 1 if survivors or tested == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
