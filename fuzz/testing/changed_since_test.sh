#!/bin/bash
# campaign --changed-since as a pull request has it, in a repository of its own:
# what was known is listed and does not count, what is new does.
set -uo pipefail
mlafuzz="${PWD}/$1"
export HOME="${TEST_TMPDIR}" GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@t
export GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@t
repository="${TEST_TMPDIR}/repository"
failed=0

if ! command -v git > /dev/null; then
  echo "SKIPPED: no git"
  cat > "${XML_OUTPUT_FILE:-/dev/null}" << END
<testsuites><testsuite name="changed_since_test" tests="1" skipped="1">
<testcase name="changed_since_test"><skipped message="no git"/></testcase>
</testsuite></testsuites>
END
  exit 0
fi

# expect CODE PATTERN FLAGS...: exit code of a short campaign and an extended
# regular expression of its output in one line. `said` keeps the output.
expect() {
  local code="$1" pattern="$2" got
  shift 2
  said="$("${mlafuzz}" campaign --flavour=plain --cases=400 --seed=1 \
    --out="${TEST_TMPDIR}/out" "$@" 2>&1)"
  got=$?
  if [[ "${got}" != "${code}" ]] || ! tr '\n' ' ' <<< "${said}" \
      | grep -Eq -- "${pattern}"; then
    printf 'FAILED: campaign %s\n  exit %s, wanted %s; wanted /%s/\n%s\n' \
      "$*" "${got}" "${code}" "${pattern}" "${said}"
    failed=1
  fi
}
refuse() {  # refuse PATTERN FLAGS...: one line, exit code 2
  expect 2 "$@"
  [[ "$(wc -l <<< "${said}")" == 1 ]] || { echo "FAILED: ${said}"; failed=1; }
}

# ---- main: a writer with a fault that is known, its case among the regressions
mkdir -p "${repository}/csrc" "${repository}/docs" "${repository}/regressions"
cd "${repository}" || exit 1
export BUILD_WORKING_DIRECTORY="${repository}"
known=(--target=builtin --writer=mutant:nope-stale-tail)
expect 1 'writer-tail-tail-unchanged: ' "${known[@]}" --kernels=writer,gather
cp "${TEST_TMPDIR}"/out/findings/*/minimal.txtpb regressions/tail.txtpb 2> /dev/null \
  || cp "${TEST_TMPDIR}"/out/findings/*/case.txtpb regressions/tail.txtpb
touch csrc/writer.cu csrc/convert.cu docs/words.md
git init -q -b main
git add -A
git commit -q -m main
git checkout -q -b change

# ---- usage
pr=(--changed-since=main)
refuse '"no-such" is no commit of this clone; fetch it' --changed-since=no-such
refuse '"--all" is no commit of this clone' --changed-since=--all
refuse 'base needs --changed-since=REV' --base=builtin
refuse 'stop-on-first would stop at a known cause' "${pr[@]}" --stop-on-first
refuse '--regressions: no-such is neither here nor at main' \
  "${pr[@]}" --regressions=no-such --kernels=writer
refuse '--regressions: / is not below' "${pr[@]}" --regressions=/ --kernels=writer
refuse 'unknown target nonsense|nonsense' "${pr[@]}" --base=nonsense
BUILD_WORKING_DIRECTORY=/ refuse '/ is in no work tree of Git' "${pr[@]}"


# ---- a regression that cannot be run does not pass
for junk in junk.txtpb $'q\n::error file=x::owned'; do
  echo junk > "regressions/${junk}"
  refuse '^mlafuzz: campaign: regressions: regressions/(junk.txtpb|q\\x0a::error file=x::owned): not a case' \
    "${pr[@]}" --kernels=writer
  rm "regressions/${junk}"
done
ln -s no-such regressions/linked.txtpb
refuse 'regressions/linked.txtpb: .*cannot open' "${pr[@]}" --kernels=writer
rm regressions/linked.txtpb

# ---- nothing changed: nothing is run, and that is said
expect 0 'changed since main .*: 0 files skipped: no change concerns writer; nothing was run' \
  "${pr[@]}" "${known[@]}" --target=mutant:nope-stale-tail

