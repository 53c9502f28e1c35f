#!/bin/bash
# mlafuzz import as a user calls it, on dumps as servers leave them: cases that
# replay and pass, wrong kernels that they catch, torn dumps, and a large one.
set -uo pipefail
mlafuzz="${PWD}/$1"
export BUILD_WORKING_DIRECTORY="${TEST_TMPDIR}"
cd "${TEST_TMPDIR}" || exit 1
failed=0

if ! python3 -c 'import numpy' 2> /dev/null; then
  echo "SKIPPED: no numpy to make a dump with"
  cat > "${XML_OUTPUT_FILE:-/dev/null}" << END
<testsuites><testsuite name="import_test" tests="1" skipped="1">
<testcase name="import_test"><skipped message="no numpy"/></testcase>
</testsuite></testsuites>
END
  exit 0
fi

# expect CODE PATTERN ARGS...: exit code and an extended regular expression that
# a line of stdout or stderr matches.
expect() {
  local code="$1" pattern="$2" got output
  shift 2
  output="$("${mlafuzz}" "$@" 2>&1)"
  got=$?
  if [[ "${got}" != "${code}" ]] || ! grep -Eq -- "${pattern}" <<< "${output}"
  then
    printf 'FAILED: mlafuzz %s\n  exit %s, wanted %s; wanted /%s/\n%s\n' \
      "$*" "${got}" "${code}" "${pattern}" "${output}"
    failed=1
  fi
}

# A server's step: 40 pages of 64 tokens, four requests that fill pages in no
# order, indices of 2048 with -1 behind the valid ones.
python3 - << 'END'
import numpy as np

rng = np.random.default_rng(1)
pages, size, topk = 40, 64, 2048


def finite_codes(shape):
    codes = rng.integers(0, 256, shape, dtype=np.uint8)
    codes[(codes & 0x7F) == 0x7F] ^= 1
    return codes


def rope(tokens):
    values = rng.standard_normal((tokens, 64)).astype(np.float32)
    return (values.view(np.uint32) >> 16).astype(np.uint16).view(np.uint8)


tokens = pages * size
scales = np.exp2(rng.uniform(-12, -6, (tokens, 4))).astype("<f4")
row656 = np.concatenate(
    [finite_codes((tokens, 512)), scales.view(np.uint8), rope(tokens)], axis=1)
row656.tofile("row656.bin")
np.save("row656.npy", row656.reshape(pages, size, 656))

