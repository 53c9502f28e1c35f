#!/bin/bash
# The command as a user calls it: exit codes, words, files.
set -uo pipefail
mlafuzz="${PWD}/$1"
export BUILD_WORKING_DIRECTORY="${TEST_TMPDIR}/caller"
mkdir -p "${BUILD_WORKING_DIRECTORY}/empty"
caller="${BUILD_WORKING_DIRECTORY}"
failed=0

# expect CODE PATTERN ARGS...: exit code and an extended regular expression
# that stdout and stderr together must match.
expect() {
  local code="$1" pattern="$2" got output
  shift 2
  output="$("${mlafuzz}" "$@" 2>&1)"
  got=$?
  if [[ "${got}" != "${code}" ]] || ! grep -Eq -- "${pattern}" <<< "${output}"
  then
    printf 'FAILED: mlafuzz %s\n  exit %s, wanted %s; wanted /%s/\n%s\n' \
      "$*" "${got}" "${code}" "${pattern}" "${output}"
    failed=1
  fi
}
# one_line CODE PATTERN ARGS...: the same, and nothing but that line.
one_line() {
  expect "$@"
  shift 2
  local lines
  lines="$("${mlafuzz}" "$@" 2>&1 | wc -l)"
  if [[ "${lines}" != 1 ]]; then
    printf 'FAILED: mlafuzz %s: %s lines, wanted 1\n' "$*" "${lines}"
    failed=1
  fi
}
report_has() {
  if ! grep -Eq -- "$1" "${caller}/${2:-mlafuzz-out}/report.json"; then
    printf 'FAILED: no /%s/ in report.json of %s\n' "$1" "${2:-mlafuzz-out}"
    failed=1
  fi
}
twin=(--target=mutant:nope-stale-tail --flavour=plain)

# ---- usage
expect 2 'usage: mlafuzz COMMAND'
expect 0 'campaign .*fuzz kernels' help
expect 0 '--time=120s' campaign --help
expect 0 'CASE\.\.\.' help replay
one_line 2 'unknown command campain; nearest: campaign' campain
one_line 2 'unknown flag --tiem; nearest: --time' campaign --tiem=1s
one_line 2 'no duration' campaign --time=soon
one_line 2 'takes INDEXER_132, the writer of builtin takes FP8_DS_MLA' diff --a=builtin:indexer --b=builtin --time=1s
echo 'pool { layout: INDEXER_132 page_size: 1 pages: 1 } steps { write { slots { values: [0] } } }' > "${caller}/indexer.txtpb"
one_line 2 'its pool is INDEXER_132, the kernels take FP8_DS_MLA' diff "${caller}/indexer.txtpb" --a=builtin --b=builtin:pow2
# A pass of kernels that nobody asked about is none.
echo 'pool { page_size: 1 pages: 1 } steps { write { slots { values: [0] } pe_dim: 64 } } steps { convert { request_ids { values: [0] } token_indices { rows: 1 width: 1 valid: 1 limit: 1 } block_table { rows: 1 columns: 1 pages { values: [0] } } } }' > "${caller}/row656.txtpb"
expect 0 'step 1 convert pass' replay "${caller}/row656.txtpb"
expect 3 'step 0 writer unspecified.* the pool is FP8_DS_MLA, the kernels take INDEXER_132' replay "${caller}/row656.txtpb" --target=builtin:indexer
one_line 2 'takes DSV4_FOOTER_584, the gather of .* takes INDEXER_132' campaign --writer=builtin:dsv4 --gather=builtin:indexer --kernels=writer,gather --time=1s
one_line 2 'whole number' campaign --cases=-1
one_line 2 'needs 2 to 65536 cases' campaign --fuse=1
one_line 2 'for cases that share calls: add --fuse=N' campaign --threads=2
one_line 2 'mutant:nope-stale-tail' campaign --target=mutant:nope-stale-tial
one_line 2 'nearest: writer' campaign --kernels=writter
one_line 2 'nearest: plain' campaign --flavour=plane
one_line 2 'no-such-folder is not a folder' campaign --corpus=no-such-folder
one_line 2 'cannot make the output folder' campaign --out=/dev/null/x

