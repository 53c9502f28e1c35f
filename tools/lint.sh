#!/bin/bash
# Style and lint, for people and for CI.
#   tools/lint.sh format       fails if clang-format would change a file
#   tools/lint.sh format --fix changes it
#   tools/lint.sh tidy         clang-tidy over all sources but the tests
set -euo pipefail
cd "$(dirname "$0")/.."
llvm=/usr/lib/llvm-19/bin

need() {
  [[ -x "${llvm}/$1" ]] || { echo "lint.sh: no $1 19; run tools/setup.sh --lint" >&2; exit 2; }
}

case "${1:-}" in
  format)
    need clang-format
    mapfile -t files < <(git ls-files '*.cc' '*.h' '*.cu' '*.cuh')
    if [[ "${2:-}" == --fix ]]; then
      exec "${llvm}/clang-format" -i "${files[@]}"
    fi
    "${llvm}/clang-format" --dry-run -Werror "${files[@]}"
    echo "lint.sh: ${#files[@]} files are formatted"
    ;;
  tidy)
    need clang-tidy
    tools/compile_commands.py > /dev/null
    # External sources and generated code are not ours to lint. What this machine
    # cannot compile (no CUDA toolkit) is not linted, and said so.
    mapfile -t files < <(git ls-files '*.cc' | grep -v '_test\.cc$')
    mapfile -t known < <(python3 -c '
import json, sys
compiled = {entry["file"] for entry in json.load(open("compile_commands.json"))}
for name in sys.argv[1:]:
    if name in compiled:
        print(name)' "${files[@]}")
    left_out=$(( ${#files[@]} - ${#known[@]} ))
    (( left_out == 0 )) || echo "lint.sh: ${left_out} files are not built here"
    files=("${known[@]}")
    log="$(mktemp)"
    trap 'rm -f "${log}"' EXIT
    status=0
    printf '%s\0' "${files[@]}" \
      | xargs -0 -P "$(nproc)" -n 4 "${llvm}/clang-tidy" -p . --quiet \
        > "${log}" 2> /dev/null || status=1
    if grep -qE '(warning|error):' "${log}"; then
      cat "${log}"
      status=1
    fi
    (( status == 0 )) && echo "lint.sh: ${#files[@]} files are clean"
    exit "${status}"
    ;;
  *)
    sed -n '2,5s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
