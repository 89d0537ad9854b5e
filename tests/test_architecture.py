"""Rooms in the order of the flow: each imports only from those before it, none in a circle, nothing heavy at first."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import soar_jax

PACKAGE = Path(soar_jax.__file__).parent
ROOMS = (
    {"_base", "_hundred", "_names", "_progress", "_sealed", "_threads", "datasets", "palette", "programs"},
    {"_files", "_notebook"},
    {"_json", "states"},
    {"data"},
    {"rules"},
    {"candidates"},
    {"score"},
    {"search", "sampling"},
    {"posterior"},
    {"reasons", "control", "export"},
    {"database", "report"},
    {"estimators"},
    {"cli"},
    {"__main__"},
)
RANK = {room: rank for rank, rooms in enumerate(ROOMS) for room in rooms}


def module_name(path):
    parts = ("soar_jax", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in PACKAGE.rglob("*.py")}


def imports_of(path):
    """Modules of this package that a file imports when it runs, those inside functions included."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            node.body = []  # never runs
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are written in full"
            if node.module.split(".")[0] == "soar_jax":
                names = [f"{node.module}.{alias.name}" for alias in node.names]
                found |= {name if name in MODULES else node.module for name in names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.split(".")[0] == "soar_jax"}
    return found - {"soar_jax"}


GRAPH = {name: imports_of(path) for name, path in MODULES.items() if name != "soar_jax"}


def room_of(module):
    return module.split(".")[1]


def test_every_module_has_a_room():
    assert {room_of(name) for name in GRAPH} == set(RANK)


@pytest.mark.parametrize("name", sorted(GRAPH))
def test_modules_import_only_from_rooms_before_their_own(name):
    for imported in GRAPH[name]:
        mine, theirs = room_of(name), room_of(imported)
        assert mine == theirs or RANK[theirs] < RANK[mine], f"{name} imports {imported}"


def test_no_module_imports_itself_by_a_detour():
    """Lazy imports count: a cycle inside functions is a cycle."""
    done, path = set(), []

    def visit(name):
        assert name not in path, " -> ".join([*path[path.index(name) :], name])
        if name in done:
            return
        path.append(name)
        for imported in sorted(GRAPH.get(name, ())):
            visit(imported)
        path.pop()
        done.add(name)

    for name in GRAPH:
        visit(name)


def test_rooms_export_nothing_by_themselves():
    """Empty doors keep imports lazy: only a docstring."""
    for name, path in MODULES.items():
        if path.name == "__init__.py" and name not in ("soar_jax", "soar_jax.datasets"):
            body = ast.parse(path.read_text(encoding="utf-8")).body
            assert len(body) == 1 and isinstance(body[0], ast.Expr), name


PUBLIC = {
    "Audit", "BOAClassifier", "BetterPairWarning", "Certificate", "Committee", "Contrasts", "Costs", "DataWarning",
    "Diagnosis", "EditedModelWarning", "ErrorRatio", "ExpectedRules", "Explanation", "Explanations",
    "IdentifierWarning", "InputError", "LeakWarning", "LevelOrderWarning", "Literal", "Loss", "NoiseCheck",
    "NothingFoundWarning", "Opinion", "Posterior", "Precision", "Rule", "RulePrior", "RuleSet", "SOARClassifier",
    "SOARKernel", "SearchedRules", "TableCheck", "UnreadableValuesWarning", "UnseenLevelsWarning",
    "UntrustedPosteriorWarning", "datasets", "keep_programs", "metrics", "plots", "row_mesh", "soar_model",
    "taxonomy_cross", "use_mesh",
}  # fmt: skip


def test_public_names_are_those_listed_and_each_can_be_had():
    assert set(soar_jax.__all__) == PUBLIC == set(soar_jax._WHERE)
    assert set(dir(soar_jax)) == PUBLIC | {"__version__"}
    for name in PUBLIC:
        assert getattr(soar_jax, name) is not None


@pytest.mark.parametrize("name", ["priors", "kernels", "anneal", "posterior_", "nonsense"])
def test_nothing_else_is_reachable_by_accident(name):
    with pytest.raises(AttributeError, match=name):
        getattr(soar_jax, name)


def test_importing_the_package_and_asking_for_help_load_nothing_heavy():
    code = (
        "import sys, soar_jax; from soar_jax.cli.main import build_parser; build_parser().format_help();"
        "heavy = {'jax', 'pandas', 'sklearn', 'scipy', 'arviz', 'numpyro', 'ibis', 'duckdb', 'pyspark'};"
        "print(sorted({m.split('.')[0] for m in sys.modules} & heavy))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
