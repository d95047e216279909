# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""What the tests of the experiments share. DRYSTONE_CLI is the command."""
import json
import os
import re
import subprocess
import sys

CLI = os.environ.get("DRYSTONE_CLI", "build/drystone")


def check(good, what):
    if not good:
        sys.exit("FAIL: " + what)


def equal(a, b, what):
    if a != b and isinstance(a, dict) and isinstance(b, dict):  # only what differs
        a, b = ({key: x[key] for key in x if key not in y or x[key] != y[key]} for x, y in ((a, b), (b, a)))
        sys.exit("FAIL: %s: %r, not %r" % (what, a, b))
    check(a == b, "%s: %r, not %r" % (what, a, b))


def command(*arguments, status=0):
    done = subprocess.run([CLI, "experiment", *arguments], capture_output=True, text=True, timeout=250, check=False)
    check(done.returncode == status, "drystone experiment %s: exit status %d: %s" % (
        " ".join(arguments), done.returncode, done.stderr.strip()[-500:]))
    return done


def experiment(name, *arguments):
    """The result of a quick run, its structure checked: every part of a report page is there."""
    result = json.loads(command(name, "--quick", "--json", *arguments).stdout)
    equal(result["name"], name, "name")
    for part in ("title", "question", "method", "verdict"):
        check(isinstance(result[part], str) and len(result[part]) > 10, "%s: no %s" % (name, part))
    equal(len(re.findall(r"\.(?= |$)", result["method"])), 3, name + ": sentences of the method")
    equal(len(re.findall(r"\.(?= |$)", result["verdict"])), 1, name + ": sentences of the verdict")
    check(result["command"].startswith("drystone experiment " + name), "%s: no command" % name)
    check(result["published"] and result["ours"] and result["claims"] and result["rows"], "%s: a part is empty" % name)
    for table in result["published"] + result["ours"]:
        check(table["rows"], "%s: an empty table: %s" % (name, table["caption"]))
        for row in table["rows"]:
            equal(len(row), len(table["header"]), "%s: width of %s" % (name, table["caption"]))
    return result


def positive(rows, *columns):
    """Times are never compared, but they are there."""
    for row in rows:
        for column in columns:
            check(float(row[column]) > 0, "%s is not positive in %r" % (column, row))


def pick(rows, **wanted):
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def ok(what):
    print("ok: %s (no random numbers in it)" % what)
