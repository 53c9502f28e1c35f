#!/bin/bash
# What build.sh left in $1 works where the repository is not: each target starts in
# an empty folder with nothing of it in sight, on its own seed corpus, with its
# dictionary and options, as ClusterFuzz starts it.
#
#   tools/ossfuzz/try.sh OUT [RUNS]
set -euo pipefail
fail() {
  echo "FAILED: $*"
  exit 1
}
[[ -d "${1:-}" ]] || fail "try.sh needs the folder that build.sh filled"
out="$(cd "$1" && pwd)"
runs="${2:-1000}"
folder="$(mktemp -d)"
trap 'rm -rf "${folder}"' EXIT
tried=0
for target in "${out}"/*_fuzzer; do
  name="$(basename "${target}")"
  [[ -x "${target}" ]] || fail "no target in ${out}"
  work="${folder}/${name}"
  mkdir -p "${work}/corpus"
  cp "${target}" "${out}/${name}_seed_corpus.zip" "${out}/${name}.dict" \
    "${out}/${name}.options" "${work}" || fail "${name} is not whole"
  (cd "${work}/corpus" && python3 -m zipfile -e "../${name}_seed_corpus.zip" .)
  seeds="$(find "${work}/corpus" -type f | wc -l)"
  (( seeds > 0 )) || fail "${name} has no seeds"
  # As ClusterFuzz reads [libfuzzer].
  mapfile -t options < <(sed -n 's/^\([a-z_]*\) *= *\(.*\)/-\1=\2/p' "${work}/${name}.options")
  missing="$(ldd "${work}/${name}" | grep -v 'linux-vdso\|ld-linux\|libc\.so\|libm\.so\|libdl\|libpthread\|librt\|libgcc_s\|libresolv' || true)"
  [[ -z "${missing}" ]] || fail "${name} needs more than glibc: ${missing}"
  (cd "${work}" && env -i HOME="${work}" PATH=/usr/bin:/bin "./${name}" \
    "-dict=${name}.dict" "${options[@]}" "-runs=${runs}" -seed=1 corpus \
    > log 2>&1) || { tail -n 20 "${work}/log"; fail "${name} does not run"; }
  grep -q "Done ${runs} runs\|^Done [0-9]* runs" "${work}/log" \
    || { tail -n 5 "${work}/log"; fail "${name} did not run to its end"; }
  echo "${name}: ${seeds} seeds, $(grep -o '^Done .*' "${work}/log")"
  tried=$(( tried + 1 ))
done
echo "${tried} targets start without the repository"
