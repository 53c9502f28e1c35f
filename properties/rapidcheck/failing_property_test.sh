#!/bin/bash
# A wrong kernel makes a property fail; what it prints is the minimal case as
# text and a string that leads to the same failure again.
set -u
tests="$TEST_SRCDIR/$TEST_WORKSPACE/properties/rapidcheck"
fail() { echo "FAIL: $*"; cat "$TEST_TMPDIR"/*.log; exit 1; }

export RC_PARAMS="seed=1"
unset XML_OUTPUT_FILE

# Right kernels pass.
"$tests/nope_tail_property_test" --gtest_filter='NopeTail.IsZeroInTheRow' \
  > "$TEST_TMPDIR/right.log" 2>&1 || fail "builtin fails"

# The writer that leaves the tail stale does not.
export MLAFUZZ_TARGET=mutant:nope-stale-tail
"$tests/nope_tail_property_test" --gtest_filter='NopeTail.IsZeroInTheRow' \
  > "$TEST_TMPDIR/wrong.log" 2>&1 && fail "the wrong twin passes"
grep -q 'steps {' "$TEST_TMPDIR/wrong.log" || fail "no case is printed"
grep -q 'pages: 1$' "$TEST_TMPDIR/wrong.log" || fail "the case is not minimal"
reproduce="$(grep -o 'reproduce=[A-Za-z0-9_-]*' "$TEST_TMPDIR/wrong.log" | head -1)"
[ -n "$reproduce" ] || fail "no reproduce string is printed"

RC_PARAMS="$reproduce" \
  "$tests/nope_tail_property_test" --gtest_filter='NopeTail.IsZeroInTheRow' \
  > "$TEST_TMPDIR/again.log" 2>&1 && fail "$reproduce does not reproduce"
case_of() { sed -n '/^pool {/,/^}/p;/^steps {/,/^}/p' "$1" | sort; }
[ "$(case_of "$TEST_TMPDIR/wrong.log")" = "$(case_of "$TEST_TMPDIR/again.log")" ] ||
  fail "another case comes back"

# So does a program of calls.
MLAFUZZ_TARGET=mutant:payload-fallthrough \
  "$tests/pool_program_property_test" > "$TEST_TMPDIR/program.log" 2>&1 &&
  fail "the program does not see wrong codes"
grep -q 'write slots' "$TEST_TMPDIR/program.log" || fail "no program is printed"
grep -q 'reproduce=' "$TEST_TMPDIR/program.log" ||
  fail "no reproduce string for a program"
echo PASS
