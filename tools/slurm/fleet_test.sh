#!/bin/bash
# fleet.sh on a real cluster on loopback: an array and its merge leave the same
# bytes as one shard without a scheduler, also where a task is killed and Slurm
# runs it again.
set -euo pipefail
mlafuzz="${PWD}/$1"
fleet="${PWD}/tools/slurm/fleet.sh"
# shellcheck source=tools/slurm/loopback.sh
source tools/slurm/loopback.sh

why="$(cluster_missing)"
if [[ -n "${why}" ]]; then
  echo "SKIPPED: ${why}"
  cat > "${XML_OUTPUT_FILE:-/dev/null}" << EOF
<testsuites><testsuite name="fleet_test" tests="1" skipped="1">
<testcase name="fleet_test"><skipped message="${why}"/></testcase>
</testsuite></testsuites>
EOF
  exit 0
fi

folder="$(mktemp -d)"
finish() {
  local code=$?
  cluster_down || true
  if (( code != 0 )); then tail -n 30 "${folder}"/log/* "${folder}"/*.logs/* || true; fi
  rm -rf "${folder}"
  exit "${code}"
}
trap finish EXIT
fail() {
  echo "FAILED: $*"
  exit 1
}

# Bytes of a state but its shards.
same() {
  diff -r --exclude=shards --exclude='.*' "$1" "$2" \
    || fail "$1 and $2 differ"
}

# Until a job is over, its state printed.
await() {
  local i state
  for (( i = 0; i < 600; ++i )); do
    state="$(timeout 5 scontrol -o show job "$1" | grep -o 'JobState=[A-Z_]*' || true)"
    case "${state}" in
      JobState=COMPLETED | JobState=FAILED | JobState=CANCELLED) break ;;
    esac
    sleep 0.2
  done
  echo "${state#JobState=}"
}

cluster_up "${folder}" 3 || fail "the cluster does not come up"

export UNITS=5 CASES=300
flags=(--target=mutant:nope-stale-tail --flavour=plain)
"${mlafuzz}" corpus import --state="${folder}/straight"
"${mlafuzz}" unit --state="${folder}/straight" --units="${UNITS}" \
  --cases="${CASES}" "${flags[@]}" || [[ $? == 1 ]] || fail "no finding"
"${mlafuzz}" merge --state="${folder}/straight"

# ---- as many tasks as units, and fewer
for tasks in 2 5; do
  export STATE="${folder}/of${tasks}" TASKS="${tasks}" MLAFUZZ="${mlafuzz}"
  read -r _ merge < <("${fleet}" "${flags[@]}")
  [[ "$(await "${merge}")" == COMPLETED ]] || fail "merge of ${tasks} tasks"
  grep -q "5 units" "${STATE}.logs/merge.${merge}" || fail "no 5 units"
  same "${STATE}" "${folder}/straight"
done

# ---- a task whose program is killed, once, is run again
cat > "${folder}/killed-once" << EOF
#!/bin/bash
if [[ "\$1" == unit && "\${SLURM_ARRAY_TASK_ID}" == 1 \\
    && "\${SLURM_RESTART_COUNT:-0}" == 0 ]]; then
  "${mlafuzz}" "\$@" &
  sleep 0.3
  kill -9 \$!
  wait \$!
  exit
fi
exec "${mlafuzz}" "\$@"
EOF
chmod +x "${folder}/killed-once"
export STATE="${folder}/killed" TASKS=3 MLAFUZZ="${folder}/killed-once"
read -r array merge < <("${fleet}" "${flags[@]}")
[[ "$(await "${merge}")" == COMPLETED ]] || fail "merge after a kill"
timeout 5 scontrol -o show job "${array}_1" | grep -q 'Restarts=1 ' \
  || fail "the task was not run again"
same "${STATE}" "${folder}/straight"

# ---- a merge whose units are not all there says so
export STATE="${folder}/short"
cp -r "${folder}/straight" "${STATE}"
rm -r "${STATE}/shards" "${STATE}"/units/*
mkdir -p "${STATE}/shards"
code=0
"${mlafuzz}" merge --state="${STATE}" "${folder}/straight/shards/0" \
  --units=6 --cases="${CASES}" > "${folder}/log/short" 2>&1 || code=$?
[[ "${code}" == 2 ]] || fail "exit ${code} of a merge that lacks a unit"
grep -q "1 of 6 units are not done, the first of seed 6" "${folder}/log/short" \
  || fail "no word of the unit that lacks"
echo "PASSED"
