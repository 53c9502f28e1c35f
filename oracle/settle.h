#ifndef MLAFUZZ_ORACLE_SETTLE_H_
#define MLAFUZZ_ORACLE_SETTLE_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "corpus/contract.pb.h"
#include "corpus/image.h"

namespace mlafuzz::oracle {

// NaN whose payload a contract leaves open: in the scales of rows that a writer
// stores, and in the values that a gather fills.
bool LeavesScaleNanOpen(const Contract& contract);
bool LeavesValueNanOpen(const Contract& contract);

// The pool `got`, in which a scale that is NaN in both has the bits of
// `expected`. Both are as long as the pool.
std::vector<std::uint8_t> SettleScales(const PoolImage& pool,
                                       absl::Span<const std::uint8_t> expected,
                                       absl::Span<const std::uint8_t> got);
// The same of the values in the first `codes` columns of a gather's dst, bf16.
std::vector<std::uint8_t> SettleValues(std::int64_t codes, const Tensor& dst,
                                       absl::Span<const std::uint8_t> expected,
                                       absl::Span<const std::uint8_t> got);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_SETTLE_H_
