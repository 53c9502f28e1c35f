#ifndef MLAFUZZ_FUZZ_WORKER_BENCH_CASES_H_
#define MLAFUZZ_FUZZ_WORKER_BENCH_CASES_H_

#include <cstdint>

#include "corpus/case.pb.h"

namespace mlafuzz {

// The smallest whole work of each kernel. `seed` draws its values.
Case OneTokenWrite(std::uint64_t seed);
Case OneRowGather(std::uint64_t seed);
// 64 indices of one request.
Case OneRowConvert(std::uint64_t seed);
// One query.
Case OneQueryDecode(std::uint32_t heads, std::uint32_t keys,
                    std::uint64_t seed);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_BENCH_CASES_H_
