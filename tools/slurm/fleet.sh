#!/bin/bash
# A night's units on a Slurm cluster: an array that runs them, and a merge that
# waits for it and checks that all are done. Once, where sbatch is:
#
#   STATE=/shared/state UNITS=64 TASKS=16 tools/slurm/fleet.sh --target=lib:/shared/k.so
#
# STATE    a folder that all nodes see; it is made if it is not there
# UNITS    work units; TASKS, in how many array tasks. Any TASKS gives the same
# CASES    of each unit (20000); SEED, of the first unit (1)
# MLAFUZZ  the program (mlafuzz); SBATCH, more flags of sbatch, "--gres=gpu:1" say
# LOGS     a folder for the jobs' output ($STATE.logs)
#
# Flags are those of `mlafuzz unit`. Prints the two job numbers. A task that is
# requeued, runs twice at once or is killed costs time, never a unit: what is done
# is not run again, what was cut is run again whole. A task killed by a signal
# exits with 75; RequeueExit=75 in slurm.conf has Slurm run it again by itself.
set -euo pipefail

fail() {
  echo "fleet.sh: $*" >&2
  exit 2
}

# Found something, or nothing informative: the night's business, no failure of a
# job.
task() {
  local code=0
  "${MLAFUZZ}" unit "--state=${STATE}" "--units=${UNITS}" "--cases=${CASES}" \
    "--seed=${SEED}" "$@" || code=$?
  if (( code >= 128 )); then exit 75; fi
  if (( code == 2 )); then exit 2; fi
  exit 0
}

merge() {
  exec "${MLAFUZZ}" merge "--state=${STATE}" "--units=${UNITS}" \
    "--cases=${CASES}" "--seed=${SEED}"
}

submit() {
  local array merge_job
  local -a more=()
  command -v sbatch > /dev/null || fail "no sbatch here; run it on a login node"
  [[ "${TASKS}" =~ ^[1-9][0-9]*$ ]] || fail "TASKS needs a number, got \"${TASKS}\""
  read -ra more <<< "${SBATCH:-}"
  mkdir -p "${LOGS}"
  # The cases to start from; a state that is there and whole has them.
  if ! compgen -G "${STATE}/epochs/*" > /dev/null; then
    "${MLAFUZZ}" corpus import "--state=${STATE}" >&2
  fi
  array="$(sbatch --parsable --requeue --open-mode=append \
    "--array=0-$(( TASKS - 1 ))" "--output=${LOGS}/unit.%A.%a" \
    "${more[@]}" "$0" task "$@")"
  # Not afterok: that stays spoiled by a task that failed first and was requeued.
  # Whether all is there the merge finds out itself.
  merge_job="$(sbatch --parsable --requeue --open-mode=append \
    "--dependency=afterany:${array}" "--output=${LOGS}/merge.%j" "$0" merge)"
  echo "${array} ${merge_job}"
}

: "${STATE:?fleet.sh: STATE is the folder of the state}"
: "${UNITS:?fleet.sh: UNITS is the number of work units}"
export STATE UNITS
export TASKS="${TASKS:-1}" CASES="${CASES:-20000}" SEED="${SEED:-1}"
export MLAFUZZ="${MLAFUZZ:-mlafuzz}" LOGS="${LOGS:-${STATE}.logs}"
case "${1:-}" in
  task) shift; task "$@" ;;
  merge) merge ;;
  *) submit "$@" ;;
esac
