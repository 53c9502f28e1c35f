#!/bin/bash
# Reproducers of wrong kernels of the ledger, to be built and run on a machine
# with a GPU:
#
#     bazel run //fuzz/testing:reproducers -- FOLDER [MOST]
#     FOLDER/run.sh
#
# The folder needs nothing but nvcc and a GPU.
set -uo pipefail
writer="${PWD}/$1"
run="${PWD}/$2"
folder="${3:?usage: reproducers FOLDER [MOST]}"
[[ "${folder}" == /* ]] || folder="${BUILD_WORKING_DIRECTORY:-${PWD}}/${folder}"
mkdir -p "${folder}/src" && "${writer}" "${folder}/src" "${4:-40}" &&
  cp "${run}" "${folder}/run.sh" && chmod +x "${folder}/run.sh" &&
  echo "${folder}/run.sh"
