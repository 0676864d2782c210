"""Measured figures of the time model; `python -m tests.bench.seconds --fit` writes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Figures:
    """Milliseconds of one action: fixed, for each leaf, for each column and each index of a leaf,
    and for the square of the number of leaves.
    """

    fixed: float
    leaf: float
    column: float = 0.0
    index: float = 0.0
    square: float = 0.0


# milliseconds of counting 25,000 numbers: on the entry instance, and on all segments at once
SPEED: Mapping[str, tuple[float, float | None]] = {
    "gp6": (1.75, 6.1),
    "gp7": (1.65, 4.4),
    "pg15": (1.6, None),
    "pg18": (1.45, None),
    "pg19": (1.45, None),
}
FIGURES: Mapping[tuple[str, str], Mapping[str, Figures]] = {
    ("gp6", "ao_column"): {
        "add": Figures(29.5, 0, 0, 0.00618, 0),
        "add column": Figures(11, 0.381, 0.00257, 0.00724, 0),
        "backup": Figures(110, 0.135, 0.0028, 0.0133, 0),
        "create": Figures(26.2, 6.53, 0.0502, 0, 9.2e-05),
        "create index": Figures(23.6, 4.75, 0, 0, 0),
        "drop": Figures(46.1, 3.76, 0, 0.699, 0.000659),
        "drop partition": Figures(20.7, 0.00461, 0, 0.00059, 2.75e-08),
        "plan all, again": Figures(0.134, 0.0298, 0.00377, 0.00432, 5.43e-05),
        "plan all, first": Figures(0.757, 0.181, 0.00775, 0.0197, 3.39e-05),
        "plan pruned, again": Figures(0.185, 0.0151, 0.000554, 0.00173, 3.93e-06),
        "plan pruned, first": Figures(1.06, 0.0453, 0.00178, 0.071, 3.87e-06),
        "split": Figures(62.8, 0.0306, 0, 0.0143, 0),
        "truncate": Figures(62.9, 8.7, 0, 0.87, 1.46e-05),
    },
    ("gp6", "ao_row"): {
        "add": Figures(29.9, 0, 3.61e-05, 0.00982, 0),
        "add column": Figures(31.9, 11, 0.0316, 2.53, 0),
        "backup": Figures(123, 0.0607, 0.00441, 0.0719, 0),
        "create": Figures(20.4, 6.26, 0.0687, 0, 0),
        "create index": Figures(21.2, 4.2, 0, 0, 0),
        "drop": Figures(42.4, 3.97, 0, 1.16, 0.000312),
        "drop partition": Figures(21.3, 0.00175, 0, 0, 0),
        "plan all, again": Figures(0.127, 0.0136, 0.00121, 0.00499, 4.17e-05),
        "plan all, first": Figures(0.776, 0.141, 0.00196, 0.0136, 0.000249),
        "plan pruned, again": Figures(0.226, 0.00417, 0.000458, 0.00448, 2.02e-05),
        "plan pruned, first": Figures(1.06, 0, 0.0016, 0.0919, 0.00017),
        "split": Figures(64, 0.0312, 0, 0.00437, 0),
        "truncate": Figures(69.3, 7.93, 0, 1.35, 0),
    },
    ("gp6", "heap"): {
        "add": Figures(22.5, 0, 1.4e-05, 0.00498, 1.91e-07),
        "add column": Figures(12.9, 0.147, 0.00125, 0, 0),
        "backup": Figures(100, 0.0617, 0.000816, 0.0406, 0),
        "create": Figures(29.3, 3.79, 0.0369, 0, 0.000105),
        "create index": Figures(25.8, 2.24, 0.0036, 0, 1.1e-05),
        "drop": Figures(27, 0.837, 0.0159, 0.221, 0.000166),
        "drop partition": Figures(16.3, 0, 0.000103, 0.00227, 7.87e-08),
        "plan all, again": Figures(0.121, 0.00681, 0.00141, 0.00311, 4.19e-05),
        "plan all, first": Figures(0.825, 0.0804, 0.00367, 0.0351, 3.47e-05),
        "plan pruned, again": Figures(0.168, 0.00985, 0.000594, 0.00573, 4.13e-06),
        "plan pruned, first": Figures(0.941, 0.0367, 0.00176, 0.0839, 5.06e-07),
        "split": Figures(48.2, 0.0319, 0, 0.00572, 4.14e-07),
        "truncate": Figures(36.5, 1.84, 0.0146, 0.999, 0.000136),
    },
    ("gp7", "ao_column"): {
        "add": Figures(26.9, 0, 0.000429, 0.00473, 1.99e-07),
        "add column": Figures(12.7, 0.268, 0.00529, 0, 0),
        "backup": Figures(148, 0.168, 0.00714, 0, 0),
        "create": Figures(24.9, 3.43, 0.173, 0, 0.00212),
        "create index": Figures(22.6, 2.9, 0.00968, 0, 0.000469),
        "drop": Figures(43.2, 4.69, 0.00525, 0.636, 0.00046),
        "drop partition": Figures(22.7, 0, 2.88e-05, 0.00354, 1.08e-07),
        "plan all, again": Figures(0.085, 0.000955, 0.000964, 0, 5.18e-05),
        "plan all, first": Figures(0.564, 0.0339, 0.00269, 0.0971, 3.69e-05),
        "plan pruned, again": Figures(0.142, 0, 1.83e-06, 0, 0),
        "plan pruned, first": Figures(1.53, 0.0072, 0, 0, 1.9e-07),
        "split": Figures(51.7, 0, 0.000368, 0.0204, 2.29e-07),
        "truncate": Figures(92.8, 6.02, 0.0217, 2.99, 3.09e-06),
    },
    ("gp7", "ao_row"): {
        "add": Figures(32.2, 0.0208, 0, 0, 0),
        "add column": Figures(12, 0.483, 0.00126, 0.0116, 0),
        "backup": Figures(130, 0.19, 0.00446, 0.0366, 0),
        "create": Figures(17.9, 11.2, 0, 0, 0.00298),
        "create index": Figures(20, 2.1, 0, 0, 0),
        "drop": Figures(57.7, 4.8, 0.0041, 0.827, 0),
        "drop partition": Figures(21.1, 0, 3.58e-05, 0.000975, 1.24e-05),
        "plan all, again": Figures(0.0706, 0, 0.000791, 0.00444, 3.9e-05),
        "plan all, first": Figures(0.752, 0, 0.00221, 0.0882, 0.00013),
        "plan pruned, again": Figures(0.141, 0, 3.92e-06, 8.29e-06, 1.54e-07),
        "plan pruned, first": Figures(1.06, 0.00594, 7.68e-06, 0, 5.2e-06),
        "split": Figures(66, 0, 0.000433, 0.00724, 0),
        "truncate": Figures(97.1, 16.9, 0, 1.34, 0),
    },
    ("gp7", "heap"): {
        "add": Figures(23.1, 0, 0.000569, 0.00259, 7.79e-07),
        "add column": Figures(12.4, 0.132, 0.00118, 0.00433, 0),
        "backup": Figures(123, 0.0461, 0.00403, 0.116, 0),
        "create": Figures(44.1, 4.1, 0.00464, 0, 0.003),
        "create index": Figures(17.6, 1.27, 0.000594, 0.128, 0.000261),
        "drop": Figures(20.9, 0.971, 0.00115, 0.397, 4.47e-05),
        "drop partition": Figures(16.2, 0, 9.77e-05, 0.00202, 3.4e-07),
        "plan all, again": Figures(0.0868, 0, 0.000871, 0.000952, 6.19e-05),
        "plan all, first": Figures(0.673, 0.0322, 0.00258, 0.109, 3.25e-05),
        "plan pruned, again": Figures(0.157, 0, 1.85e-06, 0, 0),
        "plan pruned, first": Figures(1.09, 0.00547, 8.31e-05, 0, 8.51e-07),
        "split": Figures(40.3, 0.00887, 9.89e-05, 0.0142, 1.96e-06),
        "truncate": Figures(53.6, 1.82, 0, 1.58, 0.000898),
    },
    ("pg15", "heap"): {
        "add": Figures(3.02, 0.00455, 0, 0.00055, 0),
        "add column": Figures(0.82, 0.0357, 0.000636, 0, 0),
        "backup": Figures(48.5, 0.143, 0.00543, 0.0337, 0),
        "create": Figures(5.51, 0.827, 0.00114, 0, 0.000867),
        "create index": Figures(3.26, 0.4, 0.00275, 0, 3.31e-06),
        "drop": Figures(2.02, 0.266, 0.00135, 0.128, 1.01e-05),
        "drop partition": Figures(1.92, 0, 0, 0, 0),
        "plan all, again": Figures(0.0458, 0.00738, 0.00075, 0.0079, 1.09e-06),
        "plan all, first": Figures(0.482, 0.0213, 0.00292, 0.0271, 2.15e-07),
        "plan pruned, again": Figures(0.0983, 0, 3e-07, 0, 0),
        "plan pruned, first": Figures(1.02, 0.00454, 4.41e-06, 0.000241, 7.3e-08),
        "truncate": Figures(1.77, 0.673, 0, 0.491, 0),
    },
    ("pg18", "heap"): {
        "add": Figures(1.78, 0.00454, 2.77e-06, 0.000368, 4.19e-07),
        "add column": Figures(0.696, 0.0348, 0.000375, 0.000229, 0),
        "backup": Figures(37.8, 0.101, 0.00247, 0.0325, 0),
        "create": Figures(2.87, 0.398, 0.00252, 0, 0.000579),
        "create index": Figures(1.22, 0.144, 0.00139, 0.00651, 3.86e-06),
        "drop": Figures(1.1, 0.205, 0.000451, 0.0772, 9.56e-06),
        "drop partition": Figures(1.54, 0, 0, 5.11e-05, 0),
        "plan all, again": Figures(0.0553, 0, 0.00071, 0.00703, 7.21e-06),
        "plan all, first": Figures(0.334, 0.0142, 0.00191, 0.0264, 6.29e-06),
        "plan pruned, again": Figures(0.1, 0, 0, 0, 0),
        "plan pruned, first": Figures(0.754, 0.00456, 0, 0.000275, 1.37e-07),
        "truncate": Figures(1.32, 0.289, 0.000428, 0.141, 2.66e-07),
    },
    ("pg19", "heap"): {
        "add": Figures(2.17, 0.00511, 0, 7.01e-05, 7.59e-09),
        "add column": Figures(0.933, 0.0358, 4.55e-05, 0.00714, 0),
        "backup": Figures(43.9, 0.125, 0.000523, 0.0406, 0),
        "create": Figures(3.99, 0.453, 0, 0, 0.000625),
        "create index": Figures(1.4, 0.159, 0.000852, 0, 9.72e-07),
        "drop": Figures(1.58, 0.135, 0, 0.121, 1.1e-05),
        "drop partition": Figures(1.39, 0, 0, 0, 0),
        "plan all, again": Figures(0.0684, 0, 0.000454, 0.00453, 6.67e-06),
        "plan all, first": Figures(0.414, 0.0197, 0.002, 0.023, 2.83e-06),
        "plan pruned, again": Figures(0.0988, 0, 7.33e-08, 0, 9.72e-11),
        "plan pruned, first": Figures(0.851, 0.00435, 0, 2.64e-05, 2.64e-07),
        "truncate": Figures(2.33, 0.128, 0.000225, 0.202, 5.33e-06),
    },
}
