#!/bin/bash
# The program's lines of JSON, and what it says of wrong arguments.
set -u
run="$1"
failed=0
fail() { echo "FAILED: $*" >&2; failed=1; }

# expect_wrong PART ARGUMENT...: exit 2, nothing on stdout, one line on stderr
# that has PART.
expect_wrong() {
  local part="$1"; shift
  local out err code
  out="$("${run}" "$@" 2> "${TEST_TMPDIR}/err")"; code=$?
  err="$(< "${TEST_TMPDIR}/err")"
  [[ ${code} == 2 ]] || fail "$*: exit ${code}"
  [[ -z ${out} ]] || fail "$*: printed ${out}"
  [[ $(wc -l < "${TEST_TMPDIR}/err") == 1 ]] || fail "$*: said ${err}"
  [[ ${err} == *"${part}"* ]] || fail "$*: said ${err}"
}

expect_wrong 'there are: all, vllm_writer_test' --baseline=vllm --target=builtin
expect_wrong 'did you mean "mutant:does-nothing"' --baseline=all \
  --target=mutant:does-nothin
expect_wrong 'on the host' --baseline=all --target=cuda:builtin
expect_wrong '--seed is "x"' --baseline=all --target=builtin --seed=x
expect_wrong 'unknown argument "--sed=1"' --baseline=all --sed=1
expect_wrong 'no --baseline' --target=builtin
expect_wrong 'no --target' --baseline=all
expect_wrong 'no other argument' --list --target=builtin

"${run}" --list > "${TEST_TMPDIR}/list" || fail "--list: exit $?"
python3 - "${TEST_TMPDIR}/list" <<'PY' || fail "--list"
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
assert len(lines) == 7, lines
for line in lines:
    assert line["baseline"] and line["source"] and line["tolerance"], line
    assert set(line["kernels"]) <= {"writer", "gather", "convert", "decode"}
    assert line["kernels"] and line["cases"] > 0, line
    assert isinstance(line["reduced"], bool), line
PY

"${run}" --baseline=all --target=mutant:does-nothing --seed=3 \
  > "${TEST_TMPDIR}/all" || fail "all: exit $?"
for id in vllm_writer_test vllm_gather_test; do
  "${run}" "--baseline=${id}" --target=mutant:payload-fallthrough \
    >> "${TEST_TMPDIR}/one" || fail "${id}: exit $?"
done
python3 - "${TEST_TMPDIR}/all" "${TEST_TMPDIR}/one" <<'PY' || fail "runs"
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
assert len({line["baseline"] for line in lines}) == 7, lines
for line in lines:
    assert line["target"] == "mutant:does-nothing" and line["seed"] == 3, line
    assert line["flagged"] and line["why"] and line["cases"] == 1, line
    assert 0 < line["cpu_seconds"] < 30 and "applicable" not in line, line
writer, gather = [json.loads(line) for line in open(sys.argv[2])]
assert writer["flagged"] and "codes[" in writer["why"], writer
assert writer["seed"] == 1, writer
assert gather["applicable"] is False and not gather["flagged"], gather
assert gather["cases"] == 0 and gather["cpu_seconds"] == 0, gather
PY
exit "${failed}"
