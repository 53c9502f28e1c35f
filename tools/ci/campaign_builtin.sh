#!/bin/bash
# A minute on the project's own kernels: nothing may be found.
set -euo pipefail
out="$(mktemp -d)"
trap 'rm -rf "${out}"' EXIT
bazel run --config=ci //:mlafuzz -- campaign --time=60s --seed="${MLAFUZZ_SEED:-1}" \
  "--jobs=$(nproc)" "--out=${out}"
python3 - "${out}/report.json" <<'PY'
import json
import sys

report = json.load(open(sys.argv[1]))
assert report["findings"] == [], report["findings"]
assert report["exit_code"] == 0, report["exit_code"]
distinct = report["distinct_cases"]
for kernel in ("writer", "gather", "convert"):
    assert distinct[kernel] > 1000, distinct
print("nothing found in", report["cases"], "cases; distinct:", distinct)
PY
