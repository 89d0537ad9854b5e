"""The report as one HTML file: templates with escaping on, styles and script inlined, and no way out to a network.

Texts of the author and of the table reach the page in two ways only: through Jinja2's escaping, and as JSON in a script
element of a type that browsers do not run. The page's policy names the one script that may run by its hash.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import cache
from importlib import resources
from typing import Any

from soar_jax.palette import DARK, LIGHT, PRINT, css_variables
from soar_jax.report import charts
from soar_jax.report.content import Content
from soar_jax.report.numbers import count, listed, of_hundred, per_cent, per_hundred, ratio, span, tabular
from soar_jax.report.rules_part import MOST_IN_MAP
from soar_jax.states import ACTIVE, PASSIVE

SHOWN_RULES = 10
"""Rules a side that are shown before the fold."""
_TURNS = re.compile(r"[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_SCRIPTS = ("engine.js", "result.js", "page.js")
_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def page_of(content: Content) -> str:
    """Print a report as HTML."""
    script = "\n".join(_asset(name) for name in _SCRIPTS)
    rules = {rule.id: rule for rule in content.rules}
    return _environment().get_template("page.html.j2").render(
        report=content,
        sides=_sides(content),
        rules=rules,
        as_map=_is_map(content),
        map=_map(content),
        columns=_columns(content),
        styles=_styles(),
        script=script,
        data=safe_json(_embedded(content)),
        policy=_policy(script),
        shown={side["letter"]: _before_fold(len(side["rules"])) for side in _sides(content)},
        sections=_sections(content),
        example_kinds=_example_kinds(content),
    )  # fmt: skip


def _example_kinds(content: Content) -> str:
    """Say what the examples are examples of."""
    shown = {example.state for example in content.examples if not example.is_wrong}
    kinds = [name for state, name in ((ACTIVE, "disputes"), (PASSIVE, "silence")) if state in shown]
    if any(example.is_wrong for example in content.examples):
        kinds.append("answers that were wrong")
    return listed(kinds)


def _before_fold(number: int) -> int:
    """How many of a side's rules stand before the fold; a fold of one or two is not worth a click."""
    return SHOWN_RULES if number > SHOWN_RULES + 2 else number


def safe_json(value: Any) -> str:
    """Write JSON that can stand in an HTML script element, whatever texts it holds."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character, escape in _UNSAFE.items():
        text = text.replace(character, escape)
    return text


def _asset(name: str) -> str:
    return (resources.files("soar_jax.report") / "assets" / name).read_text(encoding="utf-8")


def _styles() -> str:
    tokens = (
        f":root{{{css_variables(LIGHT)}color-scheme:light dark}}"
        f"@media (prefers-color-scheme:dark){{:root{{{css_variables(DARK)}}}}}"
        f"@media print{{:root{{{css_variables(PRINT)}color-scheme:light}}}}"
    )
    return f"{tokens}\n{_asset('page.css')}"


def _policy(script: str) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _embedded(content: Content) -> dict[str, Any]:
    disputes = [
        [d.positive, d.negative, d.rows, d.share.value, d.share.low, d.share.high, d.ahead] for d in content.disputes
    ]
    return content.engine | {
        "phrases": {rule.id: list(rule.phrases) for rule in content.rules},
        "disputes": disputes,
        "tested": content.basis.rows,
        "noun": content.basis.noun,
        "examples": [example.values for example in content.examples],
        "yes": content.yes,
        "no": content.no,
        "unit": content.unit,
    }


def _sides(content: Content) -> list[dict[str, Any]]:
    both = [
        {"name": content.yes, "letter": "y", "rules": [r for r in content.rules if r.is_positive]},
        {"name": content.no, "letter": "n", "rules": [r for r in content.rules if not r.is_positive]},
    ]
    return both[:1] if content.is_single else both


def _is_map(content: Content) -> bool:
    sizes = [sum(r.is_positive is side for r in content.rules) for side in (True, False)]
    return 0 < max(sizes) <= MOST_IN_MAP


def _map(content: Content) -> dict[str, Any]:
    """Boxes by pair, and the widest dispute, which is shown first."""
    most = max((d.rows or 0 for d in content.disputes), default=0)
    return {"boxes": {(d.positive, d.negative): (i, d) for i, d in enumerate(content.disputes)}, "most": max(most, 1)}


def _columns(content: Content) -> list[tuple[str, str]]:
    """Columns to filter rules by, name and label."""
    return [(field["name"], field["label"]) for field in content.engine["columns"]]


def _sections(content: Content) -> list[tuple[str, str]]:
    """Sections that this report has, for the list of contents."""
    has_rules = bool(content.rules)
    found = [
        ("glance", "At a glance", content.basis.rows > 0),
        ("rules", "The rules", True),
        ("try", "Try a case", has_rules),
        ("disagree", "Where they disagree", has_rules and not content.is_single),
        ("cases", "Examples", bool(content.examples)),
        ("trust", "How far to trust it", bool(content.calibration)),
        ("sure", "How sure of the rules", has_rules or content.sampled is not None),
        *((f"audit-{i}", f"By {a.label}", True) for i, a in enumerate(content.audits)),
        ("edits", "Changed by hand", bool(content.edits)),
        ("limits", "When not to trust it", True),
        ("made", "How it was made", True),
    ]
    return [(name, title) for name, title, is_there in found if is_there]


def without_turns(value: Any) -> Any:
    """Write out the marks in a text that turn what stands around it."""
    return _TURNS.sub(lambda mark: f"\\u{ord(mark[0]):04x}", value) if type(value) is str else value


@cache
def _environment() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("soar_jax.report", "templates"),
        autoescape=True,
        finalize=without_turns,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "count": count, "of_hundred": of_hundred, "per_hundred": per_hundred, "per_cent": per_cent, "tabular": tabular,
        "ratio": ratio,
    }  # fmt: skip
    environment.globals |= {"span": span, "charts": charts}
    return environment