for flag in time call-timeout start-timeout case-seconds minimize-seconds; do
  one_line 2 "${flag}: \"0.001\" is out of range; durations are 0.1s to 8760h" \
    campaign "--${flag}=0.001"
done
one_line 2 'call-timeout: "soon" is no duration' infer --call-timeout=soon
one_line 2 'call-timeout: "1d" is no duration' \
  diff --a=builtin --b=builtin --call-timeout=1d
one_line 2 'memory-limit needs 16 to 1048576 MiB, got 1' \
  campaign --memory-limit=1
one_line 2 "lib:${caller}: a folder; name the shared library in it" \
  campaign "--target=lib:${caller}"
one_line 2 'repeat needs 1 to 1000000, got 0' replay x --repeat=0
one_line 2 'cases needs 1 or more' campaign --cases=0
one_line 2 '--target is empty' campaign --target=
one_line 2 'has an empty name' campaign --kernels=writer,,gather
one_line 2 'nothing of mutant:nope-stale-tail would run' \
  campaign --target=mutant:nope-stale-tail --kernels=gather
one_line 2 'use it as --writer=mutant:nope-stale-tail' \
  replay x.txtpb --gather=mutant:nope-stale-tail

one_line 2 'unknown engine "afl"; known: libfuzzer, rapidcheck, bytes' \
  ledger --engines=afl
one_line 2 'seeds needs 1 to 10000, got 0' ledger --seeds=0
one_line 2 'has an empty name' ledger --target=mutant:nope-stale-tail,
one_line 2 'did you mean "mutant:nope-stale-tail"' \
  ledger --target=mutant:nope-stale-tial
one_line 2 'budget-cpu-s: "much" is no duration' ledger --budget-cpu-s=much
MLAFUZZ_TEST_BASELINES=/no/such/program \
  one_line 2 'ledger: cannot run /no/such/program' ledger --baselines

# ---- output that goes nowhere
for where in /dev/full closed; do
  if [[ "${where}" == closed ]]; then
    "${mlafuzz}" campaign --cases=50 --flavour=plain --out=full \
      >&- 2> "${TEST_TMPDIR}/full.log"
  else
    "${mlafuzz}" campaign --cases=50 --flavour=plain --out=full \
      > "${where}" 2> "${TEST_TMPDIR}/full.log"
  fi
  code=$?
  if [[ "${code}" != 2 ]] ||
    ! grep -q 'cannot write to standard output' "${TEST_TMPDIR}/full.log"
  then
    echo "FAILED: stdout ${where}: exit ${code}"; cat "${TEST_TMPDIR}/full.log"
    failed=1
  fi
  report_has '"exit_code": 0' full
done

# ---- a reader that goes away has read enough
"${mlafuzz}" campaign --cases=50 --flavour=plain --out=head \
  2> "${TEST_TMPDIR}/head.log" | true
code="${PIPESTATUS[0]}"
if [[ "${code}" != 0 || -s "${TEST_TMPDIR}/head.log" ]]; then
  echo "FAILED: | true: exit ${code}"; cat "${TEST_TMPDIR}/head.log"
  failed=1
fi
report_has '"exit_code": 0' head

# ---- the ledger
ledger=(ledger --target=mutant:nope-stale-tail,builtin:pow2
  --control-cases=200 --json=ledger.json --html=ledger.html)
cat > "${TEST_TMPDIR}/baselines" << 'END'
#!/bin/bash
if [[ "$1" == --list ]]; then echo '{"baseline": "theirs"}'; exit; fi
[[ "$2" == *mutant* ]] && flagged=true || flagged=false
echo "{\"flagged\": ${flagged}, \"cpu_seconds\": 0.001}"
END
chmod +x "${TEST_TMPDIR}/baselines"
export MLAFUZZ_TEST_BASELINES="${TEST_TMPDIR}/baselines"
expect 0 'Survivors: none' "${ledger[@]}" --baselines
expect 0 'theirs +kills 1 of 1, ours 1;.*it flags 0 of 1 right kernels' \
  "${ledger[@]}" --baselines
unset MLAFUZZ_TEST_BASELINES
for member in '"schema_version": 1' '"detected": 2' '"executions_median": 8.5' \
  '"cause": "right"' '"false_alarms": 0' '"controls_flagged": 0' \
  '"killed": true'
