# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""What the four documents measured, measured here: see docs/experiments.md."""
