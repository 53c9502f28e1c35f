#!/bin/bash
# Builds the reproducers in src/ beside this file, with nvcc alone, and runs
# them on a GPU:
#
#     run.sh [--build]      # --build: no runs, so no GPU is needed
#
# A line a wrong kernel: its cause, then what its reproducer and the same call of
# the right kernel exit with, three runs each in an empty folder with an empty
# environment. They have to be 111 and 000. Exit code 0: all are.
set -uo pipefail
cd "$(dirname "$0")" || exit 2
here="${PWD}"
arch="${ARCH:--gencode arch=compute_90,code=sm_90 -gencode arch=compute_90,code=compute_90}"
nvcc="$(PATH="${PATH}:/usr/local/cuda/bin" command -v nvcc)"
mkdir -p bin logs

build() {
  local name="$1" kind="$2" empty
  # What is built already stays, so that a cut run goes on.
  [[ -x "bin/${name}.${kind}" ]] && return 0
  [[ -n "${nvcc}" ]] || { echo "${name}.${kind}: NOT BUILT: no nvcc"; return 1; }
  empty="$(mktemp -d)"
  cp "src/${name}/${kind}.cu" "${empty}/"
  # shellcheck disable=SC2086
  (cd "${empty}" && env -i PATH="${PATH}" "${nvcc}" -std=c++20 -cudart static \
    -Xlinker -s ${arch} "${kind}.cu" -o out) > "logs/${name}.${kind}.build" 2>&1 &&
    mv "${empty}/out" "bin/${name}.${kind}" ||
    echo "${name}.${kind}: NOT BUILT: $(head -n 1 "logs/${name}.${kind}.build")"
  rm -rf "${empty}"
}
export -f build
export nvcc arch

for source in src/*/*.cu; do
  echo "$(basename "$(dirname "${source}")") $(basename "${source}" .cu)"
done | xargs -P "${JOBS:-$(nproc)}" -L 1 bash -c 'build "$0" "$1"' |
  tee logs/not_built
echo "$(ls bin | wc -l) programs, $(du -sh bin | cut -f 1)"
[[ "${1:-}" == --build ]] && exit "$([[ -s logs/not_built ]] && echo 1 || echo 0)"

# Exit codes of three runs.
codes() {
  local empty all=''
  for _ in 1 2 3; do
    empty="$(mktemp -d)"
    (cd "${empty}" && env -i "${here}/bin/$1") > "logs/$1.run" 2>&1
    all+="$?"
    rmdir "${empty}" 2> /dev/null
  done
  echo "${all}"
}
good=0 bad=0
for folder in src/*/; do
  name="$(basename "${folder}")"
  wrong="$(codes "${name}.repro")"
  right="$(codes "${name}.right")"
  if [[ "${wrong}" == 111 && "${right}" == 000 ]]; then
    verdict=ok good=$((good + 1))
  else
    verdict=BAD bad=$((bad + 1))
  fi
  echo "${verdict} ${name}: $(cat "${folder}cause.txt"): wrong ${wrong}" \
    "($(tail -n 1 "logs/${name}.repro.run")), right ${right}" \
    "($(tail -n 1 "logs/${name}.right.run"))"
  if [[ "${verdict}" == BAD ]]; then
    head -n 3 "logs/${name}.repro.run" "logs/${name}.right.run"
  fi
done
echo "${good} as they have to, ${bad} not"
exit $((bad > 0))