do
  if ! grep -q -- "${member}" "${caller}/ledger.json"; then
    echo "FAILED: no ${member} in ledger.json"; cat "${caller}/ledger.json"
    failed=1
  fi
done
grep -q '<th>mutant:nope-stale-tail</th>' "${caller}/ledger.html" || {
  echo 'FAILED: no kill matrix in ledger.html'; failed=1; }
# Whom nobody reaches: no fault of the oracle's.
expect 0 'generator weak .never reached' \
  ledger --target=mutant:nope-stale-tail --engines=bytes --inputs=300
# Interrupted, it writes what is known.
timeout --signal=INT 2 "${mlafuzz}" ledger --seeds=500 --control-cases=100000 \
  --target=mutant:nope-stale-tail,builtin --json=cut.json > /dev/null 2>&1
if ! grep -q '"interrupted": true' "${caller}/cut.json"; then
  echo 'FAILED: an interrupted ledger left no result'; failed=1
fi

# ---- targets
expect 0 'mutant:missing-syncwarp' targets
expect 0 '"expected_field": "writer.tail"' targets --json

# ---- campaigns: stored cases, relative paths, default folder
expect 0 'nothing found' campaign --cases=300 --flavour=plain --seed=5
report_has '"exit_code": 0'
report_has '"schema_version": 1'
report_has '"seed": 5'
report_has '"tier": "host"'
expect 1 'FINDING writer-tail-tail-unchanged' \
  campaign "${twin[@]}" --cases=500 --corpus=empty --out=twin --seed=1
report_has '"kernel": "writer"' twin
report_has '"property": "nope-tail"' twin
report_has '"field": "writer.tail"' twin
for words in 'slot 0: 128 of 656 bytes are wrong' 'id="word-writer.tail"' \
  'What was not exercised'
do
  grep -q -- "${words}" "${caller}/twin/report.html" || {
    echo "FAILED: no ${words} in report.html"; failed=1; }
done
for file in report.sarif junit.xml summary.md; do
  grep -q 'writer.*tail' "${caller}/twin/${file}" || {
    echo "FAILED: no finding in ${file}"; failed=1; }
done
GITHUB_STEP_SUMMARY="${TEST_TMPDIR}/step_summary" \
  "${mlafuzz}" campaign --cases=50 --flavour=plain --out=step > /dev/null
grep -q '^## mlafuzz: nothing found' "${TEST_TMPDIR}/step_summary" || {
  echo 'FAILED: no step summary'; failed=1; }
expect 0 'nothing found' \
  campaign --kernels=decode --cases=200 --flavour=plain --out=decode
report_has '"exit_code": 0' decode
expect 1 'FINDING decode-qk-scale-rule' \
  campaign --target=mutant:qk-pow2-scale --cases=300 --flavour=plain \
  --out=founding --seed=1
report_has '"field": "qk.scale_rule"' founding
for flavour in asan+ubsan race; do
  expect 0 "flavour ${flavour/+/.}," \
    campaign --cases=100 --flavour="${flavour}" --out=flavour
done

# ---- what is printed can be typed, blanks and limits included
"${mlafuzz}" campaign "${twin[@]}" --cases=200 --seed=1 "--out=a b" \
  --call-timeout=2.5s --memory-limit=512 > "${TEST_TMPDIR}/blank.log"
line="$(grep -A1 '^FINDING' "${TEST_TMPDIR}/blank.log" | tail -n 1)"
if ! grep -q -- "replay 'a b/findings/.*' .*--call-timeout=2.5s --memory-limit=512" \
  <<< "${line}"
then
  echo "FAILED: no quoted command with its limits: ${line}"
  failed=1
fi
eval "${line}" > "${TEST_TMPDIR}/blank.log"
code=$?
if [[ "${code}" != 1 ]] || ! grep -q 'writer fail' "${TEST_TMPDIR}/blank.log"
then
  echo "FAILED: ${line}: exit ${code}"; cat "${TEST_TMPDIR}/blank.log"
  failed=1
fi

expect 0 'last campaign.s results moved to twin/previous' \
  campaign --cases=50 --flavour=plain --out=twin --seed=1
