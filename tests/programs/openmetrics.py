# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""openmetrics.py < TEXT: a strict reader of what the OpenMetrics 1.0 text format allows and we use. Prints the number of samples.

--expect NAME=LEAST: the samples of this name sum up to at least that much.
--most-labels N: no label has more values than this.
Where Debian's python3-prometheus-client is there, its parser has to take the text, too.
"""
import argparse
import re
import sys

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
META = re.compile(rf"# (TYPE|UNIT|HELP) ({NAME}) (.*)")
SAMPLE = re.compile(rf'({NAME})(?:\{{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*",?)*)\}})? (-?\d+(?:\.\d+)?)')
LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"')


def fail(line, why):
    sys.exit(f"openmetrics: {why}: {line}")


class Reader:
    def __init__(self):
        self.family, self.meta, self.done = None, {}, set()
        self.sums, self.labels, self.seen = {}, {}, set()

    def read_meta(self, line):
        match = META.fullmatch(line) or fail(line, "no metadata")
        what, name, text = match.groups()
        if name != self.family:
            if name in self.done:
                fail(line, "a family is in two places")
            self.done.add(name)
            self.family, self.meta = name, {}
        if what in self.meta:
            fail(line, "twice the same metadata")
        if what == "TYPE" and text not in ("gauge", "counter"):
            fail(line, "a type we do not use")
        if what == "UNIT" and not name.endswith("_" + text):
            fail(line, "a name without its unit")
        self.meta[what] = text

    def read_sample(self, line):
        match = SAMPLE.fullmatch(line) or fail(line, "no sample")
        name, labels, value = match.groups()
        suffix = "_total" if self.meta.get("TYPE") == "counter" else ""
        if self.family is None or name != self.family + suffix:
            fail(line, "not of the family above it")
        if "HELP" not in self.meta or "TYPE" not in self.meta or not self.meta["HELP"]:
            fail(line, "a family without metadata")
        if ("bytes" in name) != (self.meta.get("UNIT") == "bytes"):
            fail(line, "bytes without the unit, or the other way round")
        if (name, labels) in self.seen:
            fail(line, "twice the same sample")
        self.seen.add((name, labels))
        pairs = LABEL.findall(labels or "")
        if len({key for key, _ in pairs}) != len(pairs):
            fail(line, "a label twice")
        for key, text in pairs:
            self.labels.setdefault((self.family, key), set()).add(text)
        self.sums[name] = self.sums.get(name, 0) + float(value)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--expect", action="append", default=[])
    parser.add_argument("--most-labels", type=int, default=10**6)
    options = parser.parse_args()
    text = sys.stdin.read()
    if not text.endswith("\n# EOF\n"):
        sys.exit("openmetrics: no end")
    reader = Reader()
    for line in text[:-len("# EOF\n")].splitlines():
        (reader.read_meta if line.startswith("#") else reader.read_sample)(line)
    for expected in options.expect:
        name, least = expected.split("=")
        if reader.sums.get(name, -1) < float(least):
            sys.exit(f"openmetrics: {name} is {reader.sums.get(name)}, expected {least}")
    for (family, key), values in reader.labels.items():
        if len(values) > options.most_labels:
            sys.exit(f"openmetrics: {family}: {len(values)} values of {key}")
    try:
        from prometheus_client.openmetrics.parser import text_string_to_metric_families
    except ImportError:
        pass
    else:
        samples = sum(len(family.samples) for family in text_string_to_metric_families(text))
        if samples != len(reader.seen):
            sys.exit(f"openmetrics: {samples} samples for the other parser, {len(reader.seen)} for this one")
    print(len(reader.seen))


main()
