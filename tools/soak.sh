#!/bin/bash
# Runs a command for long and samples the memory and descriptors of all its
# processes: both must be flat after warm-up.
#
#   tools/soak.sh --time=90m --out=soak.csv [--sample=5] [--warm-up=600] \
#     [-- COMMAND...]
#
# COMMAND (bazel-bin/fuzz/mlafuzz) is called as `COMMAND campaign --time=TIME
# --out=FOLDER`; words that follow it go behind. Each sample is a line of the CSV:
# seconds, processes, resident KiB, descriptors, threads, over COMMAND and all
# that descend from it.
#
# Flat: of the samples after WARM-UP seconds (default: a third of the time), half
# of those in the last third are no higher than the highest of the first third. A
# leak, however slow, lifts the whole last third above that in a run that is long
# enough; noise does not. Exit codes: 0 flat; 1 not; 2 the command failed, or there
# are too few samples to tell.
set -euo pipefail

fail() {
  echo "soak.sh: $*" >&2
  exit 2
}
seconds_of() {
  local number="${1%[smh]}"
  [[ "${number}" =~ ^[0-9]+$ ]] || fail "\"$1\" is no time; write 90s, 3m or 1h"
  case "$1" in
    *m) echo $(( number * 60 )) ;;
    *h) echo $(( number * 3600 )) ;;
    *) echo "${number}" ;;
  esac
}

time="" out="" sample=5 warm_up=""
while (( $# > 0 )); do
  case "$1" in
    --time=*) time="${1#*=}" ;;
    --out=*) out="${1#*=}" ;;
    --sample=*) sample="${1#*=}" ;;
    --warm-up=*) warm_up="$(seconds_of "${1#*=}")" ;;
    --) shift; break ;;
    *) fail "unknown word $1; see the top of this file" ;;
  esac
  shift
done
[[ -n "${time}" && -n "${out}" ]] || fail "needs --time=90m and --out=FILE.csv"
[[ "${sample}" =~ ^[0-9]+(\.[0-9]+)?$ ]] || fail "--sample needs seconds"
total="$(seconds_of "${time}")"
: "${warm_up:=$(( total / 3 ))}"
command=("$@")
(( ${#command[@]} > 0 )) || command=(bazel-bin/fuzz/mlafuzz)
command -v "${command[0]}" > /dev/null || fail "no ${command[0]}; build //:mlafuzz"

# "processes KiB descriptors threads" of process $1 and its descendants. One that
# ends while it is looked at counts as it was seen.
look() {
  local pid rss fds threads count=0 all_rss=0 all_fds=0 all_threads=0
  local -a pids
  mapfile -t pids < <(
    # The name in brackets may hold anything but the end of a line.
    { cat /proc/[0-9]*/stat 2> /dev/null || true; } \
      | sed -n 's/^\([0-9]*\) (.*) [A-Za-z] \([0-9]*\) .*/\1 \2/p' \
      | awk -v root="$1" '
      { parent[$1] = $2 }
      END {
        for (pid in parent) {
          at = pid
          for (n = 0; n < 64 && at != root && at in parent; ++n) at = parent[at]
          if (at == root) print pid
        }
      }')
  for pid in "${pids[@]}"; do
    rss="$(awk '/^VmRSS:/ { print $2 }' "/proc/${pid}/status" 2> /dev/null || true)"
    threads="$(awk '/^Threads:/ { print $2 }' "/proc/${pid}/status" 2> /dev/null || true)"
    [[ -n "${rss}" ]] || continue  # over, or not yet a program
    fds="$(find "/proc/${pid}/fd" -mindepth 1 2> /dev/null | wc -l || true)"
    count=$(( count + 1 )) all_rss=$(( all_rss + rss ))
    all_fds=$(( all_fds + fds )) all_threads=$(( all_threads + ${threads:-0} ))
  done
  echo "${count} ${all_rss} ${all_fds} ${all_threads}"
}

folder="$(mktemp -d)"
child=""
finish() {
  [[ -z "${child}" ]] || kill "${child}" 2> /dev/null || true
  rm -rf "${folder}"
}
trap finish EXIT
"${command[0]}" campaign "--time=${time}" "--out=${folder}/out" "${command[@]:1}" \
  > "${folder}/log" 2>&1 &
child=$!
start="$(date +%s.%N)"
echo "seconds,processes,resident_kib,descriptors,threads" > "${out}"
while kill -0 "${child}" 2> /dev/null; do
  read -r processes rss fds threads <<< "$(look "${child}")"
  if (( processes > 0 )); then
    awk -v from="${start}" -v to="$(date +%s.%N)" \
      -v rest="${processes},${rss},${fds},${threads}" \
      'BEGIN { printf "%.1f,%s\n", to - from, rest }' >> "${out}"
  fi
  sleep "${sample}"
done
code=0
wait "${child}" || code=$?
child=""
tail -n 3 "${folder}/log"
(( code == 0 )) || { cat "${folder}/log" >&2; fail "the command exited with ${code}"; }

# Follow-up at the end of a campaign is none of its steady state.
awk -F, -v warm="${warm_up}" -v total="${total}" '
  NR > 1 && $1 >= warm && $1 <= 0.98 * total {
    ++n; rss[n] = $3; fds[n] = $4
  }
  function median_of_last(values, third,    i, j, t, m, sorted) {
    m = 0
    for (i = n - third + 1; i <= n; ++i) sorted[++m] = values[i]
    for (i = 2; i <= m; ++i) {
      t = sorted[i]
      for (j = i - 1; j > 0 && sorted[j] > t; --j) sorted[j + 1] = sorted[j]
      sorted[j + 1] = t
    }
    return sorted[int((m + 1) / 2)]
  }
  function judge(name, values, third,    i, most, last) {
    most = 0
    for (i = 1; i <= third; ++i) if (values[i] > most) most = values[i]
    last = median_of_last(values, third)
    printf "%s: most of the first third %d, median of the last %d: %s\n", name,
      most, last, last <= most ? "flat" : "NOT FLAT"
    return last <= most
  }
  END {
    if (n < 9) { print n + 0 " samples after warm-up are too few to tell"; exit 2 }
    third = int(n / 3)
    good = judge("resident KiB", rss, third)
    good = judge("descriptors", fds, third) && good
    exit !good
  }' "${out}"