report_has '"field": "writer.tail"' twin/previous
mv "${caller}/twin" "${caller}/again"
mv "${caller}/again/previous" "${caller}/twin"

# ---- folders
mkdir -p "${caller}/tree/corpus" "${caller}/junk" "${caller}/mixed"
echo 'cc_library()' > "${caller}/tree/corpus/BUILD"
one_line 2 'tree has a corpus that no campaign wrote' campaign --out=tree
[[ -s "${caller}/tree/corpus/BUILD" ]] || {
  echo "FAILED: somebody's own corpus is gone"; failed=1; }
echo 'All about it' > "${caller}/junk/README.md"
cp "${caller}/junk/README.md" "${caller}/mixed"
cp "${caller}/twin/findings/writer-tail-tail-unchanged/case.txtpb" \
  "${caller}/mixed/a.txtpb"
one_line 2 'no file in junk is a case .README.md' campaign --corpus=junk
expect 0 'note: --corpus: 1 of 2 files in mixed are skipped: README.md .line 1' \
  campaign --corpus=mixed --cases=50 --flavour=plain --out=mixed-out
report_has 'README.md' mixed-out

# ---- impostors
expect 1 'left all .* rows as they were' \
  campaign --target=mutant:does-nothing --cases=200 --flavour=plain --out=i1
expect 1 'refuses a valid call' \
  campaign --target=mutant:refuses-all --cases=200 --flavour=plain --out=i2
expect 1 'hold the raw bytes of the input' \
  campaign --target=mutant:returns-inputs --cases=200 --flavour=plain --out=i3
expect 1 'the decode left all .* rows as they were' \
  campaign --target=mutant:does-nothing --kernels=decode --cases=200 \
  --flavour=plain --out=i4
# Of cases that a rule refuses too the sentence names both.
expect 1 'the decode refuses a (valid|boundary) call|decode/refused-valid explains all' \
  campaign --target=mutant:refuses-all --kernels=decode --cases=200 \
  --flavour=plain --out=i5
expect 1 'hold the raw bytes of the input, the latent part of the query' \
  campaign --target=mutant:returns-inputs --kernels=decode --cases=200 \
  --flavour=plain --out=i6

# ---- Ctrl-C: a report, exit 0, no process left
"${mlafuzz}" campaign --time=1h --jobs=2 --flavour=plain --out=stopped \
  > "${TEST_TMPDIR}/stopped.log" 2>&1 &
pid=$!
sleep 3
# Its child processes, with a blank behind each; needs no procps.
children_of() {  # children_of PID
  cat "/proc/$1/task/"*/children
}
workers="$(children_of "${pid}")"
kill -INT "${pid}"
wait "${pid}"
code=$?
if [[ "${code}" != 0 ]] || ! grep -q 'stopped by a signal' "${TEST_TMPDIR}/stopped.log"
then
  echo "FAILED: Ctrl-C: exit ${code}"; cat "${TEST_TMPDIR}/stopped.log"
  failed=1
fi
report_has '"interrupted": true' stopped
for worker in ${workers}; do
  if kill -0 "${worker}" 2> /dev/null; then
    echo "FAILED: worker ${worker} outlives the campaign"
    failed=1
  fi
done
[[ -n "${workers}" ]] || { echo "FAILED: no workers seen"; failed=1; }

# ---- Ctrl-C in the look before a campaign, on a library that hangs
loop="${PWD}/kernels/foreign/testing/loop.so"
"${mlafuzz}" campaign "--target=lib:${loop}" --time=1h --call-timeout=1h \
  --flavour=plain --out=look > "${TEST_TMPDIR}/look.log" 2>&1 &
pid=$!
sleep 4
before="${SECONDS}"
kill -INT "${pid}"
wait "${pid}"
if (( SECONDS - before > 5 )); then
  echo "FAILED: Ctrl-C in the look took $((SECONDS - before)) s"
  failed=1
fi
report_has '"interrupted": true' look
# ---- and in a call: of its case nothing is known, so it is kept.
timeout --preserve-status --signal=INT 5 "${mlafuzz}" campaign \
  "--target=lib:${loop}" --time=1h --call-timeout=1h --no-infer \
  --flavour=plain --out=unfinished > "${TEST_TMPDIR}/unfinished.log" 2>&1
