"""Model files: any bytes, and valid files with random edits, sealed again or not.

A file is refused by `InputError`, or it loads. What loads must predict on a table with values missing and of the wrong
kind, give probabilities between 0 and 1, and save and load again to the same answers.

Run: python -m experiments.fuzz.model_files --seconds 120
"""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path
from typing import Any

from experiments.fuzz.common import Target, main

FILES = Path(__file__).parents[2] / "tests" / "files"
FILE = "model.json"


def drawn_value(data: Any, content: Any) -> Any:
    return [
        lambda: None,
        data.ConsumeBool,
        lambda: data.ConsumeIntInRange(-3, 300),
        lambda: data.ConsumeInt(9),
        data.ConsumeRegularFloat,
        lambda: data.ConsumeUnicodeNoSurrogates(8),
        lambda: [],
        lambda: {},
        lambda: copy.deepcopy(place_in(data, content)[2]),
    ][data.ConsumeIntInRange(0, 8)]()


def place_in(data: Any, content: Any) -> tuple[Any, Any, Any]:
    """A random node: its parent, its key, itself."""
    parent, key, node = None, None, content
    while isinstance(node, dict | list) and node and (parent is None or data.ConsumeIntInRange(0, 3)):
        keys = list(node) if isinstance(node, dict) else range(len(node))
        parent, key = node, keys[data.ConsumeIntInRange(0, len(keys) - 1)]
        node = parent[key]
    return parent, key, node


def edited(data: Any, contents: list[Any]) -> str:
    """A valid file with one to four edits, with a new checksum or the old one."""
    from soar_jax._json import sealed

    content = copy.deepcopy(contents[data.ConsumeIntInRange(0, len(contents) - 1)])
    for _ in range(data.ConsumeIntInRange(1, 4)):
        parent, key, node = place_in(data, content)
        if parent is None:
            break
        action = data.ConsumeIntInRange(0, 3)
        if action == 0:
            del parent[key]
        elif action == 1 and isinstance(parent, list):
            parent.append(copy.deepcopy(node))
        elif action == 2 and isinstance(node, int | float) and not isinstance(node, bool):
            parent[key] = -node
        else:
            parent[key] = drawn_value(data, content)
    if data.ConsumeBool() and isinstance(content, dict):
        content = sealed(content)
    return json.dumps(content)


def make_target() -> Target:
    import atheris
    import numpy as np
    import pandas as pd

    from soar_jax import BOAClassifier, InputError, SOARClassifier
    from soar_jax.estimators.model_file import model_from_text
    from soar_jax.states import STATES

    kinds = {kind.__name__: kind for kind in (SOARClassifier, BOAClassifier)}
    contents = [json.loads((FILES / FILE).read_text(encoding="utf-8"))]

    def use(model: Any) -> None:
        names = model._column_names
        cells = [None, "a", 1.5, "2021-04-01", True, "1e400", -7]
        frame = pd.DataFrame(
            {name: pd.Series(np.roll(np.array(cells, dtype=object), i)) for i, name in enumerate(names)}
        )
        try:
            states, chances = model.predict_state(frame), model.predict_proba(frame)
        except InputError:  # the contract may refuse these cells
            return
        assert set(states) <= set(STATES)
        assert ((chances >= 0) & (chances <= 1)).all() and np.allclose(chances.sum(axis=1), 1)
        again = model_from_text(model.to_json(), kinds, "again")
        assert again.predict_state(frame).tolist() == states.tolist()
        str(model.positive_rules_), str(model.negative_rules_)

    def target(raw: bytes) -> None:
        if raw[:1] in (b"{", b"["):
            text = raw.decode("utf-8", errors="replace")
        else:
            text = edited(atheris.FuzzedDataProvider(raw), contents)
        try:
            model = model_from_text(text, kinds, "fuzzed.json")
        except InputError as error:
            assert "\n" not in str(error)
            return
        use(model)

    return target


if __name__ == "__main__":
    sys.exit(main("model_files", make_target))
