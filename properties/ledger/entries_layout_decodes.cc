// Wrong decodes of //kernels/layouts/mutants/footer_decode.cc.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "oracle/decode/faults.h"
#include "oracle/verdict.h"
#include "properties/ledger/entries.h"

namespace mlafuzz {
namespace {

using namespace property;  // NOLINT: names of properties alone

constexpr Kernel kWrong = Kernel::kDecode;

LedgerEntry OfDsv4(LedgerEntry entry) {
  entry.target = "mutant:dsv4-decode-" + entry.target;
  entry.layout = DSV4_FOOTER_584;
  entry.right = "builtin:dsv4";
  return entry;
}

LedgerEntry Rule(std::string name, std::vector<std::string> properties,
                 std::string field, std::string value, std::string source) {
  return OfDsv4(OneRule(kWrong, std::move(name), std::move(properties),
                        std::move(field), std::move(value), std::move(source)));
}

// The same rule for the logits and the values.
LedgerEntry OnBothSides(std::string name, std::vector<std::string> properties,
                        const std::string& field, const std::string& value,
                        std::string source) {
  LedgerEntry entry = Rule(std::move(name), std::move(properties),
                           absl::StrCat("qk.", field, "+v.", field),
                           absl::StrCat(value, "+", value), std::move(source));
  entry.key = absl::StrCat("qk.", field, "=", value, "+v.", field, "=", value);
  return entry;
}

LedgerEntry Fault(std::string name, std::vector<std::string> properties,
                  std::string key, std::string source) {
  return OfDsv4(NoRule(kWrong, std::move(name), std::move(properties),
                       std::move(key), std::move(source)));
}

}  // namespace

std::vector<LedgerEntry> LayoutDecodeEntries() {
  const std::vector<std::string> outputs = {kDecodeOut, kDecodeLse};
  const std::vector<std::string> reads = {kDecodeOut, kDecodeLse, kMemory,
                                          "two-poison"};
  std::vector<LedgerEntry> entries = {
      Fault("scales-of-next", reads, oracle::kScalesOfNeighbour,
            "operator: entry of the next token"),
      Fault("entries-of-7", reads, "", "operator: padding dropped"),
      Fault("dense-pages", reads, oracle::kPageStrideDense,
            "operator: padding of pages dropped"),
      Rule("zero-is-zero", outputs, "v.ue8m0_zero", "ZERO_IS_ZERO",
           "flashinfer-ai/flashinfer, V side of its sparse decode"),
      // Byte 255 becomes Inf, too, which no case of a decode shows.
      OnBothSides("plain-shift", outputs, "ue8m0_zero", "ZERO_IS_ZERO",
                  "NVIDIA/TransformerEngine#3262"),
      Fault("tiles-of-128", outputs, "", "operator: tile of another layout"),
      Rule("values-without-rope", {kDecodeOut}, "decode.rope_values",
           "ROPE_NOT_IN_VALUES", "operator: V as in the 656-byte row"),
      Fault("logits-without-rope", outputs, oracle::kRopeDropped,
            "operator: term dropped"),
      Fault("rope-scaled", outputs, oracle::kRopeScaled,
            "operator: scale applied to rope"),
      Rule("length-ignored", reads, "decode.length", "LENGTH_IGNORED",
           "flashinfer-ai/flashinfer#5095"),
      Rule("masked-reads-slot0", {kDecodeOut, "two-poison", "page-zero-poison"},
           "decode.masked_lanes", "MASKED_READ_SLOT0",
           "sgl-project/sglang#39288, flashinfer-ai/flashinfer#5075"),
      Rule("extra-length-ignored", reads, "decode.extra_length",
           "EXTRA_LENGTH_IGNORED", "flashinfer-ai/flashinfer#5095"),
      Rule("extra-length-of-first", reads, "decode.extra_length",
           "EXTRA_LENGTH_OF_FIRST", "operator: length of the other row"),
      Fault("extra-cut-at-first-width", outputs, oracle::kExtraWidth,
            "operator: bound of the other row"),
      Fault("extra-page-size", reads, oracle::kExtraPageSize,
            "operator: main cache's constant on the extra cache"),
      Fault("extra-page-stride", reads, oracle::kExtraPageStride,
            "operator: main cache's constant on the extra cache"),
      Fault("extra-in-first", reads, oracle::kExtraInFirst,
            "operator: cache of the other row"),
      Rule("extra-dropped", outputs, "decode.extra", "EXTRA_DROPPED",
           "operator: segment dropped"),
  };
  LedgerEntry e4m3 = Fault("e4m3-tile-before", {kDecodeOut}, "",
                           "operator: tile index moved by one");
  e4m3.right = "builtin:flashinfer-dsv4";
  entries.push_back(std::move(e4m3));
  LedgerEntry nope = OneRule(kWrong, "mutant:nope-row-decode-qk-pow2", outputs,
                             "qk.scale_rule", "SCALE_POW2_FLOOR",
                             "vllm-project/vllm#54563, over rows without rope");
  nope.layout = NOPE_ROW_528;
  nope.right = "builtin:nope-row";
  entries.push_back(std::move(nope));
  return entries;
}

}  // namespace mlafuzz
