# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""The command that the wheel carries. `run` has Python's small objects come from malloc, too."""
import os
import sys


def main():
    command = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_native", "bin", "drystone")
    if not os.path.exists(command):
        sys.exit("drystone: %s is not there: this is the source, not an installed package" % command)
    if sys.argv[1:2] == ["run"]:
        os.environ.setdefault("PYTHONMALLOC", "malloc")
    os.execv(command, [command] + sys.argv[1:])


if __name__ == "__main__":
    main()
