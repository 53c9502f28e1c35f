#!/bin/bash
# fleet.sh on a real cluster of four nodes on loopback: an array and its merge leave
# the same bytes as one shard without a scheduler, also where a task is killed and
# Slurm runs it again, a node is lost and its task runs elsewhere while the first
# copy goes on, and a task runs twice at once.
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

cluster_up "${folder}" 4 || fail "the cluster does not come up"

export UNITS=9 CASES=200
flags=(--target=mutant:nope-stale-tail --flavour=plain)
"${mlafuzz}" corpus import --state="${folder}/straight"
"${mlafuzz}" unit --state="${folder}/straight" --units="${UNITS}" \
  --cases="${CASES}" "${flags[@]}" || [[ $? == 1 ]] || fail "no finding"
"${mlafuzz}" merge --state="${folder}/straight"

# ---- as many tasks as units, and fewer
for tasks in 2 9; do
  export STATE="${folder}/of${tasks}" TASKS="${tasks}" MLAFUZZ="${mlafuzz}"
  read -r _ merge < <("${fleet}" "${flags[@]}")
  [[ "$(await "${merge}")" == COMPLETED ]] || fail "merge of ${tasks} tasks"
  grep -q "9 units" "${STATE}.logs/merge.${merge}" || fail "no 9 units"
  same "${STATE}" "${folder}/straight"
done

# ---- eight tasks: one killed, one on a node that is lost, one run twice
cat > "${folder}/stormy" << EOF
#!/bin/bash
# As the program, with what may befall it.
if [[ "\$1" != unit ]]; then exec "${mlafuzz}" "\$@"; fi
touch "${folder}/ran.\${SLURM_ARRAY_TASK_ID}.\${SLURMD_NODENAME}"
case "\${SLURM_ARRAY_TASK_ID}.\${SLURM_RESTART_COUNT:-0}" in
  1.0)  # killed in the middle
    "${mlafuzz}" "\$@" &
    sleep 0.3
    kill -9 \$!
    wait \$!
    exit ;;
  2.0)  # twice at once, in one shard
    "${mlafuzz}" "\$@" &
    "${mlafuzz}" "\$@"
    code=\$?
    wait \$!
    exit "\${code}" ;;
  5.0)  # on a node that is lost: goes on when its task has been run elsewhere
    echo "\$\$ \${SLURMD_NODENAME}" > "${folder}/lost.tmp"
    mv "${folder}/lost.tmp" "${folder}/lost"
    for (( i = 0; i < 600; ++i )); do
      [[ -e "${folder}/elsewhere" ]] && break
      sleep 0.1
    done
    "${mlafuzz}" "\$@"
    touch "${folder}/late"
    exit ;;
esac
"${mlafuzz}" "\$@"
code=\$?
if [[ "\${SLURM_ARRAY_TASK_ID}" == 5 ]]; then touch "${folder}/elsewhere"; fi
exit "\${code}"
EOF
chmod +x "${folder}/stormy"
export STATE="${folder}/storm" TASKS=8 MLAFUZZ="${folder}/stormy"
read -r array merge < <("${fleet}" "${flags[@]}")
for (( i = 0; i < 300; ++i )); do
  [[ -e "${folder}/lost" ]] && break
  sleep 0.1
done
read -r lost_pid node < "${folder}/lost" || fail "task 5 did not start"
# The node is gone, to the controller; what ran there runs on.
kill -9 "${cluster_pids[${node}]}"
wait "${cluster_pids[${node}]}" 2> /dev/null || true
unset "cluster_pids[${node}]"
timeout 5 scontrol update "NodeName=${node}" State=DOWN Reason=lost \
  || fail "${node} cannot be taken down"
[[ "$(await "${merge}")" == COMPLETED ]] || fail "merge after a storm"
for task in 1 5; do
  timeout 5 scontrol -o show job "${array}_${task}" | grep -q 'Restarts=[1-9]' \
    || fail "task ${task} was not run again"
done
[[ -e "${folder}/elsewhere" ]] || fail "task 5 did not run elsewhere"
grep -q "9 units" "${STATE}.logs/merge.${merge}" || fail "no 9 units"
same "${STATE}" "${folder}/straight"
nodes="$(find "${folder}" -maxdepth 1 -name 'ran.*' -printf '%f\n' \
  | cut -d. -f3 | sort -u | wc -l)"
(( nodes == 4 )) || fail "tasks ran on ${nodes} nodes of 4"
# The copy on the lost node ends after the merge: nothing is new, nothing is lost.
for (( i = 0; i < 600; ++i )); do
  if [[ -e "${folder}/late" ]] || ! kill -0 "${lost_pid}" 2> /dev/null; then
    break
  fi
  sleep 0.1
done
[[ -e "${folder}/late" ]] || fail "the lost node's copy did not end"
"${mlafuzz}" merge --state="${STATE}" --units="${UNITS}" --cases="${CASES}" \
  > "${folder}/log/late" 2>&1 || fail "merge after the lost node's copy"
grep -q ' 0 objects added' "${folder}/log/late" || fail "$(cat "${folder}/log/late")"
same "${STATE}" "${folder}/straight"

# ---- a merge whose units are not all there says so
export STATE="${folder}/short"
cp -r "${folder}/straight" "${STATE}"
rm -r "${STATE}/shards" "${STATE}"/units/*
mkdir -p "${STATE}/shards"
code=0
"${mlafuzz}" merge --state="${STATE}" "${folder}/straight/shards/0" \
  --units=10 --cases="${CASES}" > "${folder}/log/short" 2>&1 || code=$?
[[ "${code}" == 2 ]] || fail "exit ${code} of a merge that lacks a unit"
grep -q "1 of 10 units are not done, those of seed 10;" "${folder}/log/short" \
  || fail "no word of the unit that lacks"
echo "PASSED"
