#!/bin/bash
# A disk that is full, from nearly to wholly, under each command that writes: one
# error that names the file and the way out, exit code 2, nothing half written that
# counts, what was there stays, and with room the same ends as it would have.
set -uo pipefail
program="${PWD}/$1"
work="${TEST_TMPDIR}/work"
small="${TEST_TMPDIR}/small"
mkdir -p "${work}" "${small}"
export BUILD_WORKING_DIRECTORY="${work}"
mlafuzz() {
  "${program}" "$@"
}
cd "${work}" || exit 1
failed=0

if ! mount -t tmpfs -o size=8m none "${small}" 2> "${work}/why"; then
  why="$(cat "${work}/why")"
  echo "SKIPPED: cannot mount a small file system: ${why}"
  cat > "${XML_OUTPUT_FILE:-/dev/null}" << END
<testsuites><testsuite name="full_disk_test" tests="1" skipped="1">
<testcase name="full_disk_test"><skipped message="cannot mount a small file system"/></testcase>
</testsuite></testsuites>
END
  exit 0
fi
trap 'umount -l "${small}"' EXIT

failure() {
  echo "FAILED: $*"
  sed 's/^/    /' "${work}/said"
  failed=1
}
# room KIB: so much is free and no more.
room() {
  rm -f "${small}/ballast"
  local free
  free="$(df --output=avail -k "${small}" | tail -n 1)"
  head -c "$(( (free - $1) * 1024 ))" /dev/zero > "${small}/ballast"
}
# full KIB WORDS...: with so much room the command ends by the full disk.
full() {
  local kib="$1" code
  shift
  room "${kib}"
  mlafuzz "$@" > "${work}/said" 2>&1
  code=$?
  [[ "${code}" == 2 ]] || failure "$1 with ${kib} KiB: exit ${code}, wanted 2"
  grep -q "^mlafuzz: .*${small}.*No space left on device" "${work}/said" \
    || failure "$1 with ${kib} KiB: no line says why"
  # Of what no process is writing any more nothing is half there.
  find "${small}" -type f \( -size 0 -o -name '.new-*' -o -name '*.??????' \) \
    ! -name '.mlafuzz' ! -name '.lock' ! -name '*.txtpb' > "${work}/halves"
  [[ ! -s "${work}/halves" ]] \
    || failure "$1 with ${kib} KiB leaves $(cat "${work}/halves")"
}

# ---- a campaign: what it found is told, whole
for kib in 0 8 48; do
  rm -rf "${small}/out"
  full "${kib}" campaign --cases=100 --time=5s --seed=1 --flavour=plain --kernels=gather \
    --target=mutant:gather-page-start "--out=${small}/out"
  grep -q '^FINDING' "${work}/said" || continue
  # The report stands in the output, with each case that is in no file.
  grep -q '^verdicts' "${work}/said" || failure "no report with ${kib} KiB"
  sed -n 's/^\(gather-[a-z-]*\): .*/\1/p' "${work}/said" | sort -u > "${work}/ids"
  while read -r id; do
    if [[ ! -s "${small}/out/findings/${id}/case.txtpb" ]] \
        && ! grep -q '^    steps {' "${work}/said"; then
      failure "the case of ${id} is nowhere with ${kib} KiB"
    fi
  done < "${work}/ids"
  # What is there is whole.
  while read -r path; do
    mlafuzz replay "${path}" --flavour=plain > "${work}/replay" 2>&1 \
      || failure "${path} is no whole case with ${kib} KiB"
  done < <(find "${small}/out/findings" "${small}/out/crashing" -name '*.txtpb' 2> /dev/null)
done

# ---- its known causes survive
rm -rf "${small}/out"
room 4000
mlafuzz campaign --cases=100 --time=5s --seed=1 --flavour=plain --kernels=gather \
  --target=mutant:gather-page-start "--out=${small}/out" > "${work}/said" 2>&1
[[ $? == 1 ]] || failure "a campaign with room"
find "${small}/out/crashing" -type f | sort > "${work}/known"
# What it moves to `previous` may make room.
room 8
mlafuzz campaign --cases=100 --time=5s --seed=1 --flavour=plain --kernels=gather \
  --target=mutant:gather-page-start "--out=${small}/out" > "${work}/said" 2>&1
code=$?
(( code == 1 || code == 2 )) || failure "a campaign with 8 KiB: exit ${code}"
find "${small}/out/crashing" -type f | sort > "${work}/now"
comm -23 "${work}/known" "${work}/now" > "${work}/lost"
[[ ! -s "${work}/lost" ]] || failure "lost: $(cat "${work}/lost")"
[[ -e "${small}/out/previous/report.json" || -e "${small}/out/report.json" ]] \
  || failure "the last report is lost with 8 KiB"
rm -rf "${small}/out"

