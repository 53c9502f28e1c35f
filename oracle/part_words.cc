#include "oracle/part_words.h"

#include "absl/strings/str_cat.h"

namespace mlafuzz::oracle {
namespace {

// What vLLM's row has behind its codes and scales; without rope nobody's.
bool HasTail(const RowLayout& layout) {
  return layout.row_bytes == kFp8DsMla.row_bytes;
}

std::string Gathered(const GatherContract& gather, const RowLayout& layout) {
  if (layout.copied) return "copied codes";
  switch (gather.rows()) {
    case GatherContract::ROWS_BYTES:
      return "copied bytes";
    case GatherContract::ROWS_ONE_SCALE:
      return "values of one scale";
    default:
      // Elsewhere the latent part has rope in it, or in codes.
      return layout.codes == kLatentColumns && layout.scale_bytes == 4
                 ? "latent values"
                 : "dequantised values";
  }
}

// What stands beside the values in a row of the output.
std::string BesideValues(const GatherContract& gather,
                         const RowLayout& layout) {
  if (layout.copied) return "the scales are";
  if (gather.rows() == GatherContract::ROWS_BYTES ||
      gather.rows() == GatherContract::ROWS_ONE_SCALE || layout.rope == 0) {
    return "";
  }
  return HasTail(layout) ? "the tail is" : "the rope is";
}

}  // namespace

PartWords PartWordsOf(const Contract& contract, const RowLayout& layout) {
  PartWords words;
  const GatherContract& gather = contract.gather();
  const char* and_rope = layout.rope > 0 ? " and rope" : "";
  words.gathered = Gathered(gather, layout);
  const char* tail = HasTail(layout) ? "tail" : "unused rope";
  words.tail_bytes = absl::StrCat(tail, " bytes");
  words.tail_values = absl::StrCat(tail, " values");
  words.only_codes =
      absl::StrCat("codes are wrong while scales", and_rope, " are right");
  words.only_scales =
      absl::StrCat("scales are wrong while codes", and_rope, " are right");
  words.only_tail = HasTail(layout) ? "the reserved tail is wrong"
                                    : "bytes of rope are wrong in rows without";
  const std::string beside = BesideValues(gather, layout);
  words.only_values = absl::StrCat(
      words.gathered, " are wrong",
      beside.empty() ? "" : absl::StrCat(" while ", beside, " right"));
  words.only_rope_columns = absl::StrCat("rope columns are wrong while the ",
                                         words.gathered, " are right");
  return words;
}

}  // namespace mlafuzz::oracle
