"""Writes signed_rank.json: what SciPy says about the signed-rank test.

    pip install scipy==1.17.1 numpy==2.4.6 && python3 signed_rank.py > signed_rank.json

`tables` are null distributions as counts (probability * 2^n), from scipy.stats._wilcoxon. `cases` are p-values of
scipy.stats.wilcoxon: exact for untied values; for tied ones its PermutationMethod, which for so few values
enumerates every assignment of signs. `large` holds values whose p was computed here in integers: beyond some fifty
values SciPy's own sums lose digits in the tail (9.077222965059e-06 where the integers say 9.077222965005e-06).
The inputs come from a fixed generator and are stored in full.
"""

import json
from fractions import Fraction

import numpy as np
import scipy
from scipy.stats import PermutationMethod, wilcoxon
from scipy.stats._wilcoxon import WilcoxonDistribution

rng = np.random.default_rng(20240229)


def table(n):
    distribution = WilcoxonDistribution(n)
    at_most = distribution.cdf(np.arange(n * (n + 1) // 2 + 1))
    return {"n": n, "counts": [int(round(p * 2**n)) for p in np.diff(at_most, prepend=0.0)]}


def case(values, tied):
    method = PermutationMethod(n_resamples=np.inf) if tied else "exact"
    return {"values": [float(v) for v in values], "p": float(wilcoxon(values, method=method).pvalue)}


def integers(values):
    positive = sum(rank for rank, v in enumerate(sorted(values, key=abs), 1) if v > 0)
    counts = [1]
    for rank in range(1, len(values) + 1):
        counts = [a + b for a, b in zip(counts + [0] * rank, [0] * rank + counts)]
    tail = min(sum(counts[: positive + 1]), sum(counts[positive:]))
    return {"values": [float(v) for v in values], "p": float(min(Fraction(1), Fraction(2 * tail, 2 ** len(values))))}


untied = [rng.normal(shift, 1.0, n) for n in (3, 5, 8, 10, 12, 20, 25, 40) for shift in (0.0, 0.3, 0.8)]
large = [rng.normal(shift, 1.0, n) for n in (60, 80, 200) for shift in (0.0, 0.3, 0.8)]
tied = [rng.integers(-4, 6, n).astype(float) for n in (4, 6, 8, 10, 12) for _ in range(3)]
print(json.dumps({
    "scipy": scipy.__version__,
    "numpy": np.__version__,
    "tables": [table(n) for n in (1, 2, 3, 5, 8, 10, 14, 20)],
    "cases": [case(v, False) for v in untied] + [case(v, True) for v in tied],
    "large": [integers(v) for v in large],
}, separators=(",", ":")))
