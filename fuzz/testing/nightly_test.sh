#!/bin/bash
# Nights as a user has them: what is new, what stays, what goes and comes back;
# a night that is killed ends with the same units as one that is not.
set -uo pipefail
mlafuzz="${PWD}/$1"
work="${TEST_TMPDIR}"
export BUILD_WORKING_DIRECTORY="${work}"
failed=0

# night CODE PATTERN ARGS...: exit code, and an extended regular expression of
# its output.
night() {
  local code="$1" pattern="$2" got output
  shift 2
  output="$("${mlafuzz}" nightly --config=night.txtpb "$@" 2>&1)"
  got=$?
  if [[ "${got}" != "${code}" ]] || ! tr '\n' ' ' <<< "${output}" \
      | grep -Eq -- "${pattern}"; then
    printf 'FAILED: exit %s, wanted %s; wanted /%s/\n%s\n' \
      "${got}" "${code}" "${pattern}" "${output}"
    failed=1
  fi
}
build() {
  g++ -std=c++17 -O2 -shared -fPIC -I. "examples/$1.cc" -o "${work}/new.so" \
    && mv "${work}/new.so" "${work}/kernel.so"
}
config() {
  cat > "${work}/night.txtpb" << EOF
state: "$1"
work { target: "lib:kernel.so" flavour: "plain" units: 2 cases: 60 }
$2
EOF
}

if ! command -v g++ > /dev/null; then
  echo "SKIPPED: no g++ to build a kernel with"
  cat > "${XML_OUTPUT_FILE:-/dev/null}" << EOF
<testsuites><testsuite name="nightly_test" tests="1" skipped="1">
<testcase name="nightly_test"><skipped message="no g++"/></testcase>
</testsuite></testsuites>
EOF
  exit 0
fi

# ---- usage
config state ""
echo 'stat: "x"' > "${work}/bad.txtpb"
for words in "" "--config=no-such-file" "--config=bad.txtpb" \
    "--config=night.txtpb --since=7"; do
  # shellcheck disable=SC2086
  "${mlafuzz}" nightly ${words} > "${work}/said" 2>&1
  code=$?
  if [[ "${code}" != 2 || "$(wc -l < "${work}/said")" != 1 ]]; then
    echo "FAILED: nightly ${words}: exit ${code}, $(cat "${work}/said")"
    failed=1
  fi
done

# ---- a wrong kernel is news once, a right one too, and so is a relapse
build writer_stale_tail
# What would end a night half way is told before there is one.
config state 'ledger_gate { targets: "mutant:nosuch" }'
night 2 '^mlafuzz: nightly: night.txtpb: ledger_gate: .*mutant:nosuch'
config state 'ledger_gate { seeds: 10001 }'
night 2 '^mlafuzz: nightly: night.txtpb: ledger_gate: --seeds needs 1 to 10000'
config state 'regressions: "no-such"'
night 2 '^mlafuzz: nightly: night.txtpb: regressions: no-such: no such file'
echo junk > "${work}/junk.txtpb"
config state 'regressions: "junk.txtpb"'
night 2 '^mlafuzz: nightly: night.txtpb: regressions: junk.txtpb: not a case'
[[ ! -e "${work}/state" ]] || { echo "FAILED: a night was begun"; failed=1; }
config state ""
night 1 'night 1 .*new: +writer-tail-tail-unchanged.* minimal case: .*RED: new causes: 1'
night 1 'new since night 0: +writer-tail-tail-unchanged' --since=last
night 0 'night 2 .*new: nothing.*still failing: +writer-tail-tail-unchanged.*since night 1; its case: fails; found again tonight'
night 0 'new since night 1: nothing' --since=last
config state 'red: STILL_FAILS'
night 1 'night 3 .*RED: causes that still fail: 1'
config state 'prune_above: 1'
build writer
night 0 'night 4 .*still failing: nothing gone: +writer-tail-tail-unchanged.*its case: passes; incubating: 1 of 3 nights.*cases epoch 2'
night 0 'new since night 3: nothing back since night 3: nothing gone since night 3: +writer-tail-tail-unchanged' --since=last
# Gone for three nights in a row it rests; it comes back all the same.
night 0 'night 5, .*gone: +writer-tail-tail-unchanged.*incubating: 2 of 3 nights'
night 0 'night 6, .*gone: +writer-tail-tail-unchanged.*regression: 3 of 3 nights'
night 0 'new since night 5: nothing back since night 5: nothing gone since night 5: nothing' --since=5
build writer_stale_tail
night 1 'night 7, .*back: +writer-tail-tail-unchanged.*RED: causes that are back: 1'
night 1 'new since night 6: nothing back since night 6: +writer-tail-tail-unchanged.*gone since night 6: nothing' --since=last
grep -q '"stage": "crashing"' "${work}/state/nights/7/report.json" \
  && grep -q '"stage": "regression"' "${work}/state/nights/6/report.json" \
  || { echo "FAILED: no stages in the reports"; failed=1; }

