#!/bin/bash
# Whether reproducers of wrong kernels do what they say, on a GPU:
#
#     bazel run //fuzz/testing:reproducers -- FOLDER [MOST]
#
# writes and builds them, with nvcc alone, for GPUs from sm_90 on, and leaves
# FOLDER/run.sh. That needs nothing but the folder and a GPU: a wrong kernel's
# has to exit with 1 in each of three runs in an empty folder, the same call of
# the right kernel with 0.
set -uo pipefail
writer="${PWD}/$1"
folder="${2:?usage: reproducers FOLDER [MOST]}"
[[ "${folder}" == /* ]] || folder="${BUILD_WORKING_DIRECTORY:-${PWD}}/${folder}"
nvcc="$(PATH="${PATH}:/usr/local/cuda/bin" command -v nvcc)" || {
  echo 'reproducers: there is no nvcc' >&2; exit 2; }
mkdir -p "${folder}/src" "${folder}/bin" || exit 2
"${writer}" "${folder}/src" "${3:-40}" || exit 2
build() {
  local name out="$1/bin" nvcc="$2" source="$3" kind empty
  name="$(basename "$(dirname "${source}")")"
  kind="$(basename "${source}" .cu)"
  # What is built already stays, so that a cut run goes on.
  [[ -x "${out}/${name}.${kind}" ]] && exit 0
  empty="$(mktemp -d)"
  cp "${source}" "${empty}/"
  if ! (cd "${empty}" && env -i PATH="${PATH}" "${nvcc}" -std=c++20 \
      -cudart static -Xlinker -s \
      -gencode arch=compute_90,code=sm_90 \
      -gencode arch=compute_90,code=compute_90 \
      "${kind}.cu" -o out > log 2>&1); then
    echo "${name}.${kind}: NOT BUILT: $(head -n 1 "${empty}/log")"
    rm -rf "${empty}"; exit 0
  fi
  mv "${empty}/out" "${out}/${name}.${kind}"
  rm -rf "${empty}"
}
export -f build
find "${folder}/src" -name '*.cu' -print0 | sort -z |
  xargs -0 -P "${JOBS:-$(nproc)}" -I{} bash -c 'build "$0" "$1" "$2"' "${folder}" "${nvcc}" {} |
  tee "${folder}/build.log"
for cause in "${folder}"/src/*/cause.txt; do
  echo "$(basename "$(dirname "${cause}")") $(cat "${cause}")"
done > "${folder}/causes.txt"
cat > "${folder}/run.sh" <<'RUN'
#!/bin/bash
# A line a wrong kernel: its cause, then what its reproducer and the right
# kernel's exited with in three runs each. Exit code 0: all as they have to.
cd "$(dirname "$0")" || exit 2
bad=0 good=0
while read -r name cause; do
  wrong='' right=''
  for _ in 1 2 3; do
    for kind in repro right; do
      empty="$(mktemp -d)"
      (cd "${empty}" && env -i "${OLDPWD}/bin/${name}.${kind}") \
        > "${name}.${kind}.log" 2>&1
      code=$?
      rmdir "${empty}"
      [[ "${kind}" == repro ]] && wrong+="${code}" || right+="${code}"
    done
  done
  if [[ "${wrong}" == 111 && "${right}" == 000 ]]; then
    verdict=ok good=$((good + 1))
  else
    verdict=BAD bad=$((bad + 1))
  fi
  echo "${verdict} ${name}: ${cause}: wrong ${wrong}, right ${right}"
  [[ "${verdict}" == BAD ]] && { head -n 3 "${name}.repro.log"; head -n 3 "${name}.right.log"; }
done < causes.txt
echo "${good} as they have to, ${bad} not"
exit $((bad > 0))
RUN
chmod +x "${folder}/run.sh"
echo "$(ls "${folder}/bin" | wc -l) programs, $(du -sh "${folder}/bin" | cut -f 1); run ${folder}/run.sh where there is a GPU"
! grep -q 'NOT BUILT' "${folder}/build.log"
