#ifndef MLAFUZZ_FUZZ_DUMP_CASES_H_
#define MLAFUZZ_FUZZ_DUMP_CASES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "corpus/case.pb.h"
#include "corpus/image.h"
#include "fuzz/dump/dump.h"
#include "fuzz/dump/scan.h"

namespace mlafuzz {

struct SampleOptions {
  std::uint64_t seed = 1;
  int cases = 32;              // of each kernel
  std::size_t most_bytes = 0;  // of a case, canonical binary
  std::uint32_t heads = 2;     // of a decode: queries are not in a dump
};

// A piece of a dump as a case.
struct ImportedCase {
  Kernel kernel = Kernel::kGather;
  Case message;
  std::string where;  // "request 3, tokens 54 to 73 of pages 812, 17"
};

// Draws pieces of a dump that fit into cases. With the same seed the same.
//
//   gather   two stretches of tokens of one request each, by block table:
//            around odd tokens first, then in turn across the end of a page, at
//            a request's end, at its begin, and anywhere. A gather that copies
//            (an indexer's) knows no first token, so there stretches begin with
//            a page, and every other case has one alone.
//   convert  of `tokens` a row or two, as many lanes as a multiple of 128 lets
//            them be, in the columns of the table that they use.
//   decode   of `slots`, or of `tokens` by the table, lanes of one row that one
//            case can carry; the other lanes of their 64 are -1. With
//            lane_counts the decode is given a length, and what is no negative
//            behind it names a slot of the case. fp8_ds_mla alone: no other
//            layout has a decode here.
//
// A case's pool has those pages alone that the piece names, in their order in
// the dump, and of them the bytes of those tokens alone that are read; page
// numbers, slots and token numbers are renumbered to match. Page size, strides
// and shared pages stay as they are.
absl::StatusOr<std::vector<ImportedCase>> SampleCases(
    const Dump& dump, const Scan& scan, const SampleOptions& options);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_DUMP_CASES_H_
