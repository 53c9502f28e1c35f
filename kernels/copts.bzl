"""Options for sources with kernels."""

# As nvcc is asked to: no contraction of multiplications and additions, and
# wide loads of what was written as something else. Under a sanitizer, a report
# need not end the program (ASan's still does by default: halt_on_error).
KERNEL_COPTS = [
    "-ffp-contract=off",
    "-fno-strict-aliasing",
    "-fsanitize-recover=address,undefined",
]
