#!/bin/bash
# Style and lint, for people and for CI.
#   tools/lint.sh format       fails if clang-format would change a file
#   tools/lint.sh format --fix changes it
#   tools/lint.sh tidy         clang-tidy over sources that differ from the lint
#                              base, headers through a source; not over tests
#   tools/lint.sh tidy --all   over all; where they are clean and committed, HEAD
#                              becomes the lint base (tools/lint_base)
set -euo pipefail
cd "$(dirname "$0")/.."
llvm=/usr/lib/llvm-19/bin

need() {
  [[ -x "${llvm}/$1" ]] || { echo "lint.sh: no $1 19; run tools/setup.sh --lint" >&2; exit 2; }
}

# The sources to lint, one a line. A tree takes a quarter of an hour of a core,
# so what has passed once is not linted again: the base is a commit of which all
# was clean. Without it (a shallow clone), or after a change of the checks, all.
sources() {
  local base
  base="$(cat tools/lint_base)"
  if [[ "${1:-}" == --all ]] || ! git cat-file -e "${base}^{commit}" 2> /dev/null \
      || ! git diff --quiet "${base}" -- .clang-tidy; then
    git ls-files '*.cc' | grep -v '_test\.cc$'
    return
  fi
  # A header is linted through its own source, or the first that includes it.
  local changed header
  changed="$(git diff --name-only --diff-filter=d "${base}" -- '*.cc' '*.h' '*.cuh'
             git ls-files --others --exclude-standard '*.cc' '*.h' '*.cuh')"
  {
    grep '\.cc$' <<< "${changed}" || true
    for header in $(grep -E '\.(h|cuh)$' <<< "${changed}"); do
      if [[ -f "${header%.*}.cc" ]]; then
        echo "${header%.*}.cc"
      else
        git grep -l --untracked -F "#include \"${header}\"" -- '*.cc' \
          | grep -v '_test\.cc$' | head -n 1 || true
      fi
    done
  } | grep -v '_test\.cc$' | sort -u || true
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
    mapfile -t files < <(sources "${2:-}")
    if (( ${#files[@]} == 0 )); then
      echo "lint.sh: no source differs from the lint base"
      exit 0
    fi
    tools/compile_commands.py > /dev/null
    # External sources and generated code are not ours to lint. What this machine
    # cannot compile (no CUDA toolkit) is not linted, and said so.
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
    if (( ${#files[@]} > 0 )); then
      printf '%s\0' "${files[@]}" \
        | xargs -0 -P "$(nproc)" -n 4 "${llvm}/clang-tidy" -p . --quiet \
          > "${log}" 2> /dev/null || status=1
    fi
    if grep -qE '(warning|error):' "${log}"; then
      cat "${log}"
      status=1
    fi
    if (( status == 0 )); then
      echo "lint.sh: ${#files[@]} files are clean"
      if [[ "${2:-}" == --all && -z "$(git status --porcelain)" ]]; then
        git rev-parse HEAD > tools/lint_base
        echo "lint.sh: tools/lint_base is $(cat tools/lint_base)"
      fi
    fi
    exit "${status}"
    ;;
  *)
    sed -n '2,8s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
