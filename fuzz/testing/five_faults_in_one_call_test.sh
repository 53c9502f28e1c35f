#!/bin/bash
# One target with five faults, of which two are in the writer and two in the
# decode and show in one call: five findings with the five right causes, and
# cases and reproducers that are red until the faults are gone.
#
#     five_faults_in_one_call_test.sh MLAFUZZ WRONG.so RIGHT.so [FLAGS...]
set -uo pipefail
mlafuzz="${PWD}/$1"
wrong="$(realpath "$2")"
right="$(realpath "$3")"
shift 3
flags=("$@")
((${#flags[@]} > 0)) || flags=(--cases=3000 --time=100s)
export BUILD_WORKING_DIRECTORY="${TEST_TMPDIR}"
cd "${TEST_TMPDIR}" || exit 2
failed=0

"${mlafuzz}" campaign "--target=lib:${wrong}" --flavour=plain --seed=5 \
  --no-infer --minimize-seconds=5 "${flags[@]}" --out=five
code=$?
[[ "${code}" == 1 ]] || { echo "FAILED: exit ${code}"; failed=1; }
python3 - << 'PYTHON' || failed=1
import json, sys
report = json.load(open("five/report.json"))
got = sorted(f["cause_key"] for f in report["findings"])
want = sorted([
    "writer/writer.scale=POW2_CEIL",
    "writer/writer.tail=TAIL_UNCHANGED",
    "gather/gather.nope_tail=NOPE_TAIL_VERBATIM",
    "decode/decode.lse_base=BASE_E",
    "decode/v.scale_rule=SCALE_ONE",
])
print("cases", report["cases"], "seconds", report["seconds"])
for f in report["findings"]:
    print(f["cause_key"], f["cases_to_find"], f["note"], f["cause"],
          [(r["path"], r["verified"], r["words"]) for r in f["reproducers"]])
if got != want:
    sys.exit(f"FAILED: findings {got}")
if any(f["cause_may_be"] for f in report["findings"]):
    sys.exit("FAILED: a cause is one of several")
known = sorted(c["cause_key"] for c in report["known_causes"])
if known != want:
    sys.exit(f"FAILED: known {known}")
for f in report["findings"]:
    # Below they are built and run, whether there was time to do so or not.
    if not any(r["kind"] == "c++" and r["path"] for r in f["reproducers"]):
        sys.exit(f"FAILED: {f['id']} has no reproducer: {f['reproducers']}")
PYTHON

# Red while the faults are there, green for the right library.
check() {
  local what="$1" code="$2" want="$3"
  [[ "${code}" == "${want}" ]] && return
  echo "FAILED: ${what}: exit ${code}, not ${want}"
  cat log
  failed=1
}
for id in five/crashing/*/; do
  "${mlafuzz}" replay "${id}examples" "--target=lib:${wrong}" --flavour=plain > log 2>&1
  check "${id} of the wrong library" "$?" 1
  "${mlafuzz}" replay "${id}examples" "--target=lib:${right}" --flavour=plain > log 2>&1
  check "${id} of the right library" "$?" 0
done
for source in five/findings/*/repro.cc; do
  c++ -std=c++11 "${source}" -o repro -ldl || failed=1
  ./repro > log 2>&1
  check "${source} of the wrong library" "$?" 1
  ./repro "${right}" > log 2>&1
  check "${source} of the right library" "$?" 0
done
exit "${failed}"
