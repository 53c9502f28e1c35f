#!/bin/bash
# Each kernel of the program that runs on GPUs is there as machine code for sm_90
# and sm_120, and as PTX for what comes later.
#
# usage: archs_test.sh fatbin_archs.py PROGRAM
set -u -o pipefail

code=$(python3 "$1" "$2") || exit 1
status=0
count() { grep -c " $1\$" <<<"$code"; }
echo "pieces of device code: sm_90 $(count sm_90), sm_120 $(count sm_120)," \
  "compute_90 $(count compute_90)"
for arch in sm_120 compute_90; do
  [[ $(count $arch) -gt 0 && $(count $arch) -eq $(count sm_90) ]] ||
    { echo "not as much for $arch as for sm_90"; status=1; }
done

dump=$(command -v cuobjdump || echo /usr/local/cuda/bin/cuobjdump)
if [[ ! -x $dump ]]; then
  echo "kernels are not listed: there is no cuobjdump"
  exit $status
fi
kernels() {
  "$dump" --list-elf "$2" | grep -q "$1" || return
  "$dump" -symbols -arch "$1" "$2" |
    sed -n 's/.*STT_FUNC *STB_GLOBAL.* \(_Z[A-Za-z0-9_]*\)$/\1/p' | sort -u
}
kernels sm_90 "$2" >"$TEST_TMPDIR/sm_90"
kernels sm_120 "$2" >"$TEST_TMPDIR/sm_120"
echo "kernels: sm_90 $(wc -l <"$TEST_TMPDIR/sm_90")," \
  "sm_120 $(wc -l <"$TEST_TMPDIR/sm_120")"
for kernel in WriteRows GatherRows ConvertRows DecodeSplit MergeSplits; do
  grep -q "$kernel" "$TEST_TMPDIR/sm_120" ||
    { echo "no $kernel for sm_120"; status=1; }
done
diff "$TEST_TMPDIR/sm_90" "$TEST_TMPDIR/sm_120" || status=1
exit $status
