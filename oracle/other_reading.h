#ifndef MLAFUZZ_ORACLE_OTHER_READING_H_
#define MLAFUZZ_ORACLE_OTHER_READING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "corpus/contract.pb.h"
#include "corpus/image.h"
#include "oracle/compared_step.h"
#include "oracle/damage.h"

namespace mlafuzz::oracle {

inline constexpr char kBytesMissing[] = "bytes-missing";

// What explains a result that no rule of a contract does: a kernel that keeps
// all rules, but takes the call, or the bytes of a row, for other ones.
//
//   call   one argument is another: a stride taken from a shape, an argument
//          ignored, the last row left out (changed_call.h). The oracle is asked
//          what *that* call leaves behind.
//   row    the parts of a cache row stand elsewhere: tiles, scales or rope
//          values in each other's place, bytes of a word in another order
//          (changed_row.h). Of a writer the rows that were to be written are
//          changed so, of a gather those that it reads.
//   bytes  whatever is wrong in the rows that were to be written is what stood
//          there before.
struct OtherReading {
  std::string key;    // "dense-pages", "scales-rotated", "bytes-missing"
  std::string words;  // "the gather takes pages of the pool to be dense"
};

// The readings that predict every byte that came back, which the contract does
// not. Those that rest on memory outside of the tensors are left out.
std::vector<OtherReading> OtherReadings(const ComparedStep& compared);

// Of those, the narrowed rules: readings that keep another rule of the contract
// where some condition holds, and the declared one elsewhere. Where it holds in
// all of a call, that rule predicts as much.
std::vector<OtherReading> NarrowedRules(const ComparedStep& compared);

// Whether `key` is that of a narrowed rule: one that foretells what every call
// leaves behind, and so can be ruled out by calls that are right.
bool IsNarrowedRule(absl::string_view key);

// Whether the narrowed rule `key` of this step's kernel would have left behind
// something else than `after`.
bool RulesOutNarrowedRule(const Contract& contract, const CaseImage& image,
                          int step, absl::Span<const std::uint8_t> pool_before,
                          const AfterImage& after, absl::string_view key);

// Whether `key` is that of such a reading; kBytesMissing is none, as it
// predicts nothing.
bool IsOtherReading(absl::string_view key);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_OTHER_READING_H_
