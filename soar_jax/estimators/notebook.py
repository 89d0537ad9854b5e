"""Estimators in a notebook: after fitting the rules come first; scikit-learn's picture of the parameters is folded."""

from __future__ import annotations

import html
from typing import Any

from sklearn import get_config
from sklearn.utils import estimator_html_repr

from soar_jax import _notebook as notebook
from soar_jax.estimators.judging import JudgingMixin

SHOWN_RULES = 10


class NotebookMixin(JudgingMixin):
    """Give a fitted estimator a representation that shows its rules."""

    def _repr_html_(self) -> str:
        diagram = estimator_html_repr(self)
        if not hasattr(self, "positive_rules_"):
            return str(diagram)
        return notebook.block(
            f"<b>{html.escape(type(self).__name__)}</b>: {html.escape(self.conclude())}",
            self._html_rules(),
            f"<details><summary>Parameters</summary>{diagram}</details>",
        )

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        bundle = {"text/plain": repr(self)}
        return bundle | {"text/html": self._repr_html_()} if get_config()["display"] == "diagram" else bundle

    def _html_rules(self) -> str:
        table, rows = self.rules_, []
        has_fresh = "fresh_precision" in table
        for side, letter in (("positive", "P"), ("negative", "N")):
            mine = table[table["side"] == side]
            for i, row in enumerate(mine.head(SHOWN_RULES).to_dict(orient="records")):
                cells = [f"{notebook.sign(side)}&nbsp;{letter}{i + 1}", html.escape(row["rule"])]
                cells += [html.escape(str(row["class"])), notebook.bar(row["precision"], side)]
                cells += [f"{row['precision']:.0%}", f"{row['support']:,}"]
                cells += [_percent(row["fresh_precision"])] if has_fresh else []
                rows.append(cells)
            if len(mine) > SHOWN_RULES:
                rows.append(["", f"and {len(mine) - SHOWN_RULES} more", "", "", "", ""] + [""] * has_fresh)
        fresh = ["on fresh rows"] if has_fresh else []
        return notebook.table(["", "if", "then", "right", "", "training rows", *fresh], rows)


def _percent(share: float | None) -> str:
    return "" if share is None or share != share else f"{share:.0%}"  # noqa: PLR0124  (NaN is unlike itself)