# ---- cases that once failed
mkdir "${work}/regressions"
cp "${work}"/state/nights/1/findings/*/case.txtpb "${work}/regressions/"
config others 'regressions: "regressions"'
night 1 'regressions: 1 cases, 1 failed.*RED: 1 regressions failed'

# ---- the ledger gate
config gated 'ledger_gate { targets: "mutant:gather-drops-pages" targets: "control:narrow-stores" control_cases: 700 } red: GATE'
night 0 'control:narrow-stores +700 cases, 0 false alarms.*ledger gate: passed'

# ---- units that go to what still pays: of a first night all alike, then by the last
config sharing 'shared_units: 3
work { target: "mutant:nope-stale-tail" flavour: "plain" units: 1 cases: 60 }'
night 1 'share: --target=lib:[^ ]*: 2 of 3 units; night 0: has not run yet share: --target=mutant:nope-stale-tail: 1 of 3 .*: 4 units, 240 cases,.*: 2 units, 120 cases,'
shares() {
  "${mlafuzz}" nightly --config=night.txtpb "$@" | grep '^share: '
}
shares --shard=0 --shards=2 > "${work}/shard.shares"
shares > "${work}/night.shares"
grep -Eq 'night 1: 0\.[0-9]+ new of a case, [0-9]+ % informative, [0-9]+ new value' \
  "${work}/night.shares" || { echo "FAILED: shares of nothing"; failed=1; }
[[ "$(awk '{ for (i = 2; i < NF; ++i) if ($i == "of" && $(i + 1) == "3") n += $(i - 1) }
    END { print n }' "${work}/night.shares")" == 3 ]] \
  || { echo "FAILED: not all units are shared"; cat "${work}/night.shares"; failed=1; }
diff "${work}/shard.shares" "${work}/night.shares" \
  || { echo "FAILED: a shard shares otherwise than its night"; failed=1; }

# ---- SARIF and the step summary
config told ''
GITHUB_STEP_SUMMARY="${work}/summary.md" night 1 'night 1 '
grep -q 'writer-tail-tail-unchanged' "${work}/summary.md" \
  || { echo "FAILED: no step summary"; failed=1; }
grep -q '"baselineState": "new"' "${work}/told/nights/1/report.sarif" \
  || { echo "FAILED: no SARIF"; failed=1; }

# ---- killed at any time, it goes on, and ends as a straight one
units() {
  (cd "$1" && sha256sum cases/* findings/* units/* epochs/*)
}
config straight ''
night 1 'night 1 '
# The same by two shards and a night that finds their units done.
config sharded ''
night 2 '--shard and --shards go together' --shard=1
for shard in 1 0 1; do
  night 0 "units of night 1, shard ${shard} of 2" "--shard=${shard}" --shards=2
done
night 1 'unit of seed 1000001: .*\(done before\).*unit of seed 1000002: .*\(done before\).*RED: new causes: 1'
if [[ "$(units "${work}/sharded")" != "$(units "${work}/straight")" ]]; then
  echo "FAILED: a night in shards has other units"
  failed=1
fi
# Killed where its output first has a word; where it has none yet, at once.
for word in '' 'epoch 1' 'night 1' 'fuzz: mlafuzz unit' 'seed 1000001' \
    'mlafuzz merge' 'minimise:'; do
  rm -rf "${work}/cut"
  config cut ''
  "${mlafuzz}" nightly --config=night.txtpb > "${work}/said" 2>&1 &
  process=$!
  while ! grep -q "${word:-^}" "${work}/said" && kill -0 "${process}"; do
    [[ -z "${word}" ]] && break
    sleep 0.01
  done 2> /dev/null
  [[ -n "${word}" ]] || sleep 0.1
  kill -9 "${process}"
  wait "${process}" 2> /dev/null
  if [[ -e "${work}/cut/nights/1/report.json" ]]; then
    echo "note: the night was over before it was killed at \"${word}\""
    continue
  fi
  night 1 'night 1( |,).*new: +writer-tail-tail-unchanged'
  if [[ "$(units "${work}/cut")" != "$(units "${work}/straight")" ]]; then
    echo "FAILED: a night that was killed at \"${word}\" has other units"
    failed=1
  fi
done
exit "${failed}"
