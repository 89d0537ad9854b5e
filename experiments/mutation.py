"""Mutation testing: change one thing in a module, and see whether the tests that should notice do.

Mutants are made on the syntax tree: comparisons and signs turned, constants moved, `and` and `or` exchanged, `not`
dropped, one operand returned for an operation, a statement of a call left out. A seeded sample per module runs in a
copy of the tree, with the tests stated for the module, until the first failure; running out of time counts as noticed.
What survives is printed with its line, to be answered by a test or by a reason (`docs/trust.md`).

Run: python -m experiments.mutation [--module NAME] [--mutants 15] [--seconds 600] [--seed 0]
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

TOP = Path(__file__).parents[1]
TIMEOUT = 300
HEAVY = ("pandas", "scipy.special", "scipy.stats", "sklearn.utils.validation", "jax", "mpmath", "duckdb")
# the quickest first: a mutant that it finds needs no compiling
EXCHANGE = "tests/sampling/test_kernels.py::test_exchange_gives_no_weight_to_edges_that_lead_nowhere"
MODULES = {
    "score/host.py": ["tests/score/test_host.py"],
    "score/host_bounded.py": ["tests/score/test_host.py"],
    "states.py": ["tests/test_states.py"],
    "candidates/patterns.py": ["tests/candidates/test_patterns.py"],
    "data/parse.py": ["tests/data/test_parse.py"],
    "data/read.py": ["tests/data/test_read.py", "tests/test_fuzz_findings.py"],
    "sampling/kernels/exchange.py": [
        EXCHANGE,
        "tests/sampling/test_kernels.py",
        "-k",
        "exchange and (opinions or weight)",
    ],
}
TURNED: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


def is_type_hint(node: ast.AST, hints: set[int]) -> bool:
    return id(node) in hints


def hints_of(tree: ast.AST) -> set[int]:
    """Nodes inside annotations, which nothing runs."""
    roots = []
    for node in ast.walk(tree):
        roots += [getattr(node, name, None) for name in ("annotation", "returns")]
    return {id(inner) for root in roots if isinstance(root, ast.AST) for inner in ast.walk(root)}


def variants(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """What one node may become, with a word for it."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in TURNED:
        new = copy.deepcopy(node)
        new.ops[0] = TURNED[type(node.ops[0])]()
        yield "comparison", new
    elif isinstance(node, ast.BinOp):
        if type(node.op) in TURNED:
            new = copy.deepcopy(node)
            new.op = TURNED[type(node.op)]()
            yield "operator", new
        yield "operand", copy.deepcopy(node.left)
    elif isinstance(node, ast.BoolOp):
        new = copy.deepcopy(node)
        new.op = TURNED[type(node.op)]()
        yield "and/or", new
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.Invert | ast.USub):
        yield "sign", copy.deepcopy(node.operand)
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield "constant", ast.Constant(not node.value)
        elif isinstance(node.value, int | float):
            yield "constant", ast.Constant(node.value + 1)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield "call left out", ast.Pass()


def mutants_of(source: str) -> list[tuple[int, str, str]]:
    """All mutants of a file: line, what was done, and the new source."""
    tree = ast.parse(source)
    hints = hints_of(tree)
    found = []
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            nodes = value if isinstance(value, list) else [value]
            for place, node in enumerate(nodes):
                if not isinstance(node, ast.AST) or is_type_hint(node, hints):
                    continue
                for word, new in variants(node):
                    put(parent, name, value, place, new)
                    text = ast.unparse(ast.fix_missing_locations(tree))
                    what = f"{word}: {ast.unparse(node)[:60]} -> {ast.unparse(new)[:60]}"
                    found.append((node.lineno, what, text))
                    put(parent, name, value, place, node)
    return found


def put(parent: ast.AST, name: str, value: object, place: int, node: ast.AST) -> None:
    if isinstance(value, list):
        value[place] = node
    else:
        setattr(parent, name, node)


def run_tests(tree: Path, tests: list[str]) -> str:
    """Run tests in a fork of this process, which has imported all that is heavy, but nothing of the package."""
    child = os.fork()
    if not child:
        os.chdir(tree)
        sys.path[:] = [str(tree), *(path for path in sys.path if path not in ("", str(TOP)))]
        sys.dont_write_bytecode = True
        os.environ["SOAR_NO_SHRINKING"] = "1"
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1), os.dup2(quiet, 2)
        os._exit(int(pytest.main(["-q", "-x", "-n", "0", "-p", "no:cacheprovider", *tests])))
    end = time.perf_counter() + TIMEOUT
    while time.perf_counter() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return "survived" if status == 0 else "killed"
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "killed (time)"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--module", choices=sorted(MODULES), action="append")
    parser.add_argument("--mutants", type=int, default=15, help="per module")
    parser.add_argument("--seconds", type=float, default=600, help="no mutant is begun after this time, per module")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lines", type=int, nargs="+", help="only mutants of these lines")
    given = parser.parse_args()
    for name in HEAVY:
        import_module(name)
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch) / "tree"
        ignore = shutil.ignore_patterns("__pycache__", ".git", ".venv", "*cache*", "results")
        shutil.copytree(TOP, tree, ignore=ignore)
        for name in given.module or MODULES:
            path = tree / "soar_jax" / name
            source = path.read_text(encoding="utf-8")
            every = [m for m in mutants_of(source) if given.lines is None or m[0] in given.lines]
            order = np.random.default_rng(given.seed).permutation(len(every))[: given.mutants]
            if run_tests(tree, MODULES[name]) != "survived":
                print(json.dumps({"module": name, "error": "the tests fail without a mutant"}))
                return 1
            start, outcomes, survivors = time.perf_counter(), [], []
            for i in sorted(order.tolist()):
                if time.perf_counter() - start > given.seconds:
                    break
                line, what, text = every[i]
                path.write_text(text, encoding="utf-8")
                outcomes.append(run_tests(tree, MODULES[name]))
                if outcomes[-1] == "survived":
                    survivors.append(f"{line}: {what}")
                    print(f"  survived {name}:{line}: {what}", file=sys.stderr, flush=True)
            path.write_text(source, encoding="utf-8")
            killed = sum(outcome.startswith("killed") for outcome in outcomes)
            answer = {"module": name, "possible": len(every), "tried": len(outcomes), "killed": killed}
            print(json.dumps({**answer, "survivors": survivors}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
