#!/bin/bash
# A state on a network file system, seen by two clients that cache what they saw:
# shards on each, one of them killed and its mount lost, one run twice at once, and
# a merge on either give the bytes of one process on a local disk. The file system
# is sshfs over sftp-server's pipe: no hard links, no locks, listings and attributes
# that are seconds old.
set -euo pipefail
mlafuzz="${PWD}/$1"

folder="$(mktemp -d)"
export TMPDIR="${folder}" BUILD_WORKING_DIRECTORY="${folder}"
unset TEST_SHARD_INDEX TEST_TOTAL_SHARDS
finish() {
  local code=$? client
  for client in a b; do
    fusermount3 -u -z "${folder}/${client}" 2> /dev/null || true
  done
  if (( code != 0 )); then tail -n 20 "${folder}"/*.log || true; fi
  rm -rf "${folder}"
  exit "${code}"
}
trap finish EXIT
fail() {
  echo "FAILED: $*"
  exit 1
}
skip() {
  echo "SKIPPED: $*"
  cat > "${XML_OUTPUT_FILE:-/dev/null}" << EOF
<testsuites><testsuite name="network_test" tests="1" skipped="1">
<testcase name="network_test"><skipped message="$*"/></testcase>
</testsuite></testsuites>
EOF
  exit 0
}

server=/usr/lib/openssh/sftp-server
command -v sshfs > /dev/null || skip "no sshfs"
command -v fusermount3 > /dev/null || skip "no fusermount3 (fuse3)"
[[ -x "${server}" ]] || skip "no ${server} (openssh-sftp-server)"
printf '#!/bin/sh\nexec %s\n' "${server}" > "${folder}/ssh"
chmod +x "${folder}/ssh"
mkdir "${folder}"/{export,a,b}
# The cache of listings is the clients' own: nobody tells one of the other.
cached=5
client() {
  sshfs -o "ssh_command=${folder}/ssh,disable_hardlink" \
    -o "dcache_timeout=${cached},dcache_stat_timeout=${cached}" \
    -o "dcache_dir_timeout=${cached},attr_timeout=1,entry_timeout=1" \
    "server:${folder}/export" "${folder}/$1"
}
why="$( { client a && client b; } 2>&1)" || skip "cannot mount: ${why}"

# That this is what it is meant to be: a listing of b's is old.
touch "${folder}/a/first"
ls "${folder}/b" > "${folder}/listing"
touch "${folder}/a/second"
ls "${folder}/b" > "${folder}/listing"
if grep -q second "${folder}/listing"; then fail "b sees what a did at once"; fi
[[ -e "${folder}/b/second" ]] || fail "b does not see what it opens by name"
if ln "${folder}/a/first" "${folder}/a/link" 2> /dev/null; then
  fail "this file system has hard links"
fi
rm "${folder}/a/first" "${folder}/a/second"

units=6 cases=200
flags=(--target=mutant:nope-stale-tail --flavour=plain "--units=${units}" "--cases=${cases}")
unit() {  # unit STATE SHARD
  "${mlafuzz}" unit "--state=$1" "${flags[@]}" "--shard=$2" --shards=3
}
same() {
  diff -r --exclude=shards --exclude='.*' "${folder}/straight" "${folder}/export/state" \
    || fail "the states differ"
}

"${mlafuzz}" corpus import "--state=${folder}/straight" > "${folder}/straight.log"
"${mlafuzz}" unit "--state=${folder}/straight" "${flags[@]}" >> "${folder}/straight.log" \
  || [[ $? == 1 ]]
"${mlafuzz}" merge "--state=${folder}/straight" "--units=${units}" "--cases=${cases}" \
  >> "${folder}/straight.log"

"${mlafuzz}" corpus import "--state=${folder}/a/state" > "${folder}/import.log"
# Until b's listing is no older than that.
sleep "$(( cached + 1 ))"
(unit "${folder}/a/state" 0 > "${folder}/a0.log" 2>&1) & a0=$!
"${mlafuzz}" unit "--state=${folder}/b/state" "${flags[@]}" --shard=1 --shards=3 \
  > "${folder}/b1.log" 2>&1 & b1=$!
(unit "${folder}/b/state" 2 > "${folder}/b2.log" 2>&1) & b2=$!
(unit "${folder}/a/state" 2 > "${folder}/a2.log" 2>&1) & a2=$!
# Killed with one unit done, and not with all.
while ! grep -q 'unit of seed' "${folder}/b1.log" && kill -0 "${b1}"; do
  sleep 0.01
done
kill -9 "${b1}" 2> /dev/null || echo "note: it was over before it was killed"
wait "${b1}" || true
for task in "${a0}" "${b2}" "${a2}"; do
  wait "${task}" || [[ $? == 1 ]] || fail "a shard did not run"
done
# A merge before the lost one is run again says what is missing, if it is.
code=0
"${mlafuzz}" merge "--state=${folder}/a/state" "--units=${units}" "--cases=${cases}" \
  > "${folder}/early.log" 2>&1 || code=$?
(( code == 0 || code == 2 )) || fail "a merge of two shards: exit ${code}"
if (( code == 2 )); then
  grep -q 'units are not done\|has no shards' "${folder}/early.log" \
    || fail "a merge of two shards does not say what is missing"
fi
# b's client is lost as well, with what it had not written; it comes back.
fusermount3 -u -z "${folder}/b"
client b
unit "${folder}/b/state" 1 > "${folder}/b1.log" 2>&1 || [[ $? == 1 ]] \
  || fail "the lost shard does not run again"
# At once: whoever merges sees all, or says what is missing and is run again.
merges=0
until "${mlafuzz}" merge "--state=${folder}/a/state" "--units=${units}" "--cases=${cases}" \
    > "${folder}/merge.log" 2>&1; do
  grep -q 'units are not done' "${folder}/merge.log" || fail "the merge failed"
  (( ++merges <= cached + 2 )) || fail "the merge does not see all units"
  sleep 1
done
same
sleep "$(( cached + 1 ))"
"${mlafuzz}" merge "--state=${folder}/b/state" "--units=${units}" "--cases=${cases}" \
  > "${folder}/merge.log" 2>&1 || fail "a second merge, on b"
grep -q ' 0 objects added' "${folder}/merge.log" || fail "a second merge adds objects"
same
left="$(find "${folder}/export" -name '.*' -type f | wc -l)"
echo "two clients: ${units} units of three shards, one killed, one run twice;" \
  "${merges} merges came too early, ${left} temporary files of the killed one left"
