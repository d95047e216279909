# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""The benchmark suite: what is run (rows, programs), how (measure, counts), what comes of it (figures, bars, order, report)."""
