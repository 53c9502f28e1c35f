#!/bin/bash
# The test of mlafuzz_regression_test (defs.bzl):
#
#     replay.sh MLAFUZZ TARGET NUMBER FLAGS... CASES...
#
# NUMBER: how many of what follows are flags.
set -uo pipefail
mlafuzz="$1" target="$2" number="$3"
shift 3
flags=("${@:1:number}")
cases=("${@:number + 1}")
if ((${#cases[@]} == 0)); then
  echo "no cases: a test that cannot fail; keep findings/ID/case.txtpb of a" \
    "campaign, and name them in 'cases'"
  exit 1
fi
[[ "${target}" == lib:* ]] && target="lib:${PWD}/${target#lib:}"
export TMPDIR="${TEST_TMPDIR:-/tmp}"
"${mlafuzz}" replay "${cases[@]/#/${PWD}/}" "--target=${target}" "${flags[@]}"
code=$?
case "${code}" in
  0) ;;
  1) echo "a fault of old is back, or not mended yet: see above" ;;
  3) echo "nothing of the kernel was judged: do the cases have its layout?" ;;
esac
exit "${code}"