if ! grep -q 'replay findings/unfinished-1/case.txtpb' \
  "${TEST_TMPDIR}/unfinished.log" ||
  [[ ! -s "${caller}/unfinished/findings/unfinished-1/case.txtpb" ]]; then
  echo "FAILED: the case that ran when a campaign was ended is lost"
  cat "${TEST_TMPDIR}/unfinished.log"
  failed=1
fi
# And its time is the campaign's.
before="${SECONDS}"
# A hang takes 5 s to be one: a second, then four in a fresh process.
expect 1 'hang' campaign "--target=lib:${loop}" --time=10s --call-timeout=1s \
  --flavour=plain --out=look
if (( SECONDS - before > 16 )); then
  echo "FAILED: a campaign of 10 s took $((SECONDS - before)) s"
  failed=1
fi

# ---- a worker that somebody kills is no finding
"${mlafuzz}" campaign --time=1h --flavour=plain --out=incident \
  > "${TEST_TMPDIR}/incident.log" 2>&1 &
pid=$!
sleep 3
one_line 2 "incident belongs to a running campaign .process ${pid}: mlafuzz" \
  campaign --out=incident
kill -KILL "$(children_of "${pid}" | cut -d " " -f 1)"
sleep 3
kill -INT "${pid}"
wait "${pid}"
code=$?
if [[ "${code}" != 0 ]] || ! grep -q 'from outside: a worker was killed by' \
  "${TEST_TMPDIR}/incident.log"
then
  echo "FAILED: killed worker: exit ${code}"; cat "${TEST_TMPDIR}/incident.log"
  failed=1
fi
report_has '"a worker was killed by SIGKILL' incident
report_has '"findings": \[\]' incident

# ---- killed: no orphans either
export TMPDIR="${TEST_TMPDIR}/scratch"
mkdir -p "${TMPDIR}"
"${mlafuzz}" campaign --time=1h --flavour=plain --out=killed > /dev/null 2>&1 &
pid=$!
sleep 3
workers="$(children_of "${pid}")"
kill -KILL "${pid}"
wait "${pid}" 2> /dev/null
sleep 1
for worker in ${workers}; do
  if kill -0 "${worker}" 2> /dev/null; then
    echo "FAILED: worker ${worker} outlives a killed supervisor"
    failed=1
  fi
done

# What it left is swept by the next one, which leaves nothing.
compgen -G "${TMPDIR}/mlafuzz.*" > /dev/null || {
  echo "FAILED: no scratch folder of the killed campaign"; failed=1; }
expect 0 'nothing found' campaign --cases=50 --flavour=plain --out=killed
if compgen -G "${TMPDIR}/mlafuzz.*" > /dev/null; then
  echo "FAILED: scratch folders stay:" "${TMPDIR}"/mlafuzz.*
  failed=1
fi

# ---- replay, explain, minimize
case_file="twin/findings/writer-tail-tail-unchanged/case.txtpb"
expect 1 'writer fail' replay "${case_file}" "${twin[@]}"
expect 0 'writer pass' replay "${case_file}" --flavour=plain
expect 1 'contract field: writer.tail' explain "${case_file}" "${twin[@]}"
expect 1 'bytes' minimize "${case_file}" "${twin[@]}" --out=small.txtpb
[[ -s "${caller}/small.txtpb" ]] || { echo "FAILED: no small.txtpb"; failed=1; }
head -c 40 "${caller}/${case_file}" > "${caller}/truncated.txtpb"
head -c 500 /dev/urandom > "${caller}/random"
printf 'pool { pages: 1 page_size: 1 }\nsteps { write { colour: 3 } }\n' \
  > "${caller}/field.txtpb"
printf 'pool { pages: 1 }\nsteps { write { } }\n' > "${caller}/build.txtpb"
: > "${caller}/nothing"
{ printf '\xef\xbb\xbf'; cat "${caller}/${case_file}"; } > "${caller}/bom.txtpb"
{ cat "${caller}/${case_file}"; printf '\0'; } > "${caller}/nul.txtpb"
printf '\xff\xfep\0o\0' > "${caller}/utf16.txtpb"
{ cat "${caller}/${case_file}"; yes 'steps { patch { } }' | head -n 5000; } \
  > "${caller}/steps.txtpb"
