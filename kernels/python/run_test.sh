#!/bin/bash
# Runs a test in Python with the interpreter that tools/setup.sh installs numpy
# for, whatever $PATH says.
set -euo pipefail
exec /usr/bin/python3 -B -W ignore::ResourceWarning "$@"
