#ifndef MLAFUZZ_ORACLE_DECODE_WIDE_H_
#define MLAFUZZ_ORACLE_DECODE_WIDE_H_

// In front of a loop over columns: compiled for processors with wider vectors,
// too, and the best that there is taken when the program starts. Lanes are
// independent and nothing is contracted (-ffp-contract=off), so that all have
// the same bits. What such a function calls is called by others, too, or
// inlined: Clang 19 does not emit it otherwise.
#if defined(__x86_64__) && defined(__clang__) && defined(__linux__)
#define MLAFUZZ_ORACLE_WIDE \
  __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define MLAFUZZ_ORACLE_WIDE
#endif

#endif  // MLAFUZZ_ORACLE_DECODE_WIDE_H_
