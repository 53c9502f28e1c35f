#!/bin/bash
# Reproducers and replays of wrong kernels of the ledger, each as a library and
# as compiled in, on the host:
#
#     bazel run //fuzz/testing:reproducers_host -- [MOST]
#
# A line a wrong kernel: its cause; what repro.cc exits with, three runs, when
# built by c++ alone in an empty folder with an empty environment, for the wrong
# library and for the right one (111 and 000); then `mlafuzz replay` of the
# case, likewise, of the wrong target (1, and the cause must be among its words)
# and of the right one (0). Exit code 0: all are so, and there were some.
set -uo pipefail
writer="${PWD}/$1"
mlafuzz="${PWD}/$2"
library="${PWD}/$3"
most="${4:-44}"
work="$(mktemp -d)"
trap 'rm -rf "${work}"' EXIT
mkdir "${work}/libraries"
"${writer}" "${work}/src" "${most}" "${work}/libraries" || exit 1
good=0 bad=0

# In an empty folder, with an environment that has a PATH and no more.
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

for folder in "${work}"/src/*/; do
  name="$(basename "${folder}")"
  read -r wrong right < "${folder}targets.txt"
  for target in "${wrong}" "${right}"; do
    # Not a link: what is loaded is called by its own name.
    [[ -e "${work}/libraries/${target//:/@}.so" ]] ||
      cp -L "${library}" "${work}/libraries/${target//:/@}.so"
  done
  cause="$(cat "${folder}cause.txt")"
  built=built
  clean c++ -std=c++11 "${folder}repro.cc" -o "${work}/repro" -ldl ||
    built="NOT BUILT"
  red="$(codes "${work}/repro")"
  green="$(codes "${work}/repro" "${work}/libraries/${right//:/@}.so")"
  clean "${mlafuzz}" replay "${folder}case.txtpb" "--target=${wrong}" \
    --flavour=plain
  replay_red=$?
  # Without the kernel's name in front, and what it stands for in words.
  key="${cause#*/}"
  words=said
  grep -qF -e "${key#*=}" -e "${key}" "${work}/log" || words="NOT SAID"
  said="$(sed -n 2p "${work}/log" | cut -c 1-160)"
  clean "${mlafuzz}" replay "${folder}case.txtpb" "--target=${right}" \
    --flavour=plain
  replay_green=$?
  if [[ "${built} ${red} ${green} ${replay_red} ${replay_green}" == \
    "built 111 000 1 0" && ("${words}" == said || "${key}" != *=*) ]]; then
    verdict=ok good=$((good + 1))
  else
    verdict=BAD bad=$((bad + 1))
  fi
  echo "${verdict} ${name}: ${cause}: ${built}, wrong ${red}, right ${green};" \
    "replay wrong ${replay_red} (${words}), right ${replay_green}"
  [[ "${verdict}" == ok ]] || echo "    ${said}"
  rm -f "${work}/libraries/${wrong//:/@}.so"
done
echo "${good} as they have to, ${bad} not"
((good > 0 && bad == 0))
