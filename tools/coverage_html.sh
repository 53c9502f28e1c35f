#!/bin/bash
# Source coverage of the tests as HTML, from kept profiles.
#   tools/coverage_html.sh [--out=DIR] [TARGET_PATTERN...]     (default: //...)
# Profiles stay in DIR/profiles, so that `llvm-cov` can be asked again.
set -euo pipefail
caller="${PWD}"
cd "$(dirname "$0")/.."
llvm=/usr/lib/llvm-19/bin
out="coverage-html"
patterns=()
for arg in "$@"; do
  case "${arg}" in
    --out=*) out="${arg#--out=}" ;;
    -*) echo "coverage_html.sh: unknown option ${arg}" >&2; exit 2 ;;
    *) patterns+=("${arg}") ;;
  esac
done
[[ "${out}" == /* ]] || out="${caller}/${out}"
(( ${#patterns[@]} )) || patterns=(//...)
mkdir -p "${out}/profiles"

bazel build --config=profile "${patterns[@]}"
bin="$(bazel info --config=profile bazel-bin 2> /dev/null)"
mapfile -t tests < <(bazel query --noshow_progress \
  "kind(cc_test, set(${patterns[*]}))" 2> /dev/null)
objects=()
failed=0
for test in "${tests[@]}"; do
  path="${test#//}"
  binary="${bin}/${path/://}"
  [[ -x "${binary}" ]] || continue  # skipped as incompatible
  echo "running ${test}"
  name="${path//[\/:]/_}"
  (
    cd "${binary}.runfiles/mlafuzz"
    LLVM_PROFILE_FILE="${out}/profiles/${name}-%p.profraw" \
      TEST_TMPDIR="$(mktemp -d)" "${binary}" > "${out}/profiles/${name}.log" 2>&1
  ) || { echo "  failed; see ${out}/profiles/${name}.log"; failed=1; }
  objects+=(-object "${binary}")
done
(( ${#objects[@]} )) || { echo "coverage_html.sh: no cc_test in ${patterns[*]}" >&2; exit 2; }
"${llvm}/llvm-profdata" merge -sparse "${out}/profiles/"*.profraw -o "${out}/merged.profdata"
"${llvm}/llvm-cov" show "${objects[@]}" -instr-profile="${out}/merged.profdata" \
  -format=html -output-dir="${out}" -ignore-filename-regex='(\.pb\.|_test\.cc|/usr/|third_party)'
"${llvm}/llvm-cov" report "${objects[@]}" -instr-profile="${out}/merged.profdata" \
  -ignore-filename-regex='(\.pb\.|_test\.cc|/usr/|third_party)' | tail -n 1
echo "${out}/index.html"
exit "${failed}"