# ---- work files: no fault of a right kernel, and none of a wrong one is passed over
for kib in 0 400; do
  for target in builtin mutant:gather-page-start; do
    room "${kib}"
    TMPDIR="${small}" mlafuzz campaign --cases=100 --time=5s --seed=1 --flavour=plain \
      --kernels=gather "--target=${target}" --out=work-files > "${work}/said" 2>&1
    code=$?
    if (( code == 2 )); then
      grep -q 'TMPDIR' "${work}/said" || failure "${kib} KiB: no way out is named"
    elif [[ "${target}" == builtin ]]; then
      (( code == 0 )) || failure "a right kernel with ${kib} KiB: exit ${code}"
    else
      (( code == 1 )) || failure "a wrong kernel with ${kib} KiB: exit ${code}"
    fi
    if [[ "${target}" == builtin ]] && grep -q '^FINDING' "${work}/said"; then
      failure "a right kernel is blamed for ${kib} KiB"
    fi
    if (( code < 2 )) && ! grep -q 'note: not every case that was new' "${work}/said"; then
      failure "${kib} KiB: nothing is said of new cases"
    fi
  done
done

# ---- minimize: the case is printed where it cannot be written
rm -f "${small}/ballast"
mlafuzz campaign --cases=100 --time=5s --seed=1 --flavour=plain --kernels=gather \
  --target=mutant:gather-page-start --out=whole > "${work}/said" 2>&1
original="$(find whole/findings -name original.txtpb | head -n 1)"
full 0 minimize "${original}" --target=mutant:gather-page-start --flavour=plain \
  "--out=${small}/least.txtpb"
room 4000
mlafuzz minimize "${original}" --target=mutant:gather-page-start --flavour=plain \
  "--out=${small}/least.txtpb" > "${work}/said" 2>&1
[[ $? == 1 && -s "${small}/least.txtpb" ]] || failure "minimize with room again"
rm -f "${small}"/least*

# ---- import: as many whole cases as there is room for
python3 - << 'END'
import random
rng = random.Random(1)
open("cache.bin", "wb").write(bytes(rng.randrange(0x7e) for _ in range(8 * 64 * 656)))
END
import_words=(import --layout=row656 --page-size=64 cache.bin "--out=${small}/imported")
full 40 "${import_words[@]}"
grep -q '[0-9]* of [0-9]* cases are written' "${work}/said" || failure "import counts"
there="$(find "${small}/imported" -type f | wc -l)"
grep -q "; ${there} of " "${work}/said" || failure "import wrote ${there}"
mlafuzz replay "${small}/imported" --flavour=plain > "${work}/said" 2>&1 \
  || failure "what was imported is not whole"
rm -rf "${small}/imported"

# ---- states: import, units, merge, a night; then with room, as a straight one
night() {  # night STATE
  cat > night.txtpb << END
state: "$1"
work { target: "mutant:nope-stale-tail" flavour: "plain" units: 2 cases: 100 }
END
}
bytes() {
  (cd "$1" && sha256sum cases/* findings/* units/* epochs/* 2> /dev/null)
}
night straight
mlafuzz nightly --config=night.txtpb > "${work}/said" 2>&1
[[ $? == 1 ]] || failure "a straight night"
for kib in 0 400; do
  rm -rf "${small}/state"
  night "${small}/state"
  full "${kib}" nightly --config=night.txtpb
done
# Grown from nothing, step by step, by whichever commands come.
for kib in 200 30; do
  room "${kib}"
  mlafuzz nightly --config=night.txtpb > "${work}/said" 2>&1
  code=$?
  [[ "${code}" == 1 ]] && break
  [[ "${code}" == 2 ]] || failure "a night that goes on with ${kib} KiB: exit ${code}"
done
room 3000
mlafuzz nightly --config=night.txtpb > "${work}/said" 2>&1
code=$?
[[ "${code}" == 1 || "${code}" == 0 ]] || failure "a night with room again: exit ${code}"
first="${small}/state/nights/1/report.json"
[[ -s "${first}" ]] || failure "night 1 has no report"
# A second one, where the first was over before: its units are its own.
if [[ "$(bytes "${small}/state" | grep -c units/)" == "$(bytes straight | grep -c units/)" ]]
then
  [[ "$(bytes "${small}/state")" == "$(bytes straight)" ]] \
    || failure "a night on a full disk has other units"
fi
mlafuzz unit "--state=${work}/straight" --target=mutant:nope-stale-tail --flavour=plain \
  --units=1 --cases=100 --seed=9 > "${work}/said" 2>&1
mlafuzz merge --state=straight > "${work}/said" 2>&1 || failure "the straight merge"
rm -rf "${small}/state"
cp -r straight "${small}/state"
rm -rf "${small}/state/shards" "${small}/state/cases"/*
full 8 merge "--state=${small}/state" straight
room 3000
mlafuzz merge "--state=${small}/state" straight > "${work}/said" 2>&1 \
  || failure "a merge with room again"
[[ "$(bytes "${small}/state")" == "$(bytes straight)" ]] \
  || failure "a merge after a full disk has other bytes"
exit "${failed}"
