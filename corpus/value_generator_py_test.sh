#!/bin/bash
# Holds value_generator.py to the golden vectors of value_generator_test.cc.
set -euo pipefail
exec python3 - "$1" "$2" <<'PY'
import importlib.util
import re
import sys

spec = importlib.util.spec_from_file_location("value_generator", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
text = open(sys.argv[2]).read()
text = text[text.index("kGolden[] = {"):text.index("};\n\nTEST")]
text = re.sub(r"//[^\n]*", "", text)
rows = re.findall(
    r"\{\s*(\w+),\s*(-?\d+),\s*\{([^}]*)\},\s*\{([^}]*)\}\s*\}", text)
assert len(rows) >= 4, "no golden vectors found"
checked = 0
for seed, stream, words, below in rows:
    g = module.ValueGenerator(int(seed, 0))
    if int(stream) >= 0:
        g = g.stream(int(stream))
    for at, word in zip((0, 1, 2, 10**6, 2**63), words.split(",")):
        assert g.word(at) == int(word, 0), (seed, stream, at)
        checked += 1
    for i, value in enumerate(below.split(",")):
        assert g.below(i, 1000) == int(value), (seed, stream, i)
        checked += 1
print(checked, "golden values agree")
PY
