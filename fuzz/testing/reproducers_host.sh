#!/bin/bash
# What findings of wrong kernels leave, tried on the host in empty folders with
# an environment that has a PATH and no more:
#
#     bazel run //fuzz/testing:reproducers_host -- [MOST]
#
# Up to MOST wrong kernels of the ledger, as many of each family as of the
# others: `mlafuzz replay` of the smallest case ends with 1 for the wrong kernel,
# says the cause in the words that the judge has for it, and with 0 for the right
# one. Then wrong libraries, each with a campaign that ends at its first finding
# (five_faults: at all five): repro.cc is built by c++ alone, says in its first
# lines the cause that the report names, ends three times with 1, prints what was
# expected and what it got, and three times with 0 for the right library; replay
# likewise. A line each. Exit code 0: all are so, and there were some of both.
#
# WRONG=RIGHT:CASES of what follows the tools: two libraries, and the cases that
# a campaign may take.
set -uo pipefail
writer="${PWD}/$1"
mlafuzz="${PWD}/$2"
shift 2
pairs=()
while [[ "${1:-}" == *=* ]]; do
  pairs+=("$1")
  shift
done
most="${1:-44}"
here="${PWD}"
work="$(mktemp -d)"
trap 'rm -rf "${work}"' EXIT
export BUILD_WORKING_DIRECTORY="${work}"
good=0 bad=0 replays=0 programs=0

clean() {
  local empty code
  empty="$(mktemp -d)"
  (cd "${empty}" && env -i PATH=/usr/bin:/bin HOME="${empty}" "$@") \
    > "${work}/log" 2>&1
  code=$?
  rm -rf "${empty}"
  return "${code}"
}
codes() {
  local all=''
  for _ in 1 2 3; do
    clean "$@"
    all+="$?"
  done
  echo "${all}"
}
# verdict WORDS GOT WANTED
verdict() {
  if [[ "$2" == "$3" ]]; then
    echo "ok $1: $2"
    good=$((good + 1))
  else
    echo "BAD $1: $2, not $3"
    sed 's/^/    /' "${work}/log" | cut -c 1-160 | tail -n 4
    bad=$((bad + 1))
  fi
}
# Of a replay that is red: whether it says a sentence, up to its first number
# (what follows is of the one case).
says() {
  local sentence="${1%%[0-9]*}"
  ((${#sentence} > 9)) || sentence="$1"
  grep -qF -- "${sentence}" "${work}/log" && echo said || echo "not said"
}

"${writer}" "${work}/src" "${most}" || exit 1
for folder in "${work}"/src/*/; do
  read -r wrong right < "${folder}targets.txt"
  clean "${mlafuzz}" replay "${folder}case.txtpb" "--target=${wrong}" \
    --flavour=plain
  red=$?
  words="$(says "$(head -n 1 "${folder}words.txt")")"
  clean "${mlafuzz}" replay "${folder}case.txtpb" "--target=${right}" \
    --flavour=plain
  verdict "$(basename "${folder}"): $(cat "${folder}cause.txt")" \
    "replay ${red} ${words}, right $?" "replay 1 said, right 0"
  replays=$((replays + 1))
done

for pair in "${pairs[@]}"; do
  wrong="${here}/${pair%%=*}" right="${pair#*=}"
  cases="${right##*:}" right="${here}/${right%:*}"
  name="$(basename "${wrong}" .so)"
  one=(--stop-on-first)
  [[ "${name}" == five_faults ]] && one=()
  "${mlafuzz}" campaign "--target=lib:${wrong}" "--cases=${cases}" --seed=1 \
    "${one[@]}" --no-infer --minimize-seconds=5 --flavour=plain \
    "--out=${work}/${name}" > "${work}/campaign" 2>&1
  # ID, path of repro.cc if there is one, cause_key, cause.
  python3 - "${work}/${name}/report.json" > "${work}/list" << 'PYTHON'
import json, sys
for f in json.load(open(sys.argv[1]))["findings"]:
    path = [r["path"] for r in f["reproducers"] if r["kind"] == "c++"] + [""]
    words = [r["words"] for r in f["reproducers"] if r["kind"] == "c++"] + [""]
    print(f["minimal_case"] or f["case"], path[0] or "-", f["cause_key"],
          (f["cause"] + "|" + words[0]).replace("\n", " "), sep="\t")
PYTHON
  [[ -s "${work}/list" ]] || { echo "BAD ${name}: nothing was found"; bad=$((bad + 1)); }
  while IFS=$'\t' read -r case program key cause; do
    if [[ "${program}" == - ]]; then
      echo "no repro.cc of ${name}: ${key}: ${cause#*|}"
      continue
    fi
    cause="${cause%|*}"
    built=built
    clean c++ -std=c++11 "${work}/${name}/${program}" -o "${work}/repro" -ldl ||
      built="not built"
    stated=stated
    head -n 40 "${work}/${name}/${program}" | tr -d '\n/' | tr -s ' ' |
      grep -qF -- "$(tr -d '/' <<< "${cause:0:60}" | tr -s ' ')" || stated="not stated"
    red="$(codes "${work}/repro")"
    printed=printed
    # What lies around a buffer has no expected value but its own.
    grep -Eq 'expected|around' "${work}/log" || printed="not printed"
    last="$(grep -Em 1 'expected|around' "${work}/log")"
    green="$(codes "${work}/repro" "${right}")"
    clean "${mlafuzz}" replay "${work}/${name}/${case}" "--target=lib:${wrong}" \
      --flavour=plain
    replay=$?
    clean "${mlafuzz}" replay "${work}/${name}/${case}" "--target=lib:${right}" \
      --flavour=plain
    verdict "${name}: ${key} (${last})" \
      "${built}, ${stated}, ${printed}, ${red}, right ${green}; replay ${replay}, right $?" \
      "built, stated, printed, 111, right 000; replay 1, right 0"
    programs=$((programs + 1))
  done < "${work}/list"
done
echo "${replays} replays and ${programs} programs: ${good} as they have to, ${bad} not"
((replays > 0 && programs > 0 && bad == 0))