# ---- a change that cannot be told: all kernels; what was known does not count
echo "// changed" >> csrc/convert.cu
expect 0 'csrc/convert.cu: cannot be told, so writer(,convert)?.*note: there is no .mlafuzz-paths.*known: writer/writer.tail=TAIL_UNCHANGED \(regressions/tail.txtpb at main\).*known: writer-tail-tail-unchanged: .*nothing new found' \
  "${pr[@]}" "${known[@]}"
grep -q '"baselineState": "unchanged"' "${TEST_TMPDIR}/out/report.sarif" \
  || { echo "FAILED: SARIF does not say that it is known"; failed=1; }
grep -q '<skipped message="known before: regressions/tail.txtpb at main"' \
  "${TEST_TMPDIR}/out/junit.xml" || { echo "FAILED: junit.xml"; failed=1; }
grep -q '^nothing new found, 1 known before' "${TEST_TMPDIR}/out/report.txt" \
  || { echo "FAILED: report.txt"; failed=1; }

# ---- a second fault is new
both=("${known[@]}" --convert=mutant:index-zero-for-invalid)
expect 1 'known: writer-tail-tail-unchanged: ' "${pr[@]}" "${both[@]}"
grep -Eq '^convert-[^:]*: ' <<< "${said}" \
  || { echo "FAILED: the conversion's fault is not new: ${said}"; failed=1; }

# ---- with rules only what the change concerns is run
printf '%s\n' 'csrc/writer* writer' 'csrc/convert* convert' 'docs/** none' \
  '.mlafuzz-paths none' > .mlafuzz-paths
git checkout -q csrc/convert.cu
echo "// changed" >> csrc/writer.cu
expect 0 'csrc/writer.cu: writer .*kernels writer,.*nothing new found' \
  "${pr[@]}" "${both[@]}"
git checkout -q csrc/writer.cu
echo "words" >> docs/words.md
expect 0 'docs/words.md: none skipped: no change concerns writer,convert' \
  "${pr[@]}" "${both[@]}"
name=$'docs/q\n::error file=x::owned\x1b[31m\xff.md'
touch "${name}"
expect 0 'docs/q\\x0a::error file=x::owned\\x1b\[31m\\xff.md: none +docs/words.md: none' \
  "${pr[@]}" "${both[@]}"
rm "${name}"
expect 1 'kernels are those of --kernels.*known: writer-tail' \
  "${pr[@]}" "${both[@]}" --kernels=writer,convert
echo 'csrc/* writter' > bad-paths
refuse 'bad-paths: line 1: "writter" is no kernel' "${pr[@]}" --paths=bad-paths
refuse 'no-paths: cannot open' "${pr[@]}" --paths=no-paths
rm .mlafuzz-paths bad-paths

# ---- the target as it was decides, where there is one
expect 0 'known: writer-tail-tail-unchanged: .*\(fails on mutant:nope-stale-tail alike\)' \
  "${pr[@]}" "${known[@]}" --kernels=writer --base=mutant:nope-stale-tail
expect 1 'known: writer/writer.tail.* writer-tail-tail-unchanged: ' \
  "${pr[@]}" "${known[@]}" --kernels=writer --base=builtin

# ---- a case that only the change has is new when it fails
git rm -q --cached regressions/tail.txtpb
git commit -q -m "no regressions"
git branch -q -f main
expect 1 'writer-tail-tail-unchanged: ' "${pr[@]}" "${known[@]}" --kernels=writer
if grep -q '^known:' <<< "${said}"; then
  echo "FAILED: known from nowhere: ${said}"
  failed=1
fi

# ---- causes of a state's nights are known, of the same targets alone
state="${TEST_TMPDIR}/state"
"${mlafuzz}" corpus import --state="${state}" > /dev/null
"${mlafuzz}" unit --state="${state}" --units=1 --cases=300 --flavour=plain \
  --shard=0 --shards=1 --target=mutant:nope-stale-tail > /dev/null
"${mlafuzz}" merge --state="${state}" > /dev/null
expect 0 'known: writer-tail-tail-unchanged: .*\(.*/state\).*nothing new found' \
  "${pr[@]}" --target=mutant:nope-stale-tail --kernels=writer --state="${state}"
expect 1 'note: 1 causes in .*/state are of other targets' \
  "${pr[@]}" "${known[@]}" --kernels=writer --state="${state}"
exit "${failed}"
