#!/bin/bash
# A writer that leaves the tail of rows without rope as it was: must be found,
# with the right kernel, property and cause.
set -euo pipefail
out="$(mktemp -d)"
trap 'rm -rf "${out}"' EXIT
status=0
bazel run --config=ci //:mlafuzz -- campaign --target=mutant:nope-stale-tail \
  --time=60s --seed=1 --stop-on-first "--out=${out}" || status=$?
[[ "${status}" == 1 ]] || { echo "exit ${status}, not 1"; exit 1; }
python3 - "${out}/report.json" <<'PY'
import json
import sys

report = json.load(open(sys.argv[1]))
finding = report["findings"][0]
assert finding["kernel"] == "writer", finding
assert finding["property"] == "nope-tail", finding
assert finding["field"] == "writer.tail", finding
assert "TAIL_UNCHANGED" in finding["cause"], finding
print("found after", finding["executions_to_find"], "executions:", finding["cause"])
PY