row576 = np.concatenate([finite_codes((tokens, 448)), rope(tokens)], axis=1)
footer = np.zeros((tokens, 8), dtype=np.uint8)
footer[:, :7] = rng.integers(117, 124, (tokens, 7))
page = np.zeros((pages, -(-size * 584 // 576) * 576), dtype=np.uint8)
page[:, :size * 576] = row576.reshape(pages, -1)
page[:, size * 576:size * 584] = footer.reshape(pages, -1)
page.tofile("footer584.bin")

codes = finite_codes((tokens, 128))
scale = np.exp2(rng.uniform(-12, -6, (tokens, 1))).astype("<f4").view(np.uint8)
np.concatenate([codes.reshape(pages, -1), scale.reshape(pages, -1)],
               axis=1).tofile("indexer132.bin")

order = rng.permutation(pages).astype("<i4")
table = np.zeros((4, 16), dtype="<i4")
lens = np.array([600, 64, 1, 333], dtype="<i4")
at = 0
for request, length in enumerate(lens):
    count = -(-length // size)
    table[request, :count] = order[at:at + count]
    at += count
table.tofile("table.bin")
lens.tofile("lens.bin")
token = np.full((4, topk), -1, dtype="<i4")
for request, length in enumerate(lens):
    token[request, :length] = rng.permutation(length)
token.tofile("tokens.bin")
stale = np.where(token < 0, 90000, token)
stale[0, 2047] = -1
stale.astype("<i4").tofile("stale.bin")
odd = token.copy()
odd[1, 5] = -2
odd[3, 9] = -1000
odd.tofile("odd.bin")
slot = np.where(token < 0, -1,
                np.take_along_axis(table, np.maximum(token, 0) // size, 1) *
                size + token % size).astype("<i8")
np.save("slots.npy", slot)
np.save("three-slots.npy", slot[:3])

# A NaN code in page `order[3]`, row 5: token 197 of the first request.
damaged = row656.copy()
damaged[order[3] * size + 5, 300] = 0x7F
damaged.tofile("damaged.bin")
print((order[3] * size + 5) * 656 + 300, order[3], file=open("damage.txt", "w"))
open("torn.bin", "wb").write(row656.tobytes()[:-1000])
END
request=(--block-table=table.bin --table-columns=16 --seq-lens=lens.bin)

# ---- usage
expect 2 'import: needs one file' import --layout=row656
expect 2 '--layout needs one of row656, .*, got ""' import row656.bin
expect 2 '--page-size: needs 1 to' import --layout=row656 row656.bin
expect 2 'no-such.bin: cannot open' \
  import --layout=row656 --page-size=64 no-such.bin
expect 2 'footer584.bin: is torn: 35 pages of 41984 bytes end at offset' \
  import --layout=row656 --page-size=64 footer584.bin
expect 2 'torn.bin: is torn: 39 pages of 41984 bytes end at offset 1637376, 40984 bytes follow' \
  import --layout=row656 --page-size=64 torn.bin
raw=(import --layout=row656 --page-size=64 row656.bin)
expect 2 'table.bin: is raw and says no shape: .* --table-columns=N' \
  "${raw[@]}" --block-table=table.bin
expect 2 '--table-columns needs 1 or more, got 0' \
  "${raw[@]}" --block-table=table.bin --table-columns=0
expect 2 'tokens.bin: is raw and says no shape: .* --topk=N' \
  "${raw[@]}" "${request[@]}" --token-indices=tokens.bin
expect 2 'tokens.bin: is raw and says no shape: .* --topk=N' \
  "${raw[@]}" --slot-indices=tokens.bin
expect 2 '--table-columns: needs --block-table' "${raw[@]}" --table-columns=16
expect 2 '--topk: needs --token-indices or --slot-indices' \
  "${raw[@]}" "${request[@]}" --topk=2048
expect 2 '--lengths: needs --token-indices' "${raw[@]}" --lengths=lens.bin
expect 2 'lens.bin: has 4 entries, .*slots.npy 3 rows' \
  "${raw[@]}" --slot-indices=three-slots.npy --lengths=lens.bin
[[ ! -e mlafuzz-import ]] || { echo "FAILED: cases of a refused dump"; failed=1; }

# ---- what is right passes, what is wrong is caught
expect 0 '^gather: [1-9][0-9] cases' import --layout=row656 --page-size=64 \
  "${request[@]}" --token-indices=tokens.bin --topk=2048 row656.bin --out=cases
"${mlafuzz}" replay cases --flavour=plain > replay.txt
for kernel in gather convert decode; do
  passes="$(grep -c "^cases/${kernel}-.*: step 0 ${kernel} pass$" replay.txt)"
  if (( passes < 10 )); then
    echo "FAILED: ${passes} imported cases of ${kernel} pass"
    failed=1
  fi
done
for mutant in gather-ignores-firsts gather-first-table-row gather-page-start \
    gather-pow2-scale gather-next-tiles-scale index-zero-for-invalid; do
  expect 1 ' fail$' replay cases --flavour=plain "--target=mutant:${mutant}"
done
expect 0 'nothing found' campaign --corpus=cases --cases=200 --flavour=plain \
  --seed=1 --out=campaign
expect 0 'epoch 1: [0-9]+ cases' corpus import --state=state cases

# ---- how many lanes count, and what an earlier step left behind them
expect 2 'stale.bin: entry \[0, 600\] at offset 2400 is 90000' "${raw[@]}" \
  "${request[@]}" --token-indices=stale.bin --topk=2048
expect 0 '^decode: 32 cases' "${raw[@]}" "${request[@]}" \
  --token-indices=stale.bin --topk=2048 --lengths=lens.bin --out=lengths
expect 0 'step 0 decode pass' replay lengths --flavour=plain
expect 1 ' fail$' replay lengths --flavour=plain \
  --target=mutant:length-inclusive
expect 0 'step 0 decode pass' replay cases --flavour=plain \
  --target=mutant:length-inclusive
expect 0 'note: 2 indices are negative but not -1, the first in .*odd.bin: entry \[1, 5\] at offset 8212 is -2;' \
  "${raw[@]}" "${request[@]}" --token-indices=odd.bin --topk=2048 --out=odd

# ---- .npy says its own shape; slots instead of tokens
expect 0 '^decode: 32 cases' import --layout=fp8_ds_mla row656.npy \
  --slot-indices=slots.npy --out=npy
expect 0 'step 0 decode pass' replay npy --flavour=plain

# ---- other layouts
for layout in footer584 indexer132; do
  expect 0 '^decode: no cases, no decode of' import "--layout=${layout}" \
    --page-size=64 "${request[@]}" --token-indices=tokens.bin --topk=2048 \
    "${layout}.bin" "--out=${layout}"
  expect 0 'gather-.*: step 0 gather pass' replay "${layout}" --flavour=plain
done

# ---- a damaged byte is named, and the first case has it
read -r offset page < damage.txt
expect 0 "1 tokens have NaN codes, the first at offset ${offset} \(page ${page}, row 5\)" \
  import --layout=row656 --page-size=64 "${request[@]}" damaged.bin --out=damaged
expect 0 'step 0 gather pass' replay damaged --flavour=plain
expect 1 ' fail$' replay damaged --flavour=plain --target=mutant:gather-nan-saturates
# A kernel that is wrong for NaN alone is right for the whole dump.
"${mlafuzz}" replay cases --flavour=plain --target=mutant:gather-nan-saturates \
  > nan.txt 2>&1
if grep -q ' fail$' nan.txt; then
  echo "FAILED: a finding in a dump without NaN"
  failed=1
fi

# ---- 100 MB in less than ten seconds of one core
python3 - << 'END'
import numpy as np

tokens = 2500 * 64
page = np.fromfile("row656.bin", dtype=np.uint8)[:64 * 656]
with open("large.bin", "wb") as file:
    for _ in range(2500):
        file.write(page.tobytes())
rng = np.random.default_rng(2)
rng.permutation(2500).astype("<i4").tofile("large.table")
rng.integers(0, tokens, (64, 2048), dtype=np.int32).tofile("large.tokens")
np.zeros(64, dtype="<i4").tofile("large.ids")
END
TIMEFORMAT='%U %S'
seconds="$({ time "${mlafuzz}" import --layout=row656 --page-size=64 \
  --block-table=large.table --table-columns=2500 --token-indices=large.tokens \
  --topk=2048 --request-ids=large.ids large.bin --out=large \
  > large.txt 2>&1; } 2>&1)"
grep -q '^large.bin: 2500 pages .* hold 160000 tokens' large.txt \
  || { cat large.txt; failed=1; }
echo "$(stat -c %s large.bin) bytes in ${seconds} s (user, system)"
if ! awk '{ exit !($1 + $2 < 10) }' <<< "${seconds}"; then
  echo "FAILED: too slow"
  failed=1
fi
exit "${failed}"
