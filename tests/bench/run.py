#!/usr/bin/env python3
"""The benchmarks. See README.md beside this file.

run.py rust      ours beside rmcp and the minimal programs, on one CPU, with the goals: what `make bench` prints
run.py peers     all existing SDKs over stdio and HTTP+SSE, interleaved, for as long as it is given
run.py report    the tables of recorded results
run.py setup     installs and builds what `peers` needs, which `peers` does by itself too
"""

import sys

from harness.cli import main

if __name__ == "__main__":
    sys.exit(main())
