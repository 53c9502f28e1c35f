#!/bin/bash
# What mlafuzz_regression_test runs: red with the wrong library for each of the
# five cases, green with the right one, red where nothing can fail.
#
#     regressions_turn_red_test.sh REPLAY MLAFUZZ WRONG.so RIGHT.so FOLDER
set -uo pipefail
replay="$1" mlafuzz="$2" wrong="$3" right="$4" folder="$5"
failed=0
check() {
  local want="$1" code
  shift
  "${replay}" "${mlafuzz}" "$@" > "${TEST_TMPDIR}/log" 2>&1
  code=$?
  [[ "${code}" == "${want}" ]] && return
  echo "FAILED: $*: exit ${code}, not ${want}: $(cat "${TEST_TMPDIR}/log")"
  failed=1
}
cases=("${folder}"/*.txtpb)
[[ "${#cases[@]}" == 5 ]] || { echo "FAILED: ${#cases[@]} cases"; failed=1; }
for case in "${cases[@]}"; do
  check 1 "lib:${wrong}" 1 --flavour=plain "${case}"
  # The file is called by the rule that it shows.
  rule="$(basename "${case}" .txtpb)"
  grep -q "${rule//-/.}" "${TEST_TMPDIR}/log" ||
    { echo "FAILED: ${rule} is not named: $(cat "${TEST_TMPDIR}/log")"; failed=1; }
done
check 0 "lib:${right}" 1 --flavour=plain "${cases[@]}"
check 1 "lib:${wrong}" 1 --flavour=plain "${cases[@]}"
check 1 "lib:${wrong}" 1 --flavour=plain
# A folder as a campaign leaves it.
mkdir -p "${TEST_TMPDIR}/crashing/x/examples"
cp "${cases[0]}" "${TEST_TMPDIR}/crashing/x/examples/"
echo '{}' > "${TEST_TMPDIR}/crashing/x/cause.json"
"${mlafuzz}" replay "${TEST_TMPDIR}/crashing" "--target=lib:${PWD}/${wrong}" \
  --flavour=plain > "${TEST_TMPDIR}/log" 2>&1
code=$?
[[ "${code}" == 1 ]] ||
  { echo "FAILED: crashing/: exit ${code}: $(cat "${TEST_TMPDIR}/log")"; failed=1; }
exit "${failed}"
