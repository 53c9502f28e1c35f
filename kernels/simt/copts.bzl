"""Options of the lane runtime and of what it watches."""

# The runtime carries no sanitizer and no coverage whatever the configuration
# says: it moves stacks under their feet, and the scheduler must not look like
# progress to a fuzzer. Appended to the copts of the command line, so they win.
# BMI2's pdep halves the cost of random schedules; kernels need x86-64-v3 anyway,
# or fmaf would be a slow call.
UNINSTRUMENTED = [
    "-O2",
    "-mbmi",
    "-mbmi2",
    "-mpopcnt",
    "-fno-sanitize=all",
    "-fno-sanitize-coverage=func,bb,edge,trace-pc,trace-pc-guard,inline-8bit-counters,inline-bool-flag,pc-table,stack-depth,indirect-calls,trace-cmp,trace-div,trace-gep,trace-loads,trace-stores",
]

# For sources with kernels in a program that links :race_detector. Vectorised
# accesses of 32 bytes would not be traced, nor would loops and neighbouring
# stores that are turned into memset and memcpy. "func" is there because without
# an insertion point clang traces nothing.
RACE_DETECTOR_COPTS = [
    "-O1",
    "-fno-vectorize",
    "-fno-slp-vectorize",
    "-fno-builtin-memcpy",
    "-fno-builtin-memmove",
    "-fno-builtin-memset",
    "-fsanitize-coverage=func,trace-loads,trace-stores",
]
