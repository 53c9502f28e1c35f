#!/bin/bash
# Stands in for run_baseline: one baseline a way to end.
for argument in "$@"; do
  case "${argument}" in
    --list)
      for name in flags passes crashes fails hangs mute elsewhere; do
        printf '{"baseline":"%s","kernels":["decode"]}\n' "${name}"
      done
      exit 0 ;;
    --baseline=*) baseline="${argument#*=}" ;;
    --target=*) target="${argument#*=}" ;;
    --seed=*) seed="${argument#*=}" ;;
  esac
done
line() {
  printf '{"baseline":"%s","target":"%s","seed":%s,"flagged":%s,"why":"%s",' \
    "${baseline}" "${target}" "${seed}" "$1" "$2"
  printf '"cases":7,"cpu_seconds":0.25%s}\n' "$3"
}
case "${baseline}" in
  flags)
    echo 'some words before'
    line true 'cosine 0.5'
    ;;
  passes) line false '' ;;
  crashes) kill -SEGV $$ ;;
  fails) line false ''; exit 3 ;;
  hangs) sleep 600 ;;
  mute) echo 'all is well' ;;
  elsewhere) line false 'no such kernel' ',"applicable":false' ;;
esac
