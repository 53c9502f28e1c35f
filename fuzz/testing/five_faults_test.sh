#!/bin/bash
# One target with five faults in rules of their own: five findings with the five
# right causes, and cases that are red until the faults are gone.
#
#     five_faults_test.sh MLAFUZZ MODULE EXAMPLES [CAMPAIGN FLAGS...]
set -uo pipefail
mlafuzz="${PWD}/$1"
module="${PWD}/$2"
export FIVE_FAULTS_EXAMPLES="${PWD}/$3"
shift 3
flags=("$@")
((${#flags[@]} > 0)) || flags=(--cases=1500 --time=100s)
export BUILD_WORKING_DIRECTORY="${TEST_TMPDIR}"
cd "${TEST_TMPDIR}" || exit 2
failed=0
target=(--python=/usr/bin/python3 --flavour=plain)

"${mlafuzz}" campaign "--target=python:${module}" "${target[@]}" --seed=5 \
  --no-infer --minimize-seconds=5 "${flags[@]}" --out=five
code=$?
[[ "${code}" == 1 ]] || { echo "FAILED: exit ${code}"; failed=1; }
python3 - << 'PYTHON' || failed=1
import json, sys
report = json.load(open("five/report.json"))
got = sorted(f["cause_key"] for f in report["findings"])
want = sorted([
    "writer/writer.tail=TAIL_UNCHANGED",
    "gather/gather.nope_tail=NOPE_TAIL_VERBATIM",
    "writer/writer.zero_tokens=ZERO_TOKENS_LAUNCH_ERROR",
    "convert/convert.valid_count=COUNT_NON_NEGATIVE",
    "decode/decode.lse_base=BASE_E",
])
print("cases", report["cases"], "seconds", report["seconds"])
for f in report["findings"]:
    print(f["cause_key"], f["cases_to_find"], f["note"],
          [(r["path"], r["verified"], r["words"]) for r in f["reproducers"]])
if got != want:
    sys.exit(f"FAILED: findings {got}")
known = sorted(c["cause_key"] for c in report["known_causes"])
if known != want:
    sys.exit(f"FAILED: known {known}")
for f in report["findings"]:
    if not any(r["kind"] == "python" and r["verified"] for r in f["reproducers"]):
        sys.exit(f"FAILED: {f['id']} has no reproducer: {f['reproducers']}")
PYTHON

# Red while the faults are there, green for the right module.
for id in five/crashing/*/; do
  "${mlafuzz}" replay "${id}examples" "--target=python:${module}" "${target[@]}" \
    > log 2>&1
  [[ $? == 1 ]] || { echo "FAILED: ${id} is not red"; cat log; failed=1; }
  "${mlafuzz}" replay "${id}examples" "--target=python:${module}:Right" \
    "${target[@]}" > log 2>&1
  [[ $? == 0 ]] || { echo "FAILED: ${id} stays red"; cat log; failed=1; }
done
for script in five/findings/*/repro.py; do
  /usr/bin/python3 "${script}" > log 2>&1
  [[ $? == 1 ]] || { echo "FAILED: ${script} is not red"; cat log; failed=1; }
  /usr/bin/python3 "${script}" "${module}:Right" > log 2>&1
  [[ $? == 0 ]] || { echo "FAILED: ${script} stays red"; cat log; failed=1; }
done
exit "${failed}"
