#!/bin/bash
# Builds the host fuzz targets as OSS-Fuzz and ClusterFuzzLite expect them, into
# $OUT: NAME, NAME_seed_corpus.zip, NAME.dict and NAME.options.
#
#   OUT, LIB_FUZZING_ENGINE         as OSS-Fuzz sets them; both are needed
#   CC, CXX, CFLAGS, CXXFLAGS       likewise; without CC the compiler of CXX
#   TARGETS                         names, "gather_fuzzer writer_fuzzer"; all
#   BAZEL                           (bazel); BAZEL_FLAGS, more flags of its build
#
# The libraries that the targets need (Abseil, protobuf, Boost.Context) are the
# system's, built for libstdc++. So `-stdlib=libc++` of CXXFLAGS is left out, which
# is said, and libstdc++ is linked in; the engine must not need libc++ (clang's own
# -fsanitize=fuzzer and libFuzzingEngine.a carry theirs). MemorySanitizer needs all
# libraries instrumented: refused.
set -euo pipefail

fail() {
  echo "ossfuzz/build.sh: $*" >&2
  exit 2
}
: "${LIB_FUZZING_ENGINE:?ossfuzz/build.sh: needs LIB_FUZZING_ENGINE, -fsanitize=fuzzer say}"
: "${OUT:?ossfuzz/build.sh: needs OUT, the folder for what is built}"
[[ -d "${OUT}" && -w "${OUT}" ]] || fail "OUT=${OUT} is no folder that can be written"
OUT="$(cd "${OUT}" && pwd)"
cd "$(dirname "$0")/../.."

flags=(--config=oss-fuzz)
compiler="${CC:-${CXX:-}}"
if [[ -n "${compiler}" ]]; then
  path="$(command -v "${compiler%% *}")" || fail "there is no compiler ${compiler}"
  # Bazel takes one driver for all; that of C++ has one of C beside it.
  [[ ! -x "${path%++}" ]] || path="${path%++}"
  flags+=("--repo_env=CC=${path}")
fi
add() {  # add OPTION WORDS...: compiler flags, which the linker's driver gets too
  local option="$1" flag
  shift
  for flag in "$@"; do
    case "${flag}" in
      -stdlib=libc++)
        echo "ossfuzz/build.sh: note: left out ${flag}: Abseil and protobuf" \
          "are the system's, built for libstdc++" >&2 ;;
      *sanitize=*memory*)
        fail "MemorySanitizer needs Abseil and protobuf instrumented; use" \
          "address or undefined" ;;
      *) flags+=("${option}=${flag}" "--linkopt=${flag}") ;;
    esac
  done
}
read -ra c_flags <<< "${CFLAGS:-}"
read -ra cxx_flags <<< "${CXXFLAGS:-}"
add --conlyopt "${c_flags[@]}"
add --cxxopt "${cxx_flags[@]}"
# Nothing but glibc is asked of where they run (tools/dist/linkopts.bzl).
flags+=(--linkopt=-l:libstdc++.a --linkopt=-static-libgcc "--linkopt=-Wl,--as-needed")
# The engine's runtime brings a -lstdc++ of its own.
flags+=(--linkopt=-static-libstdc++)
read -ra more <<< "${BAZEL_FLAGS:-}"
flags+=("${more[@]}")

bazel="${BAZEL:-bazel}"
read -ra startup <<< "${BAZEL_STARTUP:-}"
targets=()
for name in ${TARGETS:-}; do
  [[ -e fuzz/targets/${name}.cc ]] || fail "there is no target ${name} in fuzz/targets"
  targets+=("//fuzz/targets:${name}_oss_fuzz")
done
if (( ${#targets[@]} == 0 )); then
  mapfile -t targets < <("${bazel}" "${startup[@]}" query --noshow_progress \
    'kind("_fuzz_oss_fuzz", //...)')
fi
(( ${#targets[@]} > 0 )) || fail "found no targets"
"${bazel}" "${startup[@]}" build "${flags[@]}" "${targets[@]}"
# (info warns that it ignores the Starlark flag; the path does not depend on it)
bin="$("${bazel}" "${startup[@]}" info "${flags[@]}" bazel-bin 2> /dev/null)"
for target in "${targets[@]}"; do
  path="${target#//}"
  tar --extract --no-same-owner --file="${bin}/${path/://}.tar" "--directory=${OUT}"
done
echo "${#targets[@]} targets in ${OUT}"
