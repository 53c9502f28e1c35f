#!/bin/bash
# The examples as a user has them: built with the system's compiler, outside of
# Bazel, attached and judged.
set -uo pipefail

mlafuzz="$PWD/$1"
work="${TEST_TMPDIR:-$(mktemp -d)}"
failures=0

# One case in the XML that Bazel would write if we did not.
cases=""
record() {  # record NAME [skipped|failure REASON]
  local inner=""
  if [[ $# -gt 1 ]]; then
    inner="<$2 message=\"$(sed 's/&/\&amp;/g; s/</\&lt;/g; s/"/\&quot;/g' <<< "$3")\"/>"
    echo "$1: $2: $3"
    [[ "$2" == failure ]] && failures=$((failures + 1))
  else
    echo "$1: ok"
  fi
  cases+="<testcase name=\"$1\" classname=\"attach_test\">${inner}</testcase>"
}
finish() {
  if [[ -n "${XML_OUTPUT_FILE:-}" ]]; then
    echo "<testsuites><testsuite name=\"attach_test\">${cases}</testsuite></testsuites>" \
      > "${XML_OUTPUT_FILE}"
  fi
  exit $(( failures > 0 ))
}

compiler=""
for candidate in g++ c++ clang++ clang++-19 /usr/lib/llvm-19/bin/clang++; do
  command -v "${candidate}" > /dev/null && compiler="${candidate}" && break
done
if [[ -z "${compiler}" ]]; then
  record attach skipped "no C++ compiler is installed to build foreign kernels"
  finish
fi

for source in writer writer_stale_tail decode decode_lse_base; do
  if "${compiler}" -std=c++17 -O2 -shared -fPIC -Wall -Wextra -I. \
      "examples/${source}.cc" -o "${work}/${source}.so" 2> "${work}/log"; then
    record "build ${source}"
  else
    record "build ${source}" failure "$(cat "${work}/log")"
    finish
  fi
done

expect() {  # expect NAME EXIT PATTERN ARGS...
  local name="$1" exit="$2" pattern="$3"
  shift 3
  "${mlafuzz}" "$@" > "${work}/out" 2>&1
  local got=$?
  if [[ "${got}" != "${exit}" ]]; then
    cat "${work}/out"
    record "${name}" failure "exit ${got}, expected ${exit}"
  elif ! grep -q -- "${pattern}" "${work}/out"; then
    cat "${work}/out"
    record "${name}" failure "no \"${pattern}\" in its output"
  else
    record "${name}"
  fi
}

empty="${work}/empty"
mkdir -p "${empty}"
campaign=(campaign --corpus="${empty}" --jobs=1 --seed=7)
lib="lib:${work}"
expect "check writer" 0 "example writer" targets --check "${lib}/writer.so"
expect "writer is right" 0 "nothing found" "${campaign[@]}" \
  --target="${lib}/writer.so" --cases=1500 --out="${work}/o1"
expect "stale tail is found" 1 "writer.tail" "${campaign[@]}" \
  --target="${lib}/writer_stale_tail.so" --cases=1500 --stop-on-first \
  --out="${work}/o2"
expect "decode is right" 0 "nothing found" "${campaign[@]}" \
  --target="${lib}/decode.so" --cases=1500 --out="${work}/o3"
expect "LSE base is found" 1 "decode.lse_base" "${campaign[@]}" \
  --target="${lib}/decode_lse_base.so" --cases=1500 --stop-on-first \
  --out="${work}/o4"
expect "infer confirms the writer" 0 "writer.tail .* confirmed" infer \
  --target="${lib}/writer.so"
expect "infer reads the stale tail" 1 \
  "declares writer.tail TAIL_ZERO, behaves like TAIL_UNCHANGED" infer \
  --target="${lib}/writer_stale_tail.so"
expect "infer confirms the decode" 0 "decode.lse_base .* confirmed" infer \
  --target="${lib}/decode.so"
expect "infer reads the LSE base" 1 "    lse_base: BASE_E" infer \
  --target="${lib}/decode_lse_base.so"
expect "infer for programs" 1 '"inferred": "BASE_E"' infer --json \
  --target="${lib}/decode_lse_base.so"
expect "campaign notes what is contradicted" 1 \
  "note: .*behaves like BASE_E: fix its description" "${campaign[@]}" \
  --target="${lib}/decode_lse_base.so" --cases=50 --out="${work}/o6"
# Without a look, a campaign has no such note.
"${mlafuzz}" "${campaign[@]}" --target="${lib}/decode_lse_base.so" --cases=50 \
  --no-infer --out="${work}/o7" > "${work}/out" 2>&1
if grep -q "behaves like" "${work}/out"; then
  record "campaign --no-infer" failure "it has a note"
else
  record "campaign --no-infer"
fi
expect "ab of a writer" 2 "writer.so has no decode" ab \
  --decode="${lib}/writer.so"
expect "diff of both" 1 "differ" diff --a="${lib}/writer.so" \
  --b="${lib}/writer_stale_tail.so" --time=5s --corpus="${empty}" \
  --out="${work}/o5"
# Who can read what whom wrote, of kernels that really run.
matrix=(contracts --matrix)
expect "right kernels read each other" 0 "in all 12 agree, 0 disagree" \
  "${matrix[@]}" --targets="${lib}/writer.so,${lib}/decode.so,builtin"
expect "a stale tail is read" 1 \
  "(NoPE),none,builtin (decode): disagree, writer.tail" "${matrix[@]}" \
  --targets="${lib}/writer_stale_tail.so,builtin" \
  --witnesses="${work}" --json="${work}/matrix.json"
expect "by a decode, not by a gather that knows" 1 \
  "(NoPE),builtin (gather),none: agree" "${matrix[@]}" \
  --targets="${lib}/writer_stale_tail.so,builtin"
expect "its witness is one" 1 "writer.tail: the contract says TAIL_ZERO" \
  replay "${work}/observed-1.txtpb" --writer="${lib}/writer_stale_tail.so"
expect "a reader that is not as declared" 1 \
  "disagree, decode.lse_base: not as declared" "${matrix[@]}" \
  --targets="${lib}/writer.so,${lib}/decode_lse_base.so"
expect "declared conventions that disagree are no failure" 0 \
  "disagree, qk.scale_rule" "${matrix[@]}" \
  --targets="${lib}/writer.so,builtin:flashinfer-pow2"
expect "kernels that run and contracts that are named say the same" 0 \
  "in all 16 agree, 4 disagree" "${matrix[@]}" \
  --targets=builtin,builtin:pow2,builtin:flashinfer-pow2,builtin:flashinfer-arbitrary,builtin:flashmla
expect "a matrix needs who writes and who reads" 2 "needs a writer and a gather" \
  "${matrix[@]}" --targets="${lib}/writer.so"
expect "a matrix of nobody" 2 "no such file" "${matrix[@]}" \
  --targets="${lib}/writer.so,${lib}/nothing.so"
expect "a target twice" 2 "twice" "${matrix[@]}" --targets=builtin,builtin
expect "no such contract" 2 "nearest: dsv3_2" contracts dsv32
expect "nowhere to write" 2 "cannot write" contracts --json="${work}/no/x"
expect "witnesses without a matrix" 2 "add --matrix" contracts \
  --witnesses="${work}"
expect "no such library" 2 "no such file" targets --check "${lib}/nothing.so"
finish
