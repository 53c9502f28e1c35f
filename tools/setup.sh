#!/bin/bash
# Installs what mlafuzz needs from Debian's or Ubuntu's packages, and nothing
# else: Bazel, clang 19, and the libraries. Idempotent, asks nothing.
#
#   tools/setup.sh          build, test, fuzz
#   tools/setup.sh --lint   also clang-format and clang-tidy
#
# The CUDA Toolkit is optional and not installed here: where nvcc is found
# (CUDA_HOME, /usr/local/cuda, PATH), CUDA objects are built too.
set -euo pipefail

packages=(
  bazel-bootstrap     # Bazel 4, works without the network
  clang-19 lld-19     # compiler and linker
  libclang-rt-19-dev  # sanitizers, libFuzzer, coverage runtime
  llvm-19             # symbolizer, llvm-cov, llvm-profdata
  libabsl-dev
  libbenchmark-dev
  libboost-context-dev
  libdlpack-dev
  libgmock-dev libgtest-dev
  libprotobuf-dev protobuf-compiler
  librapidcheck-dev
  libxxhash-dev
  nlohmann-json3-dev
  python3 python3-numpy  # Python modules under test
  file zip            # Bazel packs what failing tests leave behind
  git                 # campaign --changed-since
  python3-yaml shellcheck  # the check of workflows
)

fail() {
  echo "setup.sh: $*" >&2
  exit 1
}

case "${1:-}" in
  "") ;;
  --lint) packages+=(clang-format-19 clang-tidy-19) ;;
  *) fail "unknown option $1; there is only --lint" ;;
esac

missing=()
for package in "${packages[@]}"; do
  status="$(dpkg-query -W -f='${db:Status-Status}' "${package}" 2> /dev/null || true)"
  [[ "${status}" == installed ]] || missing+=("${package}")
done
if (( ${#missing[@]} == 0 )); then
  echo "setup.sh: all ${#packages[@]} packages are installed"
  exit 0
fi

command -v apt-get > /dev/null \
  || fail "no apt-get here; install by other means: ${missing[*]}"
as_root=()
if (( EUID != 0 )); then
  command -v sudo > /dev/null \
    || fail "not root and no sudo; as root, run: apt-get install ${missing[*]}"
  sudo -n true 2> /dev/null \
    || fail "sudo asks for a password; run it yourself: sudo apt-get install ${missing[*]}"
  as_root=(sudo -n)
fi

echo "setup.sh: installing ${missing[*]}"
install() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" > /dev/null
}
"${as_root[@]}" apt-get update -qq \
  || fail "apt-get update failed; is the package mirror reachable?"
install \
  || fail "apt-get could not install: ${missing[*]} (needs Debian 12 or later, or Ubuntu 24.10 or later)"
echo "setup.sh: done"
