#ifndef MLAFUZZ_FUZZ_WORKER_BENCH_CASES_H_
#define MLAFUZZ_FUZZ_WORKER_BENCH_CASES_H_

#include <cstdint>

#include "corpus/case.pb.h"

namespace mlafuzz {

// The smallest whole work of each kernel. `seed` draws its values.
Case OneTokenWrite(std::uint64_t seed);
Case OneRowGather(std::uint64_t seed);
// `width` indices of one request, of which three quarters are valid.
Case OneRowConvert(std::uint32_t width, std::uint64_t seed);
// So many tokens into one page each, so many rows of one request; pages of 64.
Case WriteOf(std::uint32_t tokens, std::uint64_t seed);
Case GatherOf(std::uint32_t rows, std::uint64_t seed);
// One query.
Case OneQueryDecode(std::uint32_t heads, std::uint32_t keys,
                    std::uint64_t seed);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_BENCH_CASES_H_
