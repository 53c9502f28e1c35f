#!/bin/bash
# `mlafuzz minimize` as a user calls it: what it refuses before any work, what it
# says of a case that nothing judges, and of being stopped.
set -uo pipefail
mlafuzz="${PWD}/$1"
loop="${PWD}/kernels/foreign/testing/loop.so"
export BUILD_WORKING_DIRECTORY="${TEST_TMPDIR}"
work="${TEST_TMPDIR}"
failed=0
closed=""

# one_line CODE PATTERN ARGS...: exit code, and one line of stdout and stderr
# together that matches an extended regular expression.
one_line() {
  local code="$1" pattern="$2" got output
  shift 2
  output="$("${mlafuzz}" minimize "$@" 2>&1)"
  got=$?
  if [[ "${got}" != "${code}" || "$(wc -l <<< "${output}")" != 1 ]] \
      || ! grep -Eq -- "${pattern}" <<< "${output}"; then
    printf 'FAILED: mlafuzz minimize %s\n  exit %s, wanted %s; wanted /%s/\n%s\n' \
      "$*" "${got}" "${code}" "${pattern}" "${output}"
    failed=1
  fi
}
cat > "${work}/indexer.txtpb" << 'CASE'
pool { layout: INDEXER_132 page_size: 1 pages: 1 }
steps { write { slots { values: [0] } } }
CASE
cat > "${work}/row656.txtpb" << 'CASE'
pool { page_size: 1 pages: 1 }
steps { write { slots { values: [0] } } }
CASE
# A row's tail that is not written: nope-stale-tail leaves it.
cat > "${work}/tail.txtpb" << 'CASE'
pool { page_size: 4 pages: 2 }
steps { write { slots { values: [0, 5] } } }
CASE
# Of three tokens or more the library never comes back.
cat > "${work}/hang.txtpb" << 'CASE'
pool { page_size: 2 pages: 64 }
steps {
  convert {
    request_ids { values: [0, 0, 0, 0, 0, 0, 0, 0] }
    token_indices { rows: 8 width: 2 seed: 4 valid: 2 limit: 2 }
    block_table { rows: 1 columns: 1 pages { values: [40] } }
  }
}
CASE
plain=(--flavour=plain)
tail=(tail.txtpb --target=mutant:nope-stale-tail "${plain[@]}")

# ---- --out, before the case is even read
mkdir "${work}/folder"
one_line 2 '^mlafuzz: minimize: --out: folder is a folder; name a file$' \
  no-such-case "${plain[@]}" --out=folder
one_line 2 '^mlafuzz: minimize: --out: none is not a folder; make it, or ' \
  no-such-case "${plain[@]}" --out=none/small.txtpb
# One error of a folder, whatever is in it.
cp "${work}/hang.txtpb" "${work}/indexer.txtpb" "${work}/folder"
echo '{}' > "${work}/folder/report.json"
one_line 2 '^mlafuzz: minimize: folder is a folder; name one case: ' \
  folder "${plain[@]}"
if [[ "$(id -u)" != 0 ]]; then
  mkdir -m 555 "${work}/closed"
  one_line 2 '^mlafuzz: minimize: --out: nothing can be written into closed: ' \
    no-such-case "${plain[@]}" --out=closed/small.txtpb
else
  echo "SKIPPED: a folder that may not be written into: root may"
  closed='<skipped message="root may write into every folder"/>'
fi

# ---- a case of another layout than the kernels'
one_line 3 '^indexer.txtpb: nothing of writer was judged: the pool is INDEXER_132, the kernels take FP8_DS_MLA$' \
  indexer.txtpb --target=mutant:nope-stale-tail "${plain[@]}"
one_line 3 'was judged: the pool is FP8_DS_MLA, the kernels take INDEXER_132$' \
  row656.txtpb --target=builtin:indexer "${plain[@]}"
# Where nobody names a target, those of its layout judge it.
one_line 0 '^indexer.txtpb: does not fail in 5 runs' indexer.txtpb "${plain[@]}"

# ---- a log of another case
printf 'mlafuzz minimize 1 %016x\n%016x 1 20\n' 1 2 > "${work}/other.tries"
output="$("${mlafuzz}" minimize "${tail[@]}" --out=other 2>&1)"
code=$?
if [[ "${code}" != 2 ]] || grep -q 'run the same again' <<< "${output}" \
    || ! grep -q 'other.tries: is of another case, cause or target; ' \
      <<< "${output}"; then
  printf 'FAILED: exit %s: %s\n' "${code}" "${output}"
  failed=1
fi

# ---- stopped in the middle: stop NAME WORD PATTERN ARGS...
stop() {
  local word="$1" pattern="$2" process code
  shift 2
  "${mlafuzz}" minimize "$@" > "${work}/said" 2>&1 &
  process=$!
  while ! grep -Eq "${word}" "${work}/said" && kill -0 "${process}"; do
    sleep 0.05
  done 2> /dev/null
  kill -INT "${process}" 2> /dev/null
  wait "${process}"
  code=$?
  if [[ "${code}" != 1 ]] || ! grep -Eq "${pattern}" "${work}/said" \
      || grep -q 'flaky' "${work}/said"; then
    printf 'FAILED: minimize %s, stopped: exit %s; wanted /%s/\n%s\n' \
      "$*" "${code}" "${pattern}" "$(cat "${work}/said")"
    failed=1
  fi
}
hang=(hang.txtpb "--target=lib:${loop}" --call-timeout=0.25s "${plain[@]}")
stop '^20 tries|^[2-9][0-9] tries' \
  '^[0-9]+ tries, [0-9]+ -> [0-9]+ bytes; stopped by a signal: this is the smallest so far' \
  "${hang[@]}" --out=small.txtpb
[[ -s "${work}/small.txtpb" ]] \
  || { echo "FAILED: the smallest so far is lost"; failed=1; }
"${mlafuzz}" replay small.txtpb "${hang[@]:1}" > "${work}/said" 2>&1
grep -q 'convert hang' "${work}/said" \
  || { echo "FAILED: it does not hang: $(cat "${work}/said")"; failed=1; }
# The same again goes on after what was tried.
[[ -s "${work}/small.txtpb.tries" ]] \
  || { echo "FAILED: what was tried of a hang is lost"; failed=1; }
stop 'going on after [2-9][0-9] tries' \
  'stopped by a signal' "${hang[@]}" --out=small.txtpb
# And no try outlives the time.
begin="${SECONDS}"
"${mlafuzz}" minimize "${hang[@]}" --time=3s > "${work}/said" 2>&1
code=$?
# Of it a look that says how the case fails, two seconds here, is no part.
((code == 1 && SECONDS - begin <= 12)) \
    && grep -Eq 'not at its end|the time was up after' "${work}/said" \
  || { echo "FAILED: --time=3s: $((SECONDS - begin)) s: $(cat "${work}/said")"
       failed=1; }
# At once: before a second look at it. So of a failure that no process dies of.
stop 'hang in ' 'stopped by a signal after 0 tries, at ' "${hang[@]}"
stop 'fail in ' 'stopped by a signal after 0 tries, at ' hang.txtpb \
  "--target=lib:${loop%loop.so}writes_past.so" "${plain[@]}"

if (( failed == 0 )); then
  cat > "${XML_OUTPUT_FILE:-/dev/null}" << EOF
<testsuites><testsuite name="minimize_command_test" tests="2">
<testcase name="minimize_command_test"/>
<testcase name="closed_folder">${closed}</testcase>
</testsuite></testsuites>
EOF
fi
exit "${failed}"
