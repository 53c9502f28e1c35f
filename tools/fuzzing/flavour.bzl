"""How kernels/ is compiled in each flavour of the fuzzing engine.

Only what is under test is instrumented: its BUILD file makes it a
kernel_library, which is compiled as the configuration says under its own name,
and once more for each flavour, and by nvcc for GPUs:

    kernel_library(name = "builtin", ...)
    # :builtin, :builtin__asan_ubsan, ..., :builtin__cuda

The corpus, the oracle and the generated code would dominate the time and fill
the coverage map with branches that say nothing of a kernel; their own tests run
under --config=asan and --config=ubsan. They are compiled once for all engines.
"""

load("//tools/cuda:defs.bzl", "cuda_library")

# no-link: main comes in through //tools/fuzzing:engine. Tracing the stack depth
# costs a store a function and says nothing of kernels that do not recurse.
_COVERAGE = [
    "-DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION",
    "-fsanitize=fuzzer-no-link",
    "-fno-sanitize-coverage=stack-depth",
]

# Left out of UBSan: null, pointer-overflow and object-size see little that ASan
# does not and cost speed; vptr and function need type data that
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

# Engine flavour -> copts and further deps of what is under test, linkopts of the
# binary.
FLAVOURS = {
    "asan+ubsan": struct(
        copts = _COVERAGE + _ASAN_UBSAN,
        linkopts = [
            "-fsanitize=address,undefined",
            # The driver is clang, not clang++: ask for the C++ parts too.
            "-fsanitize-link-c++-runtime",
        ],
        deps = [],
    ),
    "plain": struct(
        copts = _COVERAGE,
        linkopts = [],
        deps = [],
    ),
    "race": struct(
        copts = _COVERAGE + _RACE,
        linkopts = [],
        deps = ["//kernels/simt:race_detector"],
    ),
}

# --config=race: the detector in plain tests, which have no engine. Without an
# engine's instrumentation clang has no insertion point and traces nothing;
# "func" gives it one.
UNDER_TEST_COPTS = select({
    "//tools/fuzzing:race-tests": _RACE + ["-fsanitize-coverage=func"],
    "//conditions:default": [],
})

_UNDER_TEST_DEPS = select({
    "//tools/fuzzing:race-tests": ["//kernels/simt:race_detector"],
    "//conditions:default": [],
})

def in_flavour(label, flavour):
    """The variant of a kernel_library, or of what carries one, in a flavour."""
    if ":" not in label:
        label = label + ":" + label.split("/")[-1]
    return label + "__" + flavour.replace("+", "_")

def kernel_library(
        name,
        srcs = [],
        hdrs = [],
        copts = [],
        deps = [],
        kernel_deps = [],
        cuda = True,
        **kwargs):
    """A cc_library of code under test: `name`, and in_flavour(name) for each.

    Args:
      name: what the configuration's own flags make of it; under --config=race
        with the race detector.
      srcs: sources, the same for all variants.
      hdrs: headers.
      copts: for all variants, before those of the flavour.
      deps: libraries that are no code under test.
      kernel_deps: other kernel_library targets; each variant depends on theirs.
      cuda: whether there is a variant for GPUs, in_flavour(name, "cuda").
      **kwargs: for every cc_library.
    """
    native.cc_library(
        name = name,
        srcs = srcs,
        hdrs = hdrs,
        copts = copts + UNDER_TEST_COPTS,
        deps = deps + kernel_deps + _UNDER_TEST_DEPS,
        **kwargs
    )
    for flavour, value in FLAVOURS.items():
        native.cc_library(
            name = in_flavour(":" + name, flavour)[1:],
            srcs = srcs,
            hdrs = hdrs,
            copts = copts + value.copts,
            # Only the engines want them.
            tags = ["manual"],
            deps = deps + value.deps + [in_flavour(dep, flavour) for dep in kernel_deps],
            **kwargs
        )
    if cuda:
        cuda_library(
            name = in_flavour(":" + name, "cuda")[1:],
            srcs = [src for src in srcs if src.endswith(".cc")],
            hdrs = hdrs,
            private_hdrs = [src for src in srcs if not src.endswith(".cc")],
            # As clang's -ffp-contract=off.
            copts = ["-fmad=false"],
            # Only //kernels/device wants them.
            tags = ["manual"],
            deps = deps + [in_flavour(dep, "cuda") for dep in kernel_deps],
            **kwargs
        )
