# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""What an experiment hands to the report: text, tables, plots, rows for its CSV."""
from dataclasses import dataclass, field


@dataclass
class Table:
    caption: str
    header: list
    rows: list  # of lists; a cell is text or a number
    note: str = ""


@dataclass
class Plot:
    caption: str
    svg: str


@dataclass
class Claim:
    """One statement of a document, and whether this run bears it out. None: this run cannot tell."""
    says: str
    holds: object
    measured: str
    why: str = ""    # where it does not hold
    brief: str = ""  # what of it goes into the verdict


@dataclass
class Result:
    name: str
    title: str
    question: str
    method: str
    verdict: str
    command: str
    published: list = field(default_factory=list)  # of Table
    ours: list = field(default_factory=list)       # of Table
    plots: list = field(default_factory=list)
    claims: list = field(default_factory=list)
    csv_header: list = field(default_factory=list)
    csv_rows: list = field(default_factory=list)
    more_csv: dict = field(default_factory=dict)   # name: (header, rows)
    timed: bool = False                            # has figures that depend on the machine's load
    seconds: float = 0.0

    def as_json(self):
        def plain(table):
            return {"caption": table.caption, "header": table.header, "rows": table.rows, "note": table.note}
        return {
            "name": self.name, "title": self.title, "question": self.question, "method": self.method,
            "verdict": self.verdict, "command": self.command, "seconds": round(self.seconds, 2),
            "published": [plain(t) for t in self.published], "ours": [plain(t) for t in self.ours],
            "claims": [vars(c) for c in self.claims],
            "rows": [dict(zip(self.csv_header, row)) for row in self.csv_rows],
            "more": {name: [dict(zip(header, row)) for row in rows] for name, (header, rows) in self.more_csv.items()},
        }


def verdict_of(claims, nothing="This run measured nothing of it."):
    """One sentence out of the claims: what held, and what did not and why."""
    told = [c for c in claims if c.holds is not None and (c.brief or not c.holds)]
    held = [c.brief for c in told if c.holds]
    failed = [(c.brief or c.measured) + (", because " + c.why if c.why else "") for c in told if not c.holds]
    if not told:
        return nothing
    if not failed:
        return "Confirmed: %s." % "; ".join(held)
    if not held:
        return "Not what the document found: %s." % "; ".join(failed)
    return "Partly: %s; but %s." % ("; ".join(held), "; ".join(failed))
