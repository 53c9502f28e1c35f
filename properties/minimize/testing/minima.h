#ifndef MLAFUZZ_PROPERTIES_MINIMIZE_TESTING_MINIMA_H_
#define MLAFUZZ_PROPERTIES_MINIMIZE_TESTING_MINIMA_H_

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "corpus/case.pb.h"

namespace mlafuzz {

// How large a case of one step is. What its kernel does not have is 0.
struct CaseSize {
  std::uint64_t steps = 1;
  // Tokens of a write, rows of a gather's result, rows of indices, queries.
  std::uint64_t rows = 0;
  std::uint64_t requests = 0;  // rows of the block table
  std::uint64_t columns = 0;   // of the block table
  std::uint64_t width = 0;     // of a row of indices
  std::uint64_t heads = 0;
  std::uint64_t keys = 0;  // of a decode, of all queries
  std::uint64_t slots = 1;
  std::uint64_t page_size = 1;

  friend bool operator==(const CaseSize&, const CaseSize&) = default;
};

CaseSize SizeOf(const Case& c);
// "1 steps, 1 rows, ..."
std::string SizeText(const CaseSize& size);

// How small a failing case of a wrong target can be, by argument: not what
// minimising it once gave, but what the fault takes to show by its cause. The
// arguments stand in minima.cc, group by group.
struct KnownMinimum {
  std::string target;
  CaseSize size;
};
const std::vector<KnownMinimum>& KnownMinima();
inline void PrintTo(const KnownMinimum& minimum, std::ostream* out) {
  *out << minimum.target;
}

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_MINIMIZE_TESTING_MINIMA_H_
