#!/bin/bash
# The examples in Python as a user has them: attached and judged, and a wrong
# twin of each. What a Python has no package for is skipped, with its words.
set -uo pipefail

mlafuzz="$PWD/$1"
work="${TEST_TMPDIR:-$(mktemp -d)}"
here="$PWD/examples/python"
failures=0

# The one that tools/setup.sh installs numpy for. For torch and Triton, a venv:
# --test_env=MLAFUZZ_PYTHON=PATH.
numpy_python=/usr/bin/python3
torch_python="${MLAFUZZ_PYTHON:-${numpy_python}}"
[[ -d "${torch_python}" ]] && torch_python+=/bin/python3
standins="$PWD/kernels/python/testing/standins"

# One case in the XML that Bazel would write if we did not.
cases=""
record() {  # record NAME [skipped|failure REASON]
  local inner=""
  if [[ $# -gt 1 ]]; then
    inner="<$2 message=\"$(sed 's/&/\&amp;/g; s/</\&lt;/g; s/"/\&quot;/g' <<< "$3")\"/>"
    echo "$1: $2: $3"
    [[ "$2" == failure ]] && failures=$((failures + 1))
  else
    echo "$1: ok"
  fi
  cases+="<testcase name=\"$1\" classname=\"attach_python_test\">${inner}</testcase>"
}
finish() {
  if [[ -n "${XML_OUTPUT_FILE:-}" ]]; then
    echo "<testsuites><testsuite name=\"attach_python_test\">${cases}</testsuite></testsuites>" \
      > "${XML_OUTPUT_FILE}"
  fi
  exit $(( failures > 0 ))
}

expect() {  # expect NAME EXIT PATTERN ARGS...
  local name="$1" exit="$2" pattern="$3"
  shift 3
  "${mlafuzz}" "$@" > "${work}/out" 2>&1
  local got=$?
  if [[ "${got}" != "${exit}" ]]; then
    cat "${work}/out"
    record "${name}" failure "exit ${got}, expected ${exit}"
  elif ! grep -q -- "${pattern}" "${work}/out"; then
    cat "${work}/out"
    record "${name}" failure "no \"${pattern}\" in its output"
  else
    record "${name}"
  fi
}

# expect, where the interpreter has the packages; else a skip that says what is
# missing.
expect_with() {  # expect_with "PACKAGE ..." NAME EXIT PATTERN ARGS...
  local package why
  for package in $1; do
    if ! why="$("${torch_python}" -c "import ${package}" 2>&1)"; then
      record "$2" skipped "${torch_python}: $(tail -n 1 <<< "${why}")"
      return
    fi
  done
  shift
  expect "$@" --python="${torch_python}" --call-timeout=30s --memory-limit=8192
}

empty="${work}/empty"
mkdir -p "${empty}"
campaign=(campaign --corpus="${empty}" --jobs=1 --seed=7 --out="${work}/o")
module="python:${here}"
numpy=(--python="${numpy_python}")

# ---- numpy: never skipped

expect "check" 0 "numpy over shared memory, bfloat16 as uint16" targets \
  --check "${module}/numpy_writer.py" "${numpy[@]}"
expect "numpy writer is right" 0 "nothing found" "${campaign[@]}" "${numpy[@]}" \
  --target="${module}/numpy_writer.py" --cases=1500
if grep -q "^tensors: numpy over shared memory" "${work}/o/report.txt"; then
  record "the report says how tensors came"
else
  record "the report says how tensors came" failure "$(cat "${work}/o/report.txt")"
fi
expect "stale tail is found" 1 "writer.tail" "${campaign[@]}" "${numpy[@]}" \
  --target="${module}/numpy_writer_twin.py" --cases=1500 --stop-on-first
expect "numpy readers are right" 0 "nothing found" "${campaign[@]}" \
  "${numpy[@]}" --target="${module}/numpy_readers.py" --cases=1500
for twin in "StaleTail gather.nope_tail" "OneColumnMore convert.table_columns" \
    "NaturalLse decode.lse_base"; do
  expect "${twin% *} is found" 1 "${twin#* }" "${campaign[@]}" "${numpy[@]}" \
    --target="${module}/numpy_readers.py:${twin% *}" --cases=1500 \
    --stop-on-first
done
expect "a writer and a decode in numpy read each other" 0 "disagree 0\|0 disagree" \
  contracts --matrix "${numpy[@]}" \
  --targets="${module}/numpy_writer.py,${module}/numpy_readers.py,builtin"

# ---- replay, and diff between Python and C++

library="${work}/libwriter.so"
cp examples/libwriter.so "${library}"
expect "diff of Python and C++ that are the same" 0 "" diff "${numpy[@]}" \
  --a="${module}/numpy_writer.py" --b="lib:${library}" --cases=600 \
  --corpus="${empty}" --out="${work}/d"
expect "diff of Python and C++ that differ" 1 "differ" diff "${numpy[@]}" \
  --a="lib:${library}" --b="${module}/numpy_writer_twin.py" --time=8s \
  --corpus="${empty}" --out="${work}/d"
cat > "${work}/case.txtpb" <<'TEXT'
pool { page_size: 1 pages: 1 fill { byte: 1 } }
steps { write { slots { values: [0] } } }
TEXT
expect "replay" 1 "writer.tail" replay "${work}/case.txtpb" "${numpy[@]}" \
  --target="${module}/numpy_writer_twin.py"

# ---- what cannot be attached

mine="${work}/mine"
mkdir -p "${mine}"
echo 'import nobody_has_this' > "${mine}/needs.py"
echo 'description = "contract { wrter {} }"
def write(**_): pass' > "${mine}/typo.py"
echo 'def write(**_): raise ValueError("no rows for you")' > "${mine}/raises.py"
expect "no such file" 2 "no such file" targets --check "python:${mine}/x.py" \
  "${numpy[@]}"
expect "no such module" 2 "finds no module nowhere_to_be" targets \
  --check python:nowhere_to_be "${numpy[@]}"
expect "a package is missing" 2 "needs nobody_has_this" targets \
  --check "python:${mine}/needs.py" "${numpy[@]}"
expect "an unknown field" 2 "wrter" targets --check "python:${mine}/typo.py" \
  "${numpy[@]}"
mkdir -p "${mine}/venv/bin"
ln -s "${numpy_python}" "${mine}/venv/bin/python3"
(cd "${mine}" && "${mlafuzz}" targets --check "${module}/numpy_writer.py" \
  --python=venv > "${work}/out" 2>&1) && record "a venv by its name" \
  || record "a venv by its name" failure "$(cat "${work}/out")"
expect "no such interpreter" 2 "/nowhere/python is no program" targets \
  --check "${module}/numpy_writer.py" --python=/nowhere/python
expect "no venv" 2 "no venv" targets --check "${module}/numpy_writer.py" \
  --python="${mine}"
expect "an exception is quoted" 1 "ValueError: no rows for you; at raises.py:1" \
  "${campaign[@]}" --target="python:${mine}/raises.py" "${numpy[@]}" \
  --cases=100 --stop-on-first

# ---- torch, Triton

expect_with "numpy torch" "torch writer and decode are right" 0 "nothing found" \
  "${campaign[@]}" --target="${module}/torch_kernels.py" --cases=400
expect_with "numpy torch" "codes rounded toward zero are found" 1 \
  "writer.code_rounding" "${campaign[@]}" --kernels=writer \
  --target="${module}/torch_kernels_twin.py" --cases=1000 --stop-on-first
expect_with "numpy torch" "dropped sinks are found" 1 "decode.sink" \
  "${campaign[@]}" --kernels=decode \
  --target="${module}/torch_kernels_twin.py" --cases=1000 --stop-on-first
expect_with "numpy torch triton" "Triton writer is right" 0 "nothing found" \
  "${campaign[@]}" --target="${module}/triton_writer.py" --cases=100
expect_with "numpy torch triton" "a floor of 1e-4 is found" 1 \
  "writer.floor" "${campaign[@]}" \
  --target="${module}/triton_writer_twin.py" --cases=100 --stop-on-first

# ---- adapters, against modules that stand in for the packages

expect "an adapter without its package" 2 "needed is vLLM 0.11 or later" targets \
  --check python:mlafuzz.adapters.vllm_writer "${numpy[@]}"
export PYTHONPATH="${standins}"
for adapter in vllm_writer vllm_gather vllm_convert flashinfer_decode:Pow2 \
    flashinfer_decode:Arbitrary flashmla_decode; do
  expect_with "numpy torch" "adapter ${adapter}, stand-in" 0 "nothing found" \
    "${campaign[@]}" --target="python:mlafuzz.adapters.${adapter}" --cases=150
done
export MLAFUZZ_STANDIN_POW2=1
expect_with "numpy torch" "adapter vllm_writer:Pow2, stand-in" 0 "nothing found" \
  "${campaign[@]}" --target=python:mlafuzz.adapters.vllm_writer:Pow2 --cases=150
# The declaration of one generation on the kernel of the other.
expect_with "numpy torch" "the other generation is found" 1 "writer.scale" \
  "${campaign[@]}" --target=python:mlafuzz.adapters.vllm_writer --cases=400
finish
