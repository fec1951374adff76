#!/usr/bin/env python3
"""Breaks the engine on purpose, one small change at a time, and says which changes the tests do not notice.

usage: scripts/mutate.py [--build FOLDER] [--count N] [--seed S] [--only TEXT] [--list] [--jobs J]

Mutants are drawn from calc/core/**/*.cpp, the same ones for the same seed and sources: a constant off by one, another
operator or comparison, a term or a statement less (what an operation keeps for its backward pass among them), two
arguments swapped. The changed file is a copy: it is compiled by the commands of FOLDER (build/release, as scripts/test.sh
leaves it) and linked in front of its libraries into a program and a test runner of its own, so neither the sources nor
the build are touched. The tests run in order of their time and stop at the first that fails. Left out are those that do
not run the engine (structure, install, how-tos) and the fuzzers' corpora. Exits 1 when a mutant survives.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import re
import resource
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent

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


def run(command, cpu_seconds=600, **options):
    limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                          text=True, errors="replace", preexec_fn=limit, **options)


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
    for path in sorted((ROOT / "calc" / "core").rglob("*.cpp")):
        name = str(path.relative_to(ROOT))
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


class Build:
    """The commands and tests of a build folder."""

    def __init__(self, folder):
        self.folder = folder.resolve()
        listed = run(["ninja", "-t", "commands", "llmcalc", "llmcalc_tests"], cwd=self.folder)
        if listed.returncode != 0:
            sys.exit(f"{listed.stdout}\n{folder} is no build by Ninja: scripts/test.sh makes one in build/release")
        built = run(["ninja", "llmcalc", "llmcalc_tests"], cwd=self.folder)
        if built.returncode != 0:
            sys.exit(built.stdout)
        self.commands = listed.stdout.split("\n")
        self.tests = self.quickest_first()

    def quickest_first(self):
        costs = {}
        kept = self.folder / "Testing" / "Temporary" / "CTestCostData.txt"
        for line in kept.read_text().split("\n") if kept.exists() else []:
            fields = line.split()
            if len(fields) == 3:
                costs[fields[0]] = float(fields[2])
        tests = []
        for test in json.loads(run(["ctest", "--show-only=json-v1"], cwd=self.folder).stdout)["tests"]:
            command = test["command"]
            if command[0].endswith("llmcalc_tests") or any(a.endswith(("console.sh", "examples.sh")) for a in command):
                tests.append((costs.get(test["name"], 60), test["name"], command))
        return sorted(tests)

    def compile(self, name, source, made):
        command = next(c for c in self.commands if c.endswith(f" -c {ROOT / name}"))
        command = re.sub(r" -MD\b| -MT \S+| -MF \S+| -o \S+| -c \S+$| -Werror\b", "", command)
        return run(["bash", "-c", f"{command} -o {made} -c {source}"], cwd=self.folder).returncode == 0

    def link(self, target, made, output):
        """`target` with the object `made` before the libraries, one of which holds what it replaces."""
        command = next(c for c in reversed(self.commands) if f" -o {target} " in c)
        command = command.replace(f" -o {target} ", f" {made} -o {output} ")
        return run(["bash", "-c", command], cwd=self.folder).returncode == 0

    def killer(self, folder):
        """The first test that fails with the program and the runner in `folder`."""
        environment = dict(os.environ, LLMCALC_PROGRAM=str(folder / "llmcalc"))
        for seconds, name, command in self.tests:
            command = [str(folder / "llmcalc_tests") if a.endswith("/llmcalc_tests") else
                       str(folder) if a == str(self.folder) else a for a in command]
            done = run(command, int(10 * seconds + 20), cwd=ROOT, env=environment)
            if done.returncode != 0:
                return name
        return None

    def judge(self, mutant):
        """'broken' when it does not compile, else the test that kills it, or None."""
        kind, name, number, start, end, replacement = mutant
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            source, made = folder / pathlib.Path(name).name, folder / "mutant.o"
            lines = (ROOT / name).read_text().split("\n")
            lines[number - 1] = lines[number - 1][:start] + replacement + lines[number - 1][end:]
            source.write_text("\n".join(lines))
            if not self.compile(name, source, made):
                return "broken"
            if not all(self.link(t, made, folder / pathlib.Path(t).name) for t in ("llmcalc", "tests/llmcalc_tests")):
                return "broken"
            return self.killer(folder)


def shown(mutant):
    kind, name, number, start, end, replacement = mutant
    line = (ROOT / name).read_text().split("\n")[number - 1]
    return f"{kind}: {name}:{number}\n    - {line.strip()}\n    + {(line[:start] + replacement + line[end:]).strip()}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--count", type=int, default=50, help="mutants that compile (50)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="of files whose path holds this text")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--list", action="store_true", help="show the mutants, run nothing")
    given = parser.parse_args()

    supply = mutants(given.seed, given.only)
    if given.list:
        for mutant, _ in zip(supply, range(given.count)):
            print(shown(mutant))
        return 0
    build = Build(given.build)
    tested = killed = broken = 0
    survivors = []
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        waiting = {}
        while True:
            while len(waiting) < min(given.jobs, given.count - tested):
                mutant = next(supply, None)
                if mutant is None:
                    break
                waiting[pool.submit(build.judge, mutant)] = mutant
            if not waiting:
                break
            done, _ = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in done:
                mutant, by = waiting.pop(future), future.result()
                if by == "broken":
                    broken += 1
                    continue
                tested += 1
                killed += by is not None
                if by is None:
                    survivors.append(shown(mutant))
                print(f"{tested}. {'killed by ' + by if by else 'SURVIVED'}: {shown(mutant)}", flush=True)
    print(f"\n{killed} of {tested} mutants killed (seed {given.seed}; {broken} more did not compile)")
    for survivor in survivors:
        print("survived: " + survivor)
    return 1 if survivors or tested == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
