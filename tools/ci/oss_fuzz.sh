#!/bin/bash
# The OSS-Fuzz style build of two targets, and that they start where the repository
# is not. With the objects that the tests were built from: what the containers'
# flags would compile again is not what this checks.
set -euo pipefail
cd "$(dirname "$0")/../.."
out="$(mktemp -d)"
trap 'rm -rf "${out}"' EXIT
OUT="${out}" LIB_FUZZING_ENGINE=-fsanitize=fuzzer \
  CC=/usr/lib/llvm-19/bin/clang CXX=/usr/lib/llvm-19/bin/clang++ \
  CXXFLAGS=-stdlib=libc++ TARGETS="gather_fuzzer dsv4_fuzzer" \
  BAZEL_FLAGS="--platform_suffix= ${BAZEL_FLAGS---config=ci}" \
  tools/ossfuzz/build.sh
tools/ossfuzz/try.sh "${out}"
