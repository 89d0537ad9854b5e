"""Test error, rules, literals and seconds of interpretable peers, on the same splits in one run.

Each fit runs in a process of its own with a time limit; a peer that fails or takes too long is listed with that.

Run: pip install 'soar-jax[peers]', then python -m experiments.peers [--quick]
"""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from experiments.compare import forest
from experiments.rivals import Failed, limited
from experiments.study import Study, table
from soar_jax import SOARClassifier, datasets

ROWS = {"synthetic": 800, "car": 1200, "adult": 25_000}
LIMIT = 45.0


def dummies(X_fit, X_out):
    """0/1 columns for peers that take nothing else: levels, and quintiles of numbers."""
    frames = []
    for X in (X_fit, X_out):
        parts = {}
        for name in X_fit.columns:
            if pd.api.types.is_numeric_dtype(X_fit[name]) and X_fit[name].nunique() > 6:
                for cut in np.unique(np.quantile(X_fit[name], [0.2, 0.4, 0.6, 0.8])):
                    parts[f"{name}<={cut:g}"] = (X[name] <= cut).astype(int)
                    parts[f"{name}>{cut:g}"] = (X[name] > cut).astype(int)
            else:
                for level in sorted(X_fit[name].dropna().unique().tolist(), key=str):
                    parts[f"{name}={level}"] = (X[name] == level).astype(int)
        frames.append(pd.DataFrame(parts, index=X.index))
    return frames


def soar(X_fit, y_fit, X_out, seed):
    model = SOARClassifier(random_state=seed).fit(X_fit, y_fit)
    return model.predict(X_out), len(model.rules_), int(model.rules_["length"].sum())


def ripper(X_fit, y_fit, X_out, seed):
    import wittgenstein

    model = wittgenstein.RIPPER(random_state=seed)
    model.fit(X_fit.assign(label=y_fit.to_numpy()), class_feat="label", pos_class=1)
    rules = model.ruleset_.rules
    return np.array(model.predict(X_out)).astype(int), len(rules), sum(len(rule.conds) for rule in rules)


def bayesian_rule_set(X_fit, y_fit, X_out, seed):
    from imodels import BayesianRuleSetClassifier

    A, B = dummies(X_fit, X_out)
    model = BayesianRuleSetClassifier(random_state=seed)
    model.fit(A.to_numpy(), y_fit.to_numpy(), feature_names=list(A.columns))
    rules = getattr(model, "rules_", [])
    return (
        np.asarray(model.predict(B.to_numpy())).astype(int),
        len(rules),
        sum(str(r).count(" and ") + 1 for r in rules),
    )


def rulefit(X_fit, y_fit, X_out, seed):
    from imodels import RuleFitClassifier

    A, B = dummies(X_fit, X_out)
    model = RuleFitClassifier(random_state=seed)
    model.fit(A.to_numpy(), y_fit.to_numpy(), feature_names=[f"f{i}" for i in range(A.shape[1])])
    rules = [r for r in model.rules_ if getattr(r, "args", [1])]
    return (
        np.asarray(model.predict(B.to_numpy())).astype(int),
        len(rules),
        sum(str(r).count(" and ") + 1 for r in rules),
    )


def plain_text(X):
    """Text columns as objects; numbers as they are."""
    return X.astype({name: object for name in X.columns if not pd.api.types.is_numeric_dtype(X[name])})


def boolean_rule_cg(X_fit, y_fit, X_out, seed):
    from aix360.algorithms.rbm import BooleanRuleCG, FeatureBinarizer

    binarizer = FeatureBinarizer(negations=True)
    # it cannot read the text type of recent pandas
    A, B = (step(plain_text(X)) for step, X in ((binarizer.fit_transform, X_fit), (binarizer.transform, X_out)))
    model = BooleanRuleCG(silent=True)
    model.fit(A, y_fit)
    rules = model.explain()["rules"]
    return np.asarray(model.predict(B)).astype(int), len(rules), sum(r.count(" AND ") + 1 for r in rules)


def boosting(X_fit, y_fit, X_out, seed):
    from interpret.glassbox import ExplainableBoostingClassifier

    model = ExplainableBoostingClassifier(random_state=seed, n_jobs=1).fit(X_fit, y_fit)
    return np.asarray(model.predict(X_out)).astype(int), "", ""


def random_forest(X_fit, y_fit, X_out, seed):
    return forest(seed).fit(X_fit, y_fit).predict(X_out), "", ""


PEERS = {
    "soar_jax": soar,
    "RIPPER (wittgenstein)": ripper,
    "Bayesian rule set (imodels)": bayesian_rule_set,
    "RuleFit (imodels)": rulefit,
    "BooleanRuleCG (AIX360)": boolean_rule_cg,
    "explainable boosting (interpret)": boosting,
    "random forest (scikit-learn)": random_forest,
}


def measured(function, data, seed) -> dict:
    start = time.perf_counter()
    X_fit, X_out, y_fit, y_out = data
    predicted, rules, literals = function(X_fit, y_fit, X_out, seed)
    seconds = time.perf_counter() - start
    error = float(np.mean(predicted != y_out.to_numpy()))
    return {"error": error, "rules": rules, "literals": literals, "seconds": seconds}


def attempt(function, data, seed) -> dict:
    try:
        return limited(measured, (function, data, seed), LIMIT)
    except Failed as failure:
        return {"failure": str(failure)}


def main(argv=None) -> dict:
    study = Study("peers", __doc__, argv)
    names = ["synthetic"] if study.quick else list(ROWS)
    peers = dict(list(PEERS.items())[:1] + list(PEERS.items())[-1:]) if study.quick else PEERS
    results, lines = [], []
    for name in names:
        X, y = getattr(datasets, f"load_{name}")()
        found: dict[str, list] = {}
        for seed in [0]:
            data = train_test_split(X, y, train_size=ROWS[name], random_state=seed)
            for label, function in peers.items():
                failed = found.get(label, [{}])[-1].get("failure", "")
                result = {"failure": failed} if failed else attempt(function, data, seed)
                found.setdefault(label, []).append(result)
                results.append({"table": name, "seed": seed, "peer": label, **result})
                study.say(f"{name}, split {seed}: {label}: {result}")
        rows = []
        for label, runs in found.items():
            good = [r for r in runs if "failure" not in r]
            if not good:
                rows.append([label, runs[0]["failure"], "", "", ""])
                continue
            mean = {
                k: np.mean([r[k] for r in good]) if good[0][k] != "" else ""
                for k in ("error", "rules", "literals", "seconds")
            }
            rows.append(
                [
                    label,
                    float(mean["error"]),
                    *(f"{mean[k]:.1f}" if mean[k] != "" else "" for k in ("rules", "literals", "seconds")),
                ]
            )
        lines += [
            f"## {name.capitalize()}",
            "",
            *table(["method", "test error", "rules", "literals", "seconds"], rows),
            "",
        ]
    head = [
        f"Each fit in a fresh process, limit {LIMIT:.0f} s; seconds hold fitting, predicting, imports of the peer and, for soar_jax, compilation.",
        "",
    ]
    return study.save({"results": results}, "Peers", [*head, *lines])


if __name__ == "__main__":
    main()
