#!/bin/bash
# The workflows of examples/ are right as far as tools/workflows/check.py tells,
# and check.py tells.
set -euo pipefail
mlafuzz="${PWD}/$1"

why=""
command -v shellcheck > /dev/null || why="no shellcheck"
python3 -c 'import yaml' 2> /dev/null || why="no PyYAML (python3-yaml)"
if [[ -n "${why}" ]]; then
  echo "SKIPPED: ${why}"
  cat > "${XML_OUTPUT_FILE:-/dev/null}" << END
<testsuites><testsuite name="workflows_test" tests="1" skipped="1">
<testcase name="workflows_test"><skipped message="${why}"/></testcase>
</testsuite></testsuites>
END
  exit 0
fi

python3 tools/workflows/check_test.py "${mlafuzz}"
python3 tools/workflows/check.py "--program=${mlafuzz}" examples/*.yml
# Slurm's and the other scripts of a fleet.
shellcheck -x tools/slurm/*.sh tools/ossfuzz/*.sh tools/soak.sh
# The config beside the workflow is one.
sed -e 's/backend: "cuda" //; s/lib:my_kernel.so/builtin/' \
  examples/fleet-nightly.txtpb > "${TEST_TMPDIR}/night.txtpb"
code=0
BUILD_WORKING_DIRECTORY="${TEST_TMPDIR}" "${mlafuzz}" nightly \
  --config=night.txtpb --since=0 > "${TEST_TMPDIR}/said" 2>&1 || code=$?
if [[ "${code}" != 2 ]] \
    || ! grep -q 'state: no such state' "${TEST_TMPDIR}/said"; then
  echo "FAILED: exit ${code}: $(cat "${TEST_TMPDIR}/said")"
  exit 1
fi
