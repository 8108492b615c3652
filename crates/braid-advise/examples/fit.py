#!/usr/bin/env python3
"""The weights by which a test tells whether two paths have one bottleneck (src/probe.rs), and whether a path changes its
bottleneck (src/moving.rs), by logistic regression.

    cargo run --release -p braid-advise --example trials -- 5000..5399 only=evidence > evidence.csv
    python3 fit.py evidence.csv
    cargo run --release -p braid-advise --example trials -- 5000..5399 only=moving > moving.csv
    python3 fit.py moving.csv

Needs scikit-learn. For pairs, networks in which a path changes its bottleneck are left out: there is no one truth. Also says how
many are told right by weights from other networks: each tenth is judged by those of the rest.
"""

import csv
import sys

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, cross_val_predict

PAIR, PATH = 8, 7  # columns
CHANGES = "changing bottleneck"

with open(sys.argv[1]) as file:
    rows = [row for row in csv.reader(file, delimiter=";") if len(row) in (PAIR, PATH)]
rows = [row for row in rows if len(row) == PATH or row[1] != CHANGES]
networks = np.array([int(row[0]) for row in rows])
is_so = np.array([row[2] == "1" for row in rows])
shows = np.array([[float(value) for value in row[3:]] for row in rows])

regression = LogisticRegression(C=10, max_iter=10_000)
told = cross_val_predict(regression, shows, is_so, groups=networks, cv=GroupKFold(10))
print(f"{len(rows)} of {len(set(networks))} networks, {int((told == is_so).sum())} told right one by one")
print(f"of {int(is_so.sum())} that are so {int((told & is_so).sum())}, of others {int((told & ~is_so).sum())} taken for it")
regression.fit(shows, is_so)
print("weights", regression.coef_[0].round(2).tolist(), "bias", round(float(regression.intercept_[0]), 2))