expect 0 'writer pass' replay bom.txtpb --flavour=plain
one_line 2 '^mlafuzz: nul.txtpb: not a case: text, but for the byte 0x00' \
  replay nul.txtpb
one_line 2 '^mlafuzz: utf16.txtpb: .*UTF-16' replay utf16.txtpb
one_line 2 '^mlafuzz: steps.txtpb: steps: 5001 are more than 4096' \
  replay steps.txtpb
one_line 2 '^mlafuzz: truncated.txtpb: ' replay truncated.txtpb
one_line 2 '^mlafuzz: random: ' replay random
one_line 2 '^mlafuzz: field.txtpb: .*colour' replay field.txtpb
one_line 2 '^mlafuzz: build.txtpb: .*page_size' replay build.txtpb
one_line 2 '^mlafuzz: nothing: the file is empty' replay nothing
one_line 2 '^mlafuzz: empty: the folder holds no case' replay empty
one_line 2 '^mlafuzz: missing: no such file' replay missing
# The good one is still replayed.
expect 2 'case.txtpb: .*writer fail' \
  replay truncated.txtpb "${case_file}" "${twin[@]}"

# ---- diff
expect 1 'different' diff "${case_file}" --a=builtin \
  --b=mutant:nope-stale-tail --flavour=plain
expect 3 'calls none of the kernels that are compared' \
  diff "${case_file}" --a=builtin --b=builtin:pow2 --kernels=gather
# Writers that differ say nothing of gathers, in cases that have both.
echo 'pool { page_size: 1 pages: 1 } steps { write { slots { values: 0 } kv_c { pattern: OCTAVES seed: 1 } } } steps { gather { block_table { rows: 1 columns: 1 pages { values: 0 } } workspace_starts: 0 seq_lens: 1 dst_rows: 1 } }' > "${caller}/both.txtpb"
expect 1 'step 0, writer: pool' diff both.txtpb --a=builtin --b=builtin:pow2
expect 0 'both sides have the gather of builtin: it is compared with itself' \
  diff both.txtpb --a=builtin --b=builtin:pow2 --kernels=gather
expect 0 'both.txtpb: equal, bit for bit' \
  diff both.txtpb --a=builtin --b=builtin:pow2 --kernels=gather
# A refusal is an answer.
echo 'pool { page_size: 1 pages: 1 } steps { gather { block_table { rows: 1 columns: 1 pages { values: 0 } } workspace_starts: 0 dst_rows: 1 } }' > "${caller}/bf16.txtpb"
expect 1 'step 0, gather: a: ok; b: refused \(dst must be u8' \
  diff bf16.txtpb --a=builtin --b=builtin:byte-gather --flavour=plain
expect 0 'equal, bit for bit' diff "${case_file}" --a=builtin \
  --b=control:thread-mapping --flavour=plain
expect 1 'a passes; b fails' diff --cases=200 --a=builtin \
  --b=mutant:scale-reciprocal --flavour=plain --out=diff
# A case that one side does not take is not equal, nor is a campaign of such.
mkdir -p "${caller}/request-5"
echo 'pool { page_size: 1 pages: 1 } steps { convert { request_ids { values: [5] } token_indices { rows: 1 width: 1 valid: 1 limit: 1 } block_table { rows: 1 columns: 1 pages { values: [0] } } } }' \
  > "${caller}/request-5/case.txtpb"
sides=(--a=builtin:compacting --b=builtin --kernels=convert --flavour=plain)
expect 3 'case.txtpb: not compared' diff request-5/case.txtpb "${sides[@]}"
expect 3 'b does not take the case: step 0, convert: convert.request_id: row 0' \
  diff request-5/case.txtpb "${sides[@]}"
expect 3 'nothing was compared: of 1 cases' diff --cases=1 --jobs=1 \
  --corpus=request-5 --out=diff-none "${sides[@]}"
report_has '"compared": 0,' diff-none
report_has '"exit_code": 3,' diff-none
grep -q 'skipped message="nothing was compared' \
  "${caller}/diff-none/junit.xml" || {
  echo 'FAILED: junit.xml of nothing compared'; failed=1; }
