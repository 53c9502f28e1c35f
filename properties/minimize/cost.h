#ifndef MLAFUZZ_PROPERTIES_MINIMIZE_COST_H_
#define MLAFUZZ_PROPERTIES_MINIMIZE_COST_H_

#include <array>
#include <cstdint>

#include "corpus/case.pb.h"

namespace mlafuzz {

// How much a case asks of its reader; compared entry by entry, the first
// difference decides. A minimised case is one whose every reduction fails to
// fail, so a strict order is what makes the search end and makes a second run
// idle.
//
//   0  steps
//   1  tokens, requests, dst rows, rows of indices
//   2  widths: index columns, table columns
//   3  slots of the pool
//   4  rows a page
//   5  knobs that are not at their plain choice
//   6  values that are not zero, how they are made, bytes of patches
//   7  the numbers themselves: slots, pages, token numbers, bits
using CaseCost = std::array<std::uint64_t, 8>;

CaseCost CostOf(const Case& c);

// Of one number, in entry 7: the plainer, the less.
std::uint64_t SlotCost(std::int64_t slot);    // 0, 1, 2, ..., -1, -2, ...
std::uint64_t IndexCost(std::int64_t index);  // the same
// 1.0, then numbers of few mantissa bits near it, positive ones first.
std::uint64_t BitsCost(std::uint32_t bits, DType dtype);

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_MINIMIZE_COST_H_
