# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""
Instructions and cache misses of an operation, by callgrind: the same on a busy machine. Two runs of different length
are counted; their difference has no start of a process in it.
"""
from drystone_experiments import worker
from .measure import OUT, Failed, execute

SCALES = (0.002, 0.01)
OTHER_SCALES = {"runs": (0.1, 0.2)}  # two lengths at which its rounds differ
# Nothing that depends on the scheduler, as for the counts of the experiments.
ENVIRONMENT = {"GLIBC_TUNABLES": "glibc.pthread.rseq=0", "DRYSTONE_CONF": "background:0"}


def events(ctx, row, library, scale):
    """(operations, instructions, misses of the first level, of the last)"""
    ctx.file("counted").mkdir(exist_ok=True)
    command = [*worker.callgrind_tool(ctx.file("counted")), OUT / row.program, row.pattern, row.threads, scale]
    _, text = execute(ctx, library, command, ENVIRONMENT)
    ops = [int(line.split()[1]) for line in text.splitlines() if line.startswith("ops ")]
    counted = worker.totals(ctx.file("counted") / "out")
    return ops[0], counted["Ir"], *worker.misses(counted)


def count(ctx, row, library):
    """{column: events per operation}"""
    short, long = (events(ctx, row, library, scale) for scale in OTHER_SCALES.get(row.pattern, SCALES))
    ops = long[0] - short[0]
    if ops <= 0:
        raise Failed("no more operations in the longer run")
    values = [(b - a) / ops for a, b in zip(short[1:], long[1:])]
    return dict(zip(("instructions", "d1_misses", "ll_misses"), (f"{value:.3f}" for value in values)))
