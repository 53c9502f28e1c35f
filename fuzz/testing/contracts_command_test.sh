#!/bin/bash
# `mlafuzz contracts` as a user calls it, and its matrix over kernels that run.
set -uo pipefail
mlafuzz="${PWD}/$1"
export BUILD_WORKING_DIRECTORY="${TEST_TMPDIR}"
failed=0

# expect CODE PATTERN ARGS...: exit code and an extended regular expression that
# a line of stdout and stderr together must match.
expect() {
  local code="$1" pattern="$2" got output
  shift 2
  output="$("${mlafuzz}" contracts "$@" 2>&1)"
  got=$?
  if [[ "${got}" != "${code}" ]] || ! grep -Eq -- "${pattern}" <<< "${output}"
  then
    printf 'FAILED: mlafuzz contracts %s\n  exit %s, wanted %s; wanted /%s/\n%s\n' \
      "$*" "${got}" "${code}" "${pattern}" "${output}"
    failed=1
  fi
}

expect 0 'readers not computed: no oracle for a reader of the indexer'
expect 0 'workspace576 .*: what a gather leaves is read by dense attention'
expect 0 'layout  footer584, "fp8_ds_mla"' dsv4-main-extra

# Decodes of other layouts run, with a second cache where they have one.
matrix() { expect "$1" "$2" --matrix "--targets=$3"; }
right='builtin:dsv4,builtin:flashmla-dsv4,builtin:dsv4-scale-ends'
matrix 0 'in all 4 agree, 0 disagree, .* 0 not computed' "${right}"
matrix 0 'builtin:flashmla-dsv4 .*agree: .*; observed in 64 cases' "${right}"
matrix 0 'in all 3 agree, 0 disagree, .* 0 not computed' \
  builtin:nope-row,builtin:glm53-nope
matrix 1 'disagree, decode.extra: not as declared' \
  builtin:dsv4,mutant:dsv4-decode-extra-dropped
matrix 1 'disagree, decode.extra_length: not as declared' \
  builtin:dsv4,mutant:dsv4-decode-extra-length-ignored
matrix 1 'disagree, decode.length: not as declared' \
  builtin:dsv4,mutant:dsv4-decode-length-ignored
matrix 1 'disagree, decode.rope_values: not as declared' \
  builtin:dsv4,mutant:dsv4-decode-values-without-rope

# Of cells that are all refused nothing is said.
matrix 3 'nothing was run: each cell is refused' builtin:triton,builtin:dsv4-byte-gather

exit "${failed}"
