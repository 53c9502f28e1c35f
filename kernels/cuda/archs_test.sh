#!/bin/bash
# Each object holds its kernel as machine code for sm_90 and sm_120, and as PTX
# for what comes later.
#
# usage: archs_test.sh fatbin_archs.py OBJECT...
set -u -o pipefail

list=$1
shift
[[ $# -eq 3 ]] || { echo "three objects expected, got $#"; exit 1; }

status=0
for object in "$@"; do
  code=$(python3 "$list" "$object") || exit 1
  echo "$code"
  for arch in sm_90 sm_120 compute_120; do
    grep -q " $arch\$" <<<"$code" ||
      { echo "$object: nothing for $arch"; status=1; }
  done
  case $object in
    */convert.*) kernel=ConvertRows ;;
    */gather.*) kernel=GatherRows ;;
    */writer.*) kernel=WriteRows ;;
    *) kernel='?' ;;
  esac
  grep -q "$kernel" "$object" || { echo "$object: no $kernel"; status=1; }
done
exit $status
