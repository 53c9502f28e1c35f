#!/bin/bash
# libFuzzer distributes a target over the cores of one host: -merge makes one corpus
# of several that reaches as much whatever their order, and a second one adds nothing; -fork
# finds no fault in right kernels, and one in wrong ones, whose case fails alone.
set -euo pipefail
target="${PWD}/$1"
seeds="${PWD}/corpus/small"
work="${TEST_TMPDIR}/work"
export TMPDIR="${work}"
mkdir -p "${work}"/{ab,ba,a,b,found,wrong}
cd "${work}"

fail() {
  echo "FAILED: $*"
  tail -n 20 "${work}"/*.log
  exit 1
}
engine() {  # engine LOG WORDS...
  local log="$1"
  shift
  "${target}" "$@" > "${log}" 2>&1
}
count() {
  find "$1" -type f | wc -l
}

# Cases as the engine keeps them: text in, binary out, by name of their content.
engine a.log -seed=1 -runs=3000 a "${seeds}" || fail "-runs"
engine b.log -seed=2 -runs=3000 b "${seeds}" || fail "-runs"
(( $(count a) > 0 && $(count b) > 0 )) || fail "nothing was kept"
engine ab.log -merge=1 ab a b || fail "-merge=1"
engine ba.log -merge=1 ba b a || fail "-merge=1"
(( $(count ab) > 0 && $(count ab) <= $(count a) + $(count b) )) \
  || fail "$(count ab) of $(count a) and $(count b) cases merged"
# Of files of one length it takes the first.
features() {
  grep -o '[0-9]* new features added; [0-9]* new coverage edges' "$1"
}
[[ "$(features ab.log)" == "$(features ba.log)" ]] || fail "the order of the folders matters"
before="$(count ab)"
engine again.log -merge=1 ab ba a b || fail "-merge=1 again"
[[ "$(count ab)" == "${before}" ]] || fail "a second merge adds cases"
# The corpus reaches what its parts reached.
reached() {
  engine reached.log -runs=0 "$@" || fail "-runs=0 $*"
  grep -o 'cov: [0-9]*' reached.log | tail -n 1
}
[[ "$(reached ab)" == "$(reached a b)" ]] || fail "a merge loses coverage"

engine fork.log -fork=2 -runs=20000 -max_total_time=10 found ab \
  || fail "-fork=2 with the right kernels"
code=0
MLAFUZZ_TARGET=mutant:gather-page-start \
  engine wrong.log -fork=2 -max_total_time=60 wrong ab || code=$?
(( code != 0 )) || fail "-fork=2 finds nothing in a wrong kernel"
crash="$(find . -name 'crash-*' -type f | head -n 1)"
[[ -s "${crash}" ]] || fail "-fork=2 keeps no case"
if MLAFUZZ_TARGET=mutant:gather-page-start engine replay.log "${crash}"; then
  fail "the case that it keeps passes alone"
fi
grep -q 'gather-exact' replay.log || fail "the case does not say what fails"
engine replay.log "${crash}" || fail "the case fails with the right kernels"
echo "$(count a) and $(count b) cases merge to ${before}; -fork=2 finds the fault"
