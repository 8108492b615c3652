#!/usr/bin/env python3
"""The weights by which a test tells whether two paths have one bottleneck (src/probe.rs), by logistic regression.

    cargo run --release -p braid-advise --example trials -- 5000..5399 only=evidence > evidence.csv
    python3 fit.py evidence.csv

Needs scikit-learn. Networks in which paths change their bottleneck are left out: there is no one truth. Also says how many
pairs are told right by weights from other networks: each tenth is judged by those of the rest.
"""

import csv
import sys

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, cross_val_predict

with open(sys.argv[1]) as file:
    rows = [row for row in csv.reader(file, delimiter=";") if len(row) == 8 and row[1] != "changing bottleneck"]
networks = np.array([int(row[0]) for row in rows])
shared = np.array([row[2] == "1" for row in rows])
shows = np.array([[float(value) for value in row[3:]] for row in rows])

regression = LogisticRegression(C=10, max_iter=10_000)
told = cross_val_predict(regression, shows, shared, groups=networks, cv=GroupKFold(10))
print(f"{len(rows)} pairs of {len(set(networks))} networks, {int((told == shared).sum())} told right one by one")
regression.fit(shows, shared)
print("weights", regression.coef_[0].round(2).tolist(), "bias", round(float(regression.intercept_[0]), 2))
