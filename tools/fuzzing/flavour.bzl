"""How kernels/ is compiled in each flavour of the fuzzing engine.

The setting //tools/fuzzing:flavour names the flavour. instrumented.bzl sets it
for the engines, --config=race for tests; elsewhere it is empty and the
configuration's own flags are all there is.

Only what is under test is instrumented, by its own BUILD file:

    load("//tools/fuzzing:flavour.bzl", "UNDER_TEST_COPTS", "UNDER_TEST_DEPS")

The corpus, the oracle and the generated code would dominate the time and fill
the coverage map with branches that say nothing of a kernel; their own tests run
under --config=asan and --config=ubsan.
"""

# no-link: main comes in through //tools/fuzzing:engine. Tracing the stack depth
# costs a store a function and says nothing of kernels that do not recurse.
_COVERAGE = [
    "-fsanitize=fuzzer-no-link",
    "-fno-sanitize-coverage=stack-depth",
]

# Left out of UBSan: null, pointer-overflow and object-size see little that ASan
# does not and cost a third of the speed; vptr and function need type data that
# kernels do not have. Recoverable, so that one report does not end a campaign.
_ASAN_UBSAN = [
    "-fsanitize=address,undefined",
    "-fno-sanitize=null,pointer-overflow,object-size,vptr,function",
    "-fsanitize-recover=address,undefined",
    "-fsanitize-address-use-after-return=never",
]

# Vector accesses of 32 bytes and memcpy are not traced: keep loads and stores
# scalar, and loops from becoming calls.
_RACE = [
    "-O1",
    "-fno-vectorize",
    "-fno-slp-vectorize",
    "-fno-builtin-memcpy",
    "-fno-builtin-memmove",
    "-fno-builtin-memset",
    "-fsanitize-coverage=trace-loads,trace-stores",
    "-DMLAFUZZ_RACE_DETECTOR",
]

# Engine flavour -> copts of what is under test, linkopts of the binary.
FLAVOURS = {
    "asan+ubsan": struct(
        copts = _COVERAGE + _ASAN_UBSAN,
        linkopts = ["-fsanitize=address,undefined"],
    ),
    "plain": struct(
        copts = _COVERAGE,
        linkopts = [],
    ),
    "race": struct(
        copts = _COVERAGE + _RACE,
        linkopts = [],
    ),
}

# --config=race: the detector in plain tests, which have no engine.
RACE_TESTS = "race-tests"

def flavour_condition(flavour):
    """The config_setting of a flavour."""
    return "//tools/fuzzing:flavour-" + flavour.replace("+", "-")

UNDER_TEST_COPTS = select(dict(
    [(flavour_condition(name), value.copts) for name, value in FLAVOURS.items()] +
    # Without an engine's instrumentation clang has no insertion point and traces
    # nothing; "func" gives it one.
    [(flavour_condition(RACE_TESTS), _RACE + ["-fsanitize-coverage=func"])],
    **{"//conditions:default": []}
))

UNDER_TEST_DEPS = select({
    flavour_condition("race"): ["//kernels/simt:race_detector"],
    flavour_condition(RACE_TESTS): ["//kernels/simt:race_detector"],
    "//conditions:default": [],
})

def _setting_impl(_ctx):
    return []

flavour_setting = rule(
    implementation = _setting_impl,
    build_setting = config.string(flag = True),
)
