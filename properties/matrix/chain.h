#ifndef MLAFUZZ_PROPERTIES_MATRIX_CHAIN_H_
#define MLAFUZZ_PROPERTIES_MATRIX_CHAIN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "corpus/case.pb.h"
#include "corpus/contract.pb.h"
#include "corpus/image.h"
#include "corpus/observation.h"
#include "corpus/parties.h"

namespace mlafuzz {

// A writer and whoever reads its rows: a gather that ends the chain, or a
// decode. What the reader makes of the rows may be what they mean, or not.
//
// What rows mean. The value of a code is code * scale, the scale being the one
// in the row, whatever rule gave it: who stores 2^ceil(s) means 2^ceil(s).
// Rows without rope mean a rope of zeros. So a chain has a twin that keeps the
// meaning: the same writer and reader with
//
//   writer.tail       TAIL_ZERO, of rows without rope
//   qk.scale_rule, v.scale_rule, gather.scale      SCALE_RAW
//   *.ue8m0_zero, *.ue8m0_last  ZERO_IS_SUBNORMAL, LAST_IS_NAN (E8M0 of the
//                     OCP microscaling formats)
//   gather.codes      E4M3FN
//   gather.code_loads, gather.scale_rows  LOADS_EXACT, SCALE_ROWS_OWN, of a
//                     gather that copies
//   decode.nope_tail  NOPE_TAIL_IGNORED, gather.nope_tail NOPE_TAIL_ZERO
//   decode.rope_values  ROPE_IN_VALUES, of rows whose 512 values hold rope
//
// each where it means something for the layout (RuleApplies()). All other rules
// (LSE base, empty rows, sinks, arithmetic) are the reader's promises to its
// caller and the same in both. A chain disagrees on a case if the twin's result
// and its own are apart by more than both derived bounds.
struct Chain {
  Contract writer;
  Contract reader;
  Kernel kernel = Kernel::kDecode;  // of the reader: kGather or kDecode
  Rope rope = Rope::kWritten;
  // Of a decode: calls may have a second cache. Nobody in the chain writes it,
  // so its rows are such as every reader here takes alike.
  bool second_cache = false;
};

// A rule on which the meaning rests.
struct MeaningRule {
  std::string field;  // "qk.scale_rule"
  std::string meant;  // "SCALE_RAW"
};
// Of this kind of chain (its layout, its reader's kernel, its rope), the
// writer's first.
std::vector<MeaningRule> MeaningRules(const Chain& chain);

// One rule's value by its name, and back. `field` must be an enum field of a
// message of Contract, `value` one of its values.
std::string RuleOf(const Contract& contract, absl::string_view field);
void SetRule(Contract& contract, absl::string_view field,
             absl::string_view value);
// Of the chain's writer if the field begins with "writer.", else of its reader.
std::string RuleOf(const Chain& chain, absl::string_view field);
void SetRule(Chain& chain, absl::string_view field, absl::string_view value);

// The chain that keeps the meaning.
Chain Twin(const Chain& chain);
// Rules in which the chain is not its twin.
std::vector<MeaningRule> Deviations(const Chain& chain);

// A case of two steps in the chain's layout, a write of every slot of its pool
// and a read of some, drawn from `seed`; all that it reads was written by the
// chain's writer.
Case ChainCase(const Chain& chain, std::uint64_t seed);

// How a case stands with a chain.
enum class Fit {
  kFits,
  kRefused,  // writer or reader refuses its step: see `rule`
  kOther,    // no chain, not these rows, or the caller's duty: no evidence
};
struct FitResult {
  Fit fit = Fit::kOther;
  std::string rule;    // "decode.pe_dim"
  std::string reason;  // "pe_dim 64 is not one of {0}"
};
// Fits: the chain's layout; two steps, a write and the reader's, valid for
// both; rows with or without rope as the chain has them; all that is to be read
// was written; a query with rope of rows with rope; a second cache only where
// the chain has one, with no scale byte 0 or 255 among what is read of it.
FitResult Fits(const Chain& chain, const CaseImage& image);

// What `a` and `b` leave of a case that fits both: nullopt if one result can be
// right for both, else the first place in words ("query 0, head 1: LSE -1.25
// against -1.5").
std::optional<std::string> Apart(const Chain& a, const Chain& b,
                                 const CaseImage& image);

// Whether what came back from the reader's step may be right for `chain`, its
// writer's bytes being those of its contract: nullopt, or the first place in
// words. For cases of ChainCase() and what Minimize() makes of them.
std::optional<std::string> Misses(const Chain& chain, const CaseImage& image,
                                  const Observation& observation);

// Whether the case could show a wrong rule `field` of this chain:
//   * rules of the reader: were its rule the chain's own, if it deviates, or
//     some other value, and the writer as it is or, for scale rules, its scales
//     raw, for byte 0 of UE8M0 scales, without a floor, for byte 255, one that
//     stores finite codes beside it; of scale rules and UE8M0 scales, which
//     have no raw ones, any other value will do;
//   * writer.tail: were the tail left stale and read as it stands;
// the result would be apart from what is meant.
bool ShowsRule(const Chain& chain, absl::string_view field,
               const CaseImage& image);

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_MATRIX_CHAIN_H_
