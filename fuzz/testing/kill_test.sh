#!/bin/bash
# Campaigns and minimisations that are killed at any moment of finding,
# minimising, reproducing and reporting: no torn file, nothing lost that was
# published, nothing twice.
#
#     kill_test.sh MLAFUZZ [MOMENTS]
set -uo pipefail
mlafuzz="${PWD}/$1"
moments="${2:-6}"
export BUILD_WORKING_DIRECTORY="${TEST_TMPDIR}/caller"
export TMPDIR="${TEST_TMPDIR}/scratch"
mkdir -p "${BUILD_WORKING_DIRECTORY}" "${TMPDIR}"
cd "${BUILD_WORKING_DIRECTORY}" || exit 2
failed=0
RANDOM=7
campaign=(campaign --target=mutant:nope-stale-tail --kernels=writer
  --flavour=plain --seed=3 --cases=300 --minimize-seconds=5 --out=out)

# What is published under out: every file whole, every cause once, none that
# was known gone. Prints the causes.
check() {
  python3 - "$1" << 'PYTHON'
import json, os, sys
before = set(filter(None, sys.argv[1].split("\n")))
bad, causes = [], {}
for folder, _, files in os.walk("out"):
    # Of a folder that is being made nothing is published yet.
    if "/.new-" in folder:
        continue
    for name in files:
        path = os.path.join(folder, name)
        text = open(path, "rb").read()
        # Of a write that was cut a file with a dot or a suffix of its own stays.
        if name.startswith(".") or ".tmp" in name:
            continue
        if name.endswith((".json", ".sarif")):
            try:
                json.loads(text)
            except ValueError as error:
                bad.append(f"{path}: {error}")
        elif name.endswith(".txtpb") and not text.endswith(b"}\n") \
                and b"\n" not in text[-30:]:
            bad.append(f"{path}: ends in {text[-20:]!r}")
        elif name == "report.html" and not text.rstrip().endswith(b"</html>"):
            bad.append(f"{path}: is cut")
for stage in ("crashing", "incubating", "regression"):
    for folder in sorted(os.listdir(f"out/{stage}") if os.path.isdir(f"out/{stage}") else []):
        if folder.startswith(".new-"):
            continue
        cause = json.load(open(f"out/{stage}/{folder}/cause.json"))
        key = cause["cause_key"]
        if key in causes:
            bad.append(f"{key} is in {causes[key]} and in {stage}")
        causes[key] = stage
        if not os.listdir(f"out/{stage}/{folder}/examples"):
            bad.append(f"{stage}/{folder} has no example")
for key in before - set(causes):
    bad.append(f"{key} was lost")
print("\n".join(causes))
if bad:
    sys.stderr.write("FAILED: " + "\n".join(bad) + "\n")
    sys.exit(1)
PYTHON
}

# How long one takes that nobody kills.
begin="$(date +%s%N)"
"${mlafuzz}" "${campaign[@]}" > log 2>&1
code=$?
took=$(( ($(date +%s%N) - begin) / 1000000 ))
[[ "${code}" == 1 ]] || { echo "FAILED: exit ${code}"; cat log; exit 1; }
known="$(check "")" || failed=1
echo "a campaign takes ${took} ms and leaves: ${known}"

# The last quarter is its reports: as many moments there as before.
for ((i = 0; i < moments; ++i)); do
  if ((i % 2 == 0)); then
    at=$((RANDOM * took / 32768))
  else
    at=$((took * 3 / 4 + RANDOM * took / 32768 / 4))
  fi
  "${mlafuzz}" "${campaign[@]}" > /dev/null 2>&1 &
  pid=$!
  sleep "$(printf '%d.%03d' $((at / 1000)) $((at % 1000)))"
  kill -KILL "${pid}" 2> /dev/null
  wait "${pid}" 2> /dev/null
  known="$(check "${known}")" || { echo "after ${at} ms"; failed=1; }
  echo "killed after ${at} ms, ${known:-nothing} is known"
done
"${mlafuzz}" "${campaign[@]}" > log 2>&1
code=$?
[[ "${code}" == 1 ]] || { echo "FAILED: after all, exit ${code}"; cat log; failed=1; }
known="$(check "${known}")" || failed=1
[[ "$(wc -l <<< "${known}")" == 1 ]] || { echo "FAILED: causes: ${known}"; failed=1; }
if compgen -G "${TMPDIR}/mlafuzz.*" > /dev/null; then
  echo "FAILED: scratch folders stay"; failed=1
fi

# A minimisation, cut as often as it takes to come to its end, ends where one
# does that is not cut.
original="$(ls out/findings/*/original.txtpb | head -n 1)"
minimize=(minimize "${original}" --target=mutant:nope-stale-tail
  --flavour=plain)
"${mlafuzz}" "${minimize[@]}" --out=whole.txtpb > log 2>&1
[[ -s whole.txtpb && ! -e whole.txtpb.tries ]] || {
  echo "FAILED: minimize"; cat log; failed=1; }
for ((i = 0; i < moments; ++i)); do
  "${mlafuzz}" "${minimize[@]}" --out=cut.txtpb > /dev/null 2>&1 &
  pid=$!
  sleep "0.$((RANDOM % 900 + 100))"
  kill -KILL "${pid}" 2> /dev/null
  wait "${pid}" 2> /dev/null
  [[ -e cut.txtpb ]] && break
done
"${mlafuzz}" "${minimize[@]}" --out=cut.txtpb > log 2>&1
cmp whole.txtpb cut.txtpb || { echo "FAILED: another minimum"; cat log; failed=1; }
echo "${moments} moments"
exit "${failed}"
