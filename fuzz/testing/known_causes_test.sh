#!/bin/bash
# What becomes of a known cause when the kernel changes under it: a kernel that
# takes other pools now, or refuses every call, has not mended it. Of campaigns
# and of nights.
set -uo pipefail
mlafuzz="${PWD}/$1"
work="${TEST_TMPDIR}"
export BUILD_WORKING_DIRECTORY="${work}"
failed=0

# expect CODE PATTERN ARGS...: exit code, both an extended regular expression of
# its output on one line.
expect() {
  local code="$1" pattern="$2" got output
  shift 2
  output="$("${mlafuzz}" "$@" 2>&1)"
  got=$?
  if ! [[ "${got}" =~ ^${code}$ ]] || ! tr '\n' ' ' <<< "${output}" \
      | grep -Eq -- "${pattern}"; then
    printf 'FAILED: mlafuzz %s\n  exit %s, wanted %s; wanted /%s/\n%s\n' \
      "$*" "${got}" "${code}" "${pattern}" "${output}"
    failed=1
  fi
}
# build FILE SED: an example, changed.
build() {
  sed "$2" "examples/$1.cc" > "${work}/kernel.cc"
  cmp -s "examples/$1.cc" "${work}/kernel.cc" && [[ -n "$2" ]] \
    && { echo "FAILED: nothing to change in $1.cc"; exit 1; }
  g++ -std=c++17 -O2 -shared -fPIC -I. "${work}/kernel.cc" -o "${work}/new.so" \
    && mv "${work}/new.so" "${work}/kernel.so"
}
other_layout='s/contract { writer { inputs: BF16 } }/contract { layout: INDEXER_132 }/'
refuses='s/  return MLAFUZZ_OK;/  return MLAFUZZ_ERROR;/'

if ! command -v g++ > /dev/null; then
  echo "SKIPPED: no g++ to build a kernel with"
  cat > "${XML_OUTPUT_FILE:-/dev/null}" << XML
<testsuites><testsuite name="known_causes_test" tests="1" skipped="1">
<testcase name="known_causes_test"><skipped message="no g++"/></testcase>
</testsuite></testsuites>
XML
  exit 0
fi

campaign=(campaign --target=lib:kernel.so --flavour=plain --cases=60 --seed=1
  --no-infer --minimize-seconds=1s --out=known)
night=(nightly --config=night.txtpb)
cat > "${work}/night.txtpb" << 'CONFIG'
state: "state"
work { target: "lib:kernel.so" flavour: "plain" units: 1 cases: 60 }
regressions: "regressions"
red: NEW_CAUSE
red: STILL_FAILS
CONFIG

build writer_stale_tail ''
expect 1 'writer-tail-tail-unchanged: ' "${campaign[@]}"
mkdir "${work}/regressions"
cp "${work}"/known/crashing/writer-tail-tail-unchanged/examples/*.txtpb \
  "${work}/regressions/"
expect 1 'new: +writer-tail-tail-unchanged' "${night[@]}"

build writer "${other_layout}"
expect '[0-9]*' 'cause crashing/writer-tail-tail-unchanged: not run: nothing of writer was judged' \
  "${campaign[@]}"
expect 1 'still failing: +writer-tail-tail-unchanged.*its case: not run: nothing of writer was judged.*gone: nothing.*regressions: [1-9][0-9]* cases, 0 failed, of [1-9][0-9]* nothing was judged' \
  "${night[@]}"

build writer "${refuses}"
expect 1 'cause crashing/writer-tail-tail-unchanged: still failing \(fails otherwise\)' \
  "${campaign[@]}"
expect 1 'still failing: .*writer-tail-tail-unchanged.*its case: fails otherwise' \
  "${night[@]}"

# Mended it is gone; refusing everything then, back.
build writer ''
expect 0 'cause incubating/writer-tail-tail-unchanged: gone' "${campaign[@]}"
expect '[01]' 'gone: .*writer-tail-tail-unchanged.*its case: passes' "${night[@]}"
build writer "${refuses}"
expect 1 'cause crashing/writer-tail-tail-unchanged: back \(fails otherwise\)' \
  "${campaign[@]}"

exit "${failed}"
