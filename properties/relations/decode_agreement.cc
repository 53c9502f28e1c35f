#include "properties/relations/decode_agreement.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "oracle/bf16.h"
#include "oracle/decode/keys.h"
#include "oracle/decode/observed_rows.h"

namespace mlafuzz {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kFp32MinNormal = 0x1p-126;

// What the few fp64 operations of one comparison lose, of the largest operand.
constexpr double kFp64Slack = 0x1p-50;

// Values of bf16 words in order: 0x0000 and 0x8000 are both 0.
std::int32_t Rank(std::uint16_t bits) {
  const std::int32_t magnitude = bits & 0x7fff;
  return bits & 0x8000 ? -magnitude : magnitude;
}

double ValueOfRank(std::int32_t rank) {
  // What follows the largest finite word is not infinite for a rounding: it
  // would be the next power of two.
  if (rank == 0x7f80) return 0x1p128;
  if (rank == -0x7f80) return -0x1p128;
  const std::uint16_t bits = static_cast<std::uint16_t>(
      rank < 0 ? 0x8000 | static_cast<std::uint16_t>(-rank) : rank);
  return oracle::Bf16Value(bits);
}

// Of two expected values: whether they say the same special thing, and whether
// one of them is special.
bool Special(double value) { return !std::isfinite(value); }
bool SameSpecial(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || a == b;
}

enum class Sides { kOpen, kAgrees, kDiffers };

struct Value {
  double expected;
  double bound;
};

Sides OutVerdict(const Value& a, const Value& b, std::uint16_t bits_a,
                 std::uint16_t bits_b, bool may_flush) {
  if (std::isinf(a.bound) || std::isinf(b.bound)) return Sides::kOpen;
  const Preimage x = RoundsTo(bits_a, may_flush);
  const Preimage y = RoundsTo(bits_b, may_flush);
  if (Special(a.expected) || Special(b.expected)) {
    if (!SameSpecial(a.expected, b.expected)) return Sides::kOpen;
    return (std::isnan(x.low) && std::isnan(y.low)) || bits_a == bits_b
               ? Sides::kAgrees
               : Sides::kDiffers;
  }
  if (std::isnan(x.low) || std::isnan(y.low)) {
    return std::isnan(x.low) && std::isnan(y.low) ? Sides::kAgrees
                                                  : Sides::kDiffers;
  }
  if (bits_a == bits_b && a.expected == b.expected) return Sides::kAgrees;
  const double shift = b.expected - a.expected;
  const double bound = a.bound + b.bound;
  const double slack =
      kFp64Slack * (std::fabs(a.expected) + std::fabs(b.expected) + bound);
  return y.high - x.low >= shift - bound - slack &&
                 y.low - x.high <= shift + bound + slack
             ? Sides::kAgrees
             : Sides::kDiffers;
}

Sides LseVerdict(const Value& a, const Value& b, float x, float y,
                 double shift) {
  if (std::isinf(a.bound) || std::isinf(b.bound)) return Sides::kOpen;
  if (Special(a.expected) || Special(b.expected)) {
    if (!SameSpecial(a.expected, b.expected)) return Sides::kOpen;
    return SameSpecial(x, y) ? Sides::kAgrees : Sides::kDiffers;
  }
  if (Special(x) || Special(y)) {
    return SameSpecial(x, y) ? Sides::kAgrees : Sides::kDiffers;
  }
  const double bound = a.bound + b.bound;
  const double slack = kFp64Slack * (std::fabs(a.expected) +
                                     std::fabs(b.expected) + std::fabs(shift));
  return std::fabs(double{y} - double{x} - shift) <= bound + slack
             ? Sides::kAgrees
             : Sides::kDiffers;
}

// The keys of a split that has any, block by block: where in the block, which
// slot of which cache. Blocks without keys leave no trace.
using Block = std::vector<std::tuple<std::int64_t, std::int64_t, bool>>;
std::vector<std::vector<Block>> PlacesOf(const oracle::KeyPlan& plan,
                                         std::int64_t block_size) {
  std::vector<std::vector<Block>> splits;
  for (const oracle::KeyPlan::Split& split : plan.splits) {
    if (split.keys.first == split.keys.end) continue;
    std::vector<Block>& blocks = splits.emplace_back();
    for (const oracle::KeyRange& range : split.blocks) {
      if (range.first == range.end) continue;
      Block& block = blocks.emplace_back();
      for (int j = range.first; j < range.end; ++j) {
        const oracle::Key& key = plan.keys[static_cast<std::size_t>(j)];
        block.push_back({key.lane % block_size, key.slot, key.in_extra});
      }
    }
  }
  return splits;
}

}  // namespace

Preimage RoundsTo(std::uint16_t bits, bool may_flush) {
  if (oracle::IsBf16Nan(bits)) {
    return {std::numeric_limits<double>::quiet_NaN(),
            std::numeric_limits<double>::quiet_NaN()};
  }
  const std::int32_t rank = Rank(bits);
  const double value = ValueOfRank(rank);
  Preimage p;
  p.low = rank == -0x7f80 ? -kInfinity : (ValueOfRank(rank - 1) + value) / 2;
  p.high = rank == 0x7f80 ? kInfinity : (ValueOfRank(rank + 1) + value) / 2;
  if (rank == 0 && may_flush) {
    p.low = std::min(p.low, -kFp32MinNormal);
    p.high = std::max(p.high, kFp32MinNormal);
  }
  return p;
}

