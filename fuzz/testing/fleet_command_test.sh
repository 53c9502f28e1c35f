#!/bin/bash
# mlafuzz unit, merge and corpus as a user calls them: exit codes, words, files.
set -uo pipefail
mlafuzz="${PWD}/$1"
export BUILD_WORKING_DIRECTORY="${TEST_TMPDIR}"
cd "${TEST_TMPDIR}" || exit 1
# This test is no shard of a fleet.
unset TEST_SHARD_INDEX TEST_TOTAL_SHARDS
failed=0

# expect CODE PATTERN ARGS...: exit code and an extended regular expression that
# a line of stdout or stderr matches.
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
unit=(unit --state=state --cases=200 --target=mutant:nope-stale-tail
  --flavour=plain)

# ---- usage
expect 2 'needs --state=DIR' unit
expect 2 'state: no such state; `mlafuzz corpus import' "${unit[@]}" --units=1
expect 2 'needs import, stats, prune or export, got "prun"; nearest: prune' \
  corpus prun
expect 2 'no-such is no folder' corpus import --state=state no-such
mkdir somebodys && touch somebodys/letter
expect 2 'somebodys: is no state' corpus import --state=somebodys
expect 2 'import: all files were skipped, 1 of them' \
  corpus import --state=state somebodys
[[ ! -e state ]] || { echo "FAILED: a state of nothing"; failed=1; }
mkdir later && echo 'mlafuzz state 2' > later/mlafuzz-state
expect 2 'later: .* is of a later version' corpus stats --state=later

# ---- units and merges
expect 0 'epoch 1: [0-9]+ cases' corpus import --state=state
expect 2 '--units needs 1 to 1000000, got 0' "${unit[@]}"
expect 2 '--cases needs 1 or more' "${unit[@]}" --units=1 --cases=0
expect 2 '--shard and --shards go together' "${unit[@]}" --units=2 --shard=1
expect 2 'has no shards' merge --state=state
expect 1 'unit of seed 1: 200 cases, [0-9]+ kept, 1 finding$' \
  "${unit[@]}" --units=2 --shard=0 --shards=2
expect 1 'unit of seed 1: .* \(done before\)' \
  "${unit[@]}" --units=2 --shard=0 --shards=2
expect 0 'shard 5 of 6' "${unit[@]}" --units=2 --shard=5 --shards=6
expect 2 '1 of 2 units are not done, those of seed 2;' \
  merge --state=state --units=2 --cases=200
SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_COUNT=2 SLURM_ARRAY_TASK_MIN=0 \
  expect 1 'shard 1 of 2 \(SLURM_ARRAY_TASK_ID=1\)' "${unit[@]}" --units=2
expect 0 '2 units' merge --state=state --units=2 --cases=200
expect 0 ' 0 objects added' merge --state=state --units=2 --cases=200
expect 1 'unit of seed 2: .* \(done before\)' "${unit[@]}" --units=2

# ---- what is damaged is named, and mended by a whole copy
cp -r state damaged
object="$(find damaged/units -type f | head -n 1)"
echo x > "${object}"
expect 2 "${object}: is damaged" corpus stats --state=damaged
expect 2 'is damaged' merge --state=state damaged
expect 0 '^units 2' corpus stats --state=state
expect 0 ' 1 objects added' merge --state=damaged state
expect 0 '^units 2, 400 cases run' corpus stats --state=damaged

# ---- what is under another name is found there, wherever it lies
cp -r state/shards/1 misnamed
mkdir fresh && cp state/mlafuzz-state fresh
object="$(find misnamed/findings -type f | head -n 1)"
mv "${object}" misnamed/findings/mine
expect 2 "misnamed/findings/mine holds it under another name: rename that to ${object##*/}" \
  merge --state=fresh misnamed

# ---- pruned, and packed
expect 0 'of [0-9]+ cases epoch 2: [0-9]+ cases' \
  corpus prune --state=state --flavour=plain
expect 0 'epoch 2: ' corpus prune --state=state --flavour=plain
expect 2 'export needs --out=FILE.zip' corpus export --state=state
expect 0 'seeds.zip: [0-9]+ cases' corpus export --state=state --out=seeds.zip
"${mlafuzz}" corpus stats --state=state > counts.txt
python3 - << 'EOF' || failed=1
import re
import zipfile

with zipfile.ZipFile("seeds.zip") as archive:
    assert archive.testzip() is None
    names = archive.namelist()
    for name in names:
        with open("state/cases/" + name, "rb") as case:
            assert archive.read(name) == case.read(), name
epoch, total = (int(re.search(pattern, open("counts.txt").read(), re.M).group(1))
                for pattern in (r"^epoch 2: (\d+)", r"^cases (\d+)"))
assert len(names) == epoch and 10 < epoch < total, (len(names), epoch, total)
EOF
exit "${failed}"