expect 1 'that b did not take, the first: b does not take the case: step' \
  diff --cases=300 --a=builtin:workspace --b=builtin:compacting \
  --kernels=convert --flavour=plain --out=diff-some
report_has '"not_compared": [1-9]' diff-some
# Nor is it a pass of one.
expect 3 'convert unspecified: convert.request_id: row 0 belongs to request 5' \
  replay request-5/case.txtpb --flavour=plain
expect 3 'nothing was judged: step 0, convert unspecified: convert.request_id: ' \
  minimize request-5/case.txtpb --flavour=plain
expect 3 '"detail": "convert.request_id: row 0 belongs to request 5 of 1"' \
  replay --json request-5/case.txtpb --flavour=plain
expect 3 'convert unspecified: convert.request_id: row 0 belongs to request 5' \
  explain request-5/case.txtpb --flavour=plain

# ---- text that does not mean what it says
echo 'pool { page_size: 1 pages: 1 } steps { write { slots { values: [0] } pe_dim: 64 kv_c { set { at: 512 bits: 1 } } } }' \
  > "${caller}/past.txtpb"
one_line 2 'past.txtpb: steps\[0\].write.kv_c.set\[0\].at: 512 is past .*; as it stands the case is another one' \
  replay past.txtpb

# The kernels that the other side replaces, and no others.
expect 1 'kernels writer,' diff --cases=200 --a=builtin \
  --b=mutant:scale-reciprocal --flavour=plain --out=diff-kernels

# ---- infer
interrupted="$(timeout --preserve-status --signal=INT 0.7 "${mlafuzz}" infer \
  2>&1)"
code=$?
if [[ "${code}" != 2 || "${interrupted}" != *'stopped by a signal'* ]]; then
  echo "FAILED: infer, interrupted: exit ${code}, ${interrupted}"; failed=1
fi
expect 0 'writer\.tail +TAIL_ZERO .* confirmed' infer --kernels=writer
expect 1 'declares writer\.tail TAIL_ZERO, behaves like TAIL_UNCHANGED' \
  infer --target=mutant:nope-stale-tail
expect 1 '"state": "DIFFERS"' infer --target=mutant:nope-stale-tail --json
one_line 2 'name a kernel with --target' infer mutant:nope-stale-tail
one_line 2 'mutant:sink-dropped' infer --target=mutant:sink-droped
one_line 2 'of rows that become bf16, and this one declares rows: ROWS_BYTES' \
  infer --target=builtin:byte-gather
one_line 2 'declares rows: ROWS_ONE_SCALE' \
  infer --target=builtin:one-scale-gather --kernels=gather

# ---- power
one_line 2 'inputs must be at least 1' power --inputs=0
one_line 2 'leave one of them out' power --all --target=mutant:nope-stale-tail
one_line 2 'corpus: .*/nowhere is not a folder' power --corpus=nowhere

# ---- ab
few=(--rows=64 --heads=2 --topk=128)
expect 0 'builtin:flashinfer-pow2 +0\.[0-9]{4} +0\.99' \
  ab "${few[@]}" --spread=1.4
expect 0 'reported +7\.0 +10\.2' ab "${few[@]}" --spread=1.4,18
expect 0 '"relative_l2": 0\.00' ab "${few[@]}" --spread=1.4 --json
expect 0 'mutant:qk-pow2-scale .* [2-9][0-9]*\.[0-9]$' \
  ab "${few[@]}" --spread=3 --decode=mutant:qk-pow2-scale
expect 1 'not supported on this device' \
  ab "${few[@]}" --decode=mutant:refuses-all
one_line 2 'rows must be 1 to 65536, got 0' ab --rows=0
one_line 2 'top-k must be 1 to 65536, got 65537' ab --topk=65537
one_line 2 'whole number' ab --heads=-1
one_line 2 'needs numbers like' ab --spread=wide
one_line 2 'spread must be 0 to 40, got nan' ab --spread=nan
one_line 2 'has no decode of its own' ab --decode=mutant:nope-stale-tail
one_line 2 'mutant:sink-dropped' ab --decode=mutant:sink-droped
one_line 2 'needs a decode to compare' ab --against=builtin
one_line 2 'takes no argument' ab cases

exit "${failed}"