bool SamePlan(const Contract& contract, const CaseImage& a,
              const CaseImage& b) {
  if (oracle::ReadsSlot0(contract.decode()) ||
      contract.decode().leading_block() !=
          DecodeContract::LEADING_BLOCK_NEUTRAL) {
    return false;
  }
  const StepImage& x = a.steps[0];
  const StepImage& y = b.steps[0];
  const std::int64_t queries = x.Find(TensorId::kQ)->shape[0];
  const bool sinks = x.Find(TensorId::kSinks) != nullptr;
  const std::int64_t block = contract.arithmetic().block();
  for (std::int64_t query = 0; query < queries; ++query) {
    const oracle::KeyPlan p = oracle::PlanKeys(contract, a.pool, x, query, {});
    const oracle::KeyPlan q = oracle::PlanKeys(contract, b.pool, y, query, {});
    if (!p.known || !q.known) return false;
    // One split alone may store its output without a partial.
    if ((p.splits.size() > 1) != (q.splits.size() > 1)) return false;
    // A row without keys may take a short cut past its sink.
    if (sinks && p.keys.empty()) return false;
    if (PlacesOf(p, block) != PlacesOf(q, block)) return false;
  }
  return true;
}

Finding Compare(const Contract& contract, const DecodeRun& first,
                const DecodeRun& second, const Agreement& agreement) {
  if (second.observed.pool.has_value()) {
    if (std::string d = FirstPoolDifference(
            second.image.pool, second.image.pool.bytes, *second.observed.pool);
        !d.empty()) {
      return Finding::Fail(absl::StrCat("a decode changed the pool: ", d));
    }
  }
  const oracle::ObservedRows a(first.image.steps[0], first.observed);
  const oracle::ObservedRows b(second.image.steps[0], second.observed);
  if (!a.well_formed() || !b.well_formed()) {
    return {Verdict::kProtocol,
            "the observation's buffers have other sizes than the case's"};
  }
  std::optional<DecodeExpectation> ea, eb;
  if (!agreement.bitwise) {
    ea = ExpectDecode(contract, first.image, 0, first.image.pool.bytes);
    eb = ExpectDecode(contract, second.image, 0, second.image.pool.bytes);
  }
  const Tensor& q = *second.image.steps[0].Find(TensorId::kQ);
  const std::int64_t rows = q.shape[0] * q.shape[1];
  bool open = true;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t other =
        agreement.rows.empty() ? row
                               : agreement.rows[static_cast<std::size_t>(row)];
    const auto value = [](const std::vector<double>& values,
                          const std::vector<double>& bounds, std::int64_t at) {
      return Value{values[static_cast<std::size_t>(at)],
                   bounds[static_cast<std::size_t>(at)]};
    };
    const float x = a.Lse(other), y = b.Lse(row);
    Sides verdict;
    double bound = 0;
    if (agreement.bitwise) {
      const bool same =
          std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y) ||
          (std::isnan(x) && std::isnan(y));
      verdict = same ? Sides::kAgrees : Sides::kDiffers;
    } else {
      const Value va = value(ea->lse, ea->lse_bound, other);
      const Value vb = value(eb->lse, eb->lse_bound, row);
      verdict = LseVerdict(va, vb, x, y, agreement.lse_shift);
      bound = va.bound + vb.bound;
    }
    open &= verdict == Sides::kOpen;
    const std::int64_t query = row / q.shape[1], head = row % q.shape[1];
    if (verdict == Sides::kDiffers) {
      return Finding::Fail(absl::StrFormat(
          "lse[%d, %d]: %.9g, plain run %.9g; to differ by %.9g +- %.3g", query,
          head, y, x, agreement.lse_shift, bound));
    }
    for (int c = 0; c < kDecodeColumns; ++c) {
      const std::uint16_t bits_a = a.Out(other, c), bits_b = b.Out(row, c);
      double shift = 0;
      if (agreement.bitwise) {
        verdict = bits_a == bits_b || (oracle::IsBf16Nan(bits_a) &&
                                       oracle::IsBf16Nan(bits_b))
                      ? Sides::kAgrees
                      : Sides::kDiffers;
      } else {
        const Value va =
            value(ea->out, ea->out_bound, other * kDecodeColumns + c);
        const Value vb =
            value(eb->out, eb->out_bound, row * kDecodeColumns + c);
        verdict =
            OutVerdict(va, vb, bits_a, bits_b, ea->may_flush || eb->may_flush);
        shift = vb.expected - va.expected;
        bound = va.bound + vb.bound;
      }
      open &= verdict == Sides::kOpen;
      if (verdict == Sides::kDiffers) {
        return Finding::Fail(absl::StrFormat(
            "attention[%d, %d, %d]: 0x%04x (%.9g), plain run 0x%04x (%.9g); to "
            "differ by %.3g +- %.3g and rounding to bf16",
            query, head, c, bits_b, oracle::Bf16Value(bits_b), bits_a,
            oracle::Bf16Value(bits_a), shift, bound));
      }
    }
  }
  if (open && rows > 0 && !agreement.bitwise) {
    return {Verdict::kUninformative, "the contract leaves every value open"};
  }
  return {};
}

absl::Status RunAndCompare(StepContext& context, const CaseImage& image,
                           const Agreement& agreement, const char* what,
                           Finding* finding) {
  Observation observation;
  if (absl::Status s = Rerun(context, image, &observation, finding); !s.ok()) {
    return s;
  }
  if (finding->ok()) {
    const CaseImage plain = PlainImage(context);
    *finding = Compare(context.contract(), {plain, context.plain},
                       {image, observation.steps[0]}, agreement);
  }
  if (!finding->ok()) {
    finding->detail = absl::StrCat(what, ": ", finding->detail);
  }
  return absl::OkStatus();
}

CaseImage PlainImage(const StepContext& context) { return OneStep(context); }

}  // namespace mlafuzz
