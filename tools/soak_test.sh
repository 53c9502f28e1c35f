#!/bin/bash
# tools/soak.sh tells a command that is flat from one that leaks memory or
# descriptors, in a child too, and from one that fails.
set -uo pipefail
work="${TEST_TMPDIR}"
failed=0

cat > "${work}/command.py" << 'END'
import os
import sys
import time

kind = sys.argv[-1]
seconds = int(sys.argv[2].split("=")[1].rstrip("s"))
if kind == "fails":
    sys.exit(3)
if kind == "leaks-in-child" and os.fork() == 0:
    kind = "leaks"
kept = [bytearray(64 << 20)]
end = time.time() + seconds
while time.time() < end:
    if kind == "leaks":
        kept.append(bytearray(os.urandom(1 << 18)))
    if kind == "opens":
        kept.append(open("/dev/null"))
    garbage = bytearray(1 << 20)
    time.sleep(0.05)
END
printf '#!/bin/bash\nexec python3 "%s" "$@"\n' "${work}/command.py" \
  > "${work}/command"
chmod +x "${work}/command"

soak() {  # soak CODE WORDS KIND
  local code="$1" words="$2" got
  shift 2
  tools/soak.sh --time=15s --sample=0.1 --warm-up=2s "--out=${work}/$1.csv" \
    -- "${work}/command" "$1" > "${work}/$1.txt" 2>&1
  got=$?
  if [[ "${got}" != "${code}" ]] || ! grep -Eq "${words}" "${work}/$1.txt"; then
    echo "FAILED: $1: exit ${got}, wanted ${code} and /${words}/"
    cat "${work}/$1.txt"
    return 1
  fi
}
soak 0 'resident KiB: .* flat$' flat &
soak 1 'resident KiB: .*NOT FLAT' leaks &
soak 1 'resident KiB: .*NOT FLAT' leaks-in-child &
soak 1 'descriptors: .*NOT FLAT' opens &
soak 2 'the command exited with 3' fails &
for job in $(jobs -p); do
  wait "${job}" || failed=1
done
for kind in flat leaks leaks-in-child opens fails; do
  [[ -s "${work}/${kind}.csv" ]] || { echo "FAILED: no ${kind}.csv"; failed=1; }
done

# ---- the curve says what soak.sh says
curve() {  # curve CODE WORDS CSV SVG...
  local code="$1" words="$2" got
  shift 2
  tools/soak_curve "$@" > "${work}/said" 2>&1
  got=$?
  if [[ "${got}" != "${code}" ]] || ! grep -Eq -- "${words}" "${work}/said"; then
    echo "FAILED: soak_curve $*: exit ${got}, wanted ${code} and /${words}/"
    cat "${work}/said"
    failed=1
  fi
}
curve 0 'resident MiB: .* flat$' "${work}/flat.csv" "${work}/flat.svg" --warm-up=2
curve 0 'resident MiB: .*NOT FLAT$' "${work}/leaks.csv" "${work}/leaks.svg" --warm-up=2
curve 0 'descriptors: .*NOT FLAT$' "${work}/opens.csv" "${work}/opens.svg" --warm-up=2
python3 - "${work}"/{flat,leaks,opens}.svg << 'END' || failed=1
import sys
import xml.etree.ElementTree

for path in sys.argv[1:]:
    tag = "{http://www.w3.org/2000/svg}"
    root = xml.etree.ElementTree.parse(path).getroot()
    lines = root.findall(f"{tag}polyline")
    dots = root.findall(f"{tag}circle")
    samples = len(open(path[:-3] + "csv").readlines()) - 1
    assert len(lines) == 2 and len(dots) in (2 * samples, 2 * samples - 2), path
END
head -n 30 "${work}/flat.csv" > "${work}/cut.csv"
printf '7.1,2,10' >> "${work}/cut.csv"
curve 0 'resident MiB' "${work}/cut.csv" "${work}/cut.svg"
sed 's/^\([0-9.]*\),.*/\1,x/' "${work}/flat.csv" > "${work}/bad.csv"
curve 2 'bad.csv: line 2 is no sample' "${work}/bad.csv" "${work}/bad.svg"
head -n 4 "${work}/flat.csv" > "${work}/few.csv"
curve 2 'few.csv: 3 samples are too few' "${work}/few.csv" "${work}/few.svg"
curve 2 'no-such.csv' "${work}/no-such.csv" "${work}/no-such.svg"
curve 2 'cannot|denied|directory' "${work}/flat.csv" "${work}/no/such/folder.svg"
curve 2 'unknown flag --warm' "${work}/flat.csv" "${work}/x.svg" --warm=2
curve 2 'needs the CSV' "${work}/flat.csv"

tools/soak.sh --time=1x --out="${work}/x.csv" > "${work}/said" 2>&1
[[ $? == 2 ]] || { echo "FAILED: a time that is none"; failed=1; }
exit "${failed}"
