"""How programs of the archive are linked: nothing but glibc is asked of the
machine that they run on."""

RELOCATABLE = [
    # In front of the toolchain's own -lstdc++, which then is not needed.
    "-l:libstdc++.a",
    "-static-libgcc",
    "-Wl,--as-needed",
]
