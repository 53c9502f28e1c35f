#include <algorithm>
#include <cmath>

#include "corpus/contracts.h"
#include "oracle/decode/decode.h"
#include "oracle/decode/judge_decode.h"
#include "oracle/decode/rounding.h"

namespace mlafuzz {
namespace {

// Of one value under two contracts.
struct Pair {
  double a, a_bound, b, b_bound;

  bool open() const { return std::isinf(a_bound) || std::isinf(b_bound); }
  bool special() const { return !std::isfinite(a) || !std::isfinite(b); }
  // Both special and different, or one of them special.
  bool SpecialsDiffer() const {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) != std::isnan(b);
    return a != b;
  }
};

// Whether no bf16 word is right for both.
bool OutApart(const Pair& p, bool may_flush) {
  if (p.open()) return false;
  if (p.special()) return p.SpecialsDiffer();
  const double low = std::max(p.a - p.a_bound, p.b - p.b_bound);
  const double high = std::min(p.a + p.a_bound, p.b + p.b_bound);
  if (low <= high) return false;
  if (may_flush && std::fabs(low) < 0x1p-126 && std::fabs(high) < 0x1p-126) {
    return false;
  }
  return oracle::RoundBf16(low) > oracle::RoundBf16(high);
}

bool LseApart(const Pair& p) {
  if (p.open()) return false;
  if (p.special()) return p.SpecialsDiffer();
  return std::fabs(p.a - p.b) > p.a_bound + p.b_bound;
}

}  // namespace

bool DecodesApart(const DecodeExpectation& a, const DecodeExpectation& b) {
  if (a.outside_reads != b.outside_reads) return true;
  for (std::size_t i = 0; i < a.lse.size(); ++i) {
    if (LseApart({a.lse[i], a.lse_bound[i], b.lse[i], b.lse_bound[i]})) {
      return true;
    }
  }
  const bool may_flush = a.may_flush || b.may_flush;
  for (std::size_t i = 0; i < a.out.size(); ++i) {
    if (OutApart({a.out[i], a.out_bound[i], b.out[i], b.out_bound[i]},
                 may_flush)) {
      return true;
    }
  }
  return false;
}

std::vector<std::string> InformativeDecodeFields(
    const Contract& contract, const CaseImage& image, int step,
    absl::Span<const std::uint8_t> pool_before, absl::string_view only) {
  std::vector<std::string> fields;
  const Validity validity = ClassifyDecode(contract, image, step).validity;
  if (validity != Validity::kValid && validity != Validity::kBoundary) {
    return fields;
  }
  const DecodeExpectation expected =
      ExpectDecode(contract, image, step, pool_before);
  for (const Neighbour& neighbour : Neighbours(contract, Kernel::kDecode)) {
    if (!only.empty() && neighbour.field != only) continue;
    if (!fields.empty() && fields.back() == neighbour.field) continue;
    const bool refused =
        ClassifyDecode(neighbour.contract, image, step).validity ==
        Validity::kInvalid;
    if (refused ||
        DecodesApart(expected, ExpectDecode(neighbour.contract, image, step,
                                            pool_before))) {
      fields.push_back(neighbour.field);
    }
  }
  return fields;
}

}  // namespace mlafuzz
