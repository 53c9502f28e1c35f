#!/bin/bash
# Starts peer_writer.py with the Python, or the venv, that $MLAFUZZ_PYTHON names.
set -euo pipefail
python="${MLAFUZZ_PYTHON:-python3}"
[[ -d "${python}" ]] && python+=/bin/python3
"${python}" -c 'import torch' 2> /dev/null || {
  echo "peer_writer: ${python} has no torch; name a venv that has it in \$MLAFUZZ_PYTHON" >&2
  exit 2
}
script="$1"
shift
exec "${python}" -B "${script}" "$PWD/$1" "$PWD/$2" "${@:3}"
