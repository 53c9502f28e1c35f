#include "properties/relations/round_trip.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "corpus/token_layout.h"
#include "properties/relations/tile_values.h"

namespace mlafuzz {
namespace {

// Of the 656-byte row.
constexpr std::int64_t kLatent = 512;
constexpr std::int64_t kTailAt = 528;

// The bound, for a tile with largest magnitude A, a value x, u = 2^-24 (the
// unit roundoff of fp32, one half ulp) and v = 2^-8 (that of bf16):
//
//   S, the stored scale.  A/448 after the floor, with one rounding (two with a
//     reciprocal, whose own rounding is a third): S <= s (1 + u)^3, where
//     s = max(A/448, floor); a power-of-two ceiling, UE8M0 or not, at most
//     doubles it.
//   q = x/S (1 + e), |e| <= u; with a reciprocal |e| <= (1 + u)^2 - 1.
//   c, the code.  Nearest: |c - q| <= max(|q| 2^-4, 2^-10): half a step of a
//     three-bit mantissa, or of the subnormal step 2^-9. Toward zero: twice
//     that. Through fp16: half a step of fp16 more, 2^-11 |q|, or 2^-25. A q
//     that S's rounding lifts above 448 saturates: off by at most 448 ((1 +
//     u)^k
//     - 1), far below |q| 2^-4.
//   |c S - x| <= |c - q| S + |q S - x|
//             <= max(|x| r, t S) + |x| (1 + r) ((1 + u)^2 - 1)
//     with r the relative and t the absolute error of the code.
//   p = fp32(c S): relative u, or half the least subnormal, 2^-150; flushing
//     costs up to 2^-126.
//   y = bf16(p): relative v (truncated: 2v), or half the least subnormal,
//   2^-134
//     (truncated: 2^-133).
//
// All of it is evaluated in fp64; the last factor covers fp64's own roundings
// (about twenty operations of 2^-53 each, so 2^-48 is enough).
struct Bound {
  double scale_growth;  // S <= s * scale_growth
  double code_relative;
  double code_absolute;
  double product_relative;
  double product_absolute;

  Bound(const WriterContract& w, const GatherContract& g) {
    const double u = std::ldexp(1.0, -24);
    scale_growth = (1 + u) * (1 + u) * (1 + u);
    if (w.scale() == WriterContract::POW2_CEIL) scale_growth *= 2;
    code_relative = std::ldexp(1.0, -4);
    code_absolute = std::ldexp(1.0, -10);
    switch (w.code_rounding()) {
      case WriterContract::TOWARD_ZERO:
        code_relative *= 2;
        code_absolute *= 2;
        break;
      case WriterContract::THROUGH_FP16:
        code_relative += std::ldexp(1.0, -11) * (1 + code_relative);
        // The nearest code's half step is 2^-10 up to |q| = 2^-6.
        code_absolute += std::ldexp(1.0, -17) * (1 + std::ldexp(1.0, -10)) +
                         std::ldexp(1.0, -25);
        break;
      default:
        break;
    }
    const bool truncated = g.product() == GatherContract::BF16_TRUNCATED;
    const double v = std::ldexp(1.0, truncated ? -7 : -8);
    product_relative = (1 + u) * (1 + v) - 1;
    product_absolute =
        std::ldexp(1.0, -150) + std::ldexp(1.0, truncated ? -133 : -134);
    if (g.product() == GatherContract::FLUSH_DENORMALS) {
      product_absolute += std::ldexp(1.0, -126);
    }
  }

  // For |x| = `magnitude` in a tile whose exact scale is `s`.
  double Of(double magnitude, double s) const {
    const double u = std::ldexp(1.0, -24);
    const double code =
        std::max(magnitude * code_relative, code_absolute * s * scale_growth) +
        magnitude * (1 + code_relative) * ((1 + u) * (1 + u) - 1);
    const double product =
        (magnitude + code) * product_relative + product_absolute;
    return (code + product) * (1 + std::ldexp(1.0, -48));
  }
};

Step GatherStep(bool nope) {
  Step step;
  step.mutable_gather()->set_nope(nope);
  return step;
}

// A gather that reads `rows` one request each, in order.
StepImage GatherRows(const PoolImage& pool, const std::vector<StoredRow>& rows,
                     const GatherContract& gather, const Step& step) {
  StepImage out;
  out.kernel = Kernel::kGather;
  out.step = &step;
  const std::int64_t n = static_cast<std::int64_t>(rows.size());
  std::vector<std::int64_t> starts, ones, firsts, pages;
  for (const StoredRow& row : rows) {
    starts.push_back(static_cast<std::int64_t>(starts.size()));
    ones.push_back(1);
    pages.push_back(row.slot / pool.page_size);
    firsts.push_back(row.slot % pool.page_size);
  }
  const std::int64_t columns = TokenLayoutOf(pool.layout).dst_columns();
  Tensor dst;
  dst.id = TensorId::kDst;
  dst.dtype = BF16;
  dst.output = true;
  dst.ndim = 2;
  dst.shape = {n, columns};
  dst.strides = {columns, 1};
  dst.bytes.assign(static_cast<std::size_t>(n * columns * 2), 0xa5);
  out.tensors.push_back(std::move(dst));
  Tensor table = MakeList(TensorId::kBlockTable, pages, I32);
  table.ndim = 2;
  table.shape = {n, 1};
  table.strides = {1, 1};
  out.tensors.push_back(std::move(table));
  out.tensors.push_back(MakeList(TensorId::kWorkspaceStarts, starts, I32));
  if (std::find(gather.lengths().begin(), gather.lengths().end(),
                GatherContract::FROM_STARTS) == gather.lengths().end()) {
    out.tensors.push_back(MakeList(TensorId::kSeqLens, ones, I32));
  }
  if (pool.page_size > 1) {
    out.tensors.push_back(MakeList(TensorId::kSeqStarts, firsts, I32));
  }
  return out;
}

bool HasRows(const CaseImage& image, const StepImage& step) {
  return !StoredRows(image.pool, step).empty();
}

// What a gather of these rows left.
struct Gathered {
  const TokenLayout& layout;
  const std::vector<std::uint8_t>& bytes;

  std::uint16_t Bits(std::int64_t row, std::int64_t column) const {
    std::uint16_t bits;
    std::memcpy(&bits, bytes.data() + (row * layout.dst_columns() + column) * 2,
                2);
    return bits;
  }
};

// Latent values of one row.
std::string CheckLatent(const StepContext& context, const StoredRow& row,
                        std::int64_t dst_row, const Gathered& dst) {
  const WriterContract& w = context.contract().writer();
  const GatherContract& g =
      context.contracts[static_cast<std::size_t>(Kernel::kGather)]->gather();
  const Tensor& kv = *context.step.Find(TensorId::kKvC);
  const Bound bound(w, g);
  const int size = dst.layout.tile;
  for (int tile = 0; tile < dst.layout.tiles(); ++tile) {
    TileValues values(static_cast<std::size_t>(size));
    for (int i = 0; i < size; ++i) {
      values[static_cast<std::size_t>(i)] =
          Bits16At(kv, row.token, tile * size + i);
    }
    const double amax = AmaxOf(values, kv.dtype);
    // Inf and (where it poisons) NaN make a scale that means nothing.
    if (std::isinf(amax)) continue;
    if (!AllFinite(values, kv.dtype) &&
        w.nan() == WriterContract::NAN_POISONS_SCALE) {
      continue;
    }
    double s = amax / 448;
    if (w.floor() == WriterContract::FLOOR_ON_SCALE) {
      s = std::max(s, FloorOf(w));
    } else if (w.floor() == WriterContract::FLOOR_ON_AMAX) {
      s = std::max(amax, FloorOf(w)) / 448;
    }
    // Below the normal range of fp32 the scale's own rounding has no relative
    // bound.
    if (s < std::ldexp(1.0, -126)) continue;
    for (int i = 0; i < size; ++i) {
      const std::uint16_t value = values[static_cast<std::size_t>(i)];
      if (IsNan(value, kv.dtype)) continue;
      const double x = ValueOf(value, kv.dtype);
      const std::int64_t column = tile * size + i;
      const double y = ValueOf(dst.Bits(dst_row, column), BF16);
      const double limit = bound.Of(std::fabs(x), s);
      // A result past bf16's range rounds to Inf; the largest inputs can do so.
      if (std::isinf(y) && (y > 0) == (x > 0) &&
          std::fabs(x) + limit >= std::ldexp(255.5, 120)) {
        continue;
      }
      if (!(std::fabs(y - x) <= limit)) {
        return absl::StrFormat(
            "token %d, value %d: %g written, %g gathered, off by %g of at "
            "most %g",
            row.token, column, x, y, std::fabs(y - x), limit);
      }
    }
  }
  return "";
}

std::string CheckRope(const StepContext& context, const StoredRow& row,
                      std::int64_t dst_row, const Gathered& dst) {
  const Tensor* pe = context.step.Find(TensorId::kKPe);
  const bool rope = pe != nullptr && pe->shape[1] > 0;
  if (!rope &&
      context.contract().writer().tail() != WriterContract::TAIL_ZERO) {
    return "";
  }
  for (std::int64_t i = 0; i < dst.layout.rope; ++i) {
    const std::uint16_t want = rope ? Bits16At(*pe, row.token, i) : 0;
    const std::uint16_t got = dst.Bits(dst_row, dst.layout.codes + i);
    if (got != want) {
      return absl::StrFormat(
          "token %d, column %d: 0x%04x gathered, 0x%04x written%s", row.token,
          dst.layout.codes + i, got, want, rope ? "" : " (no rope)");
    }
  }
  return "";
}

const GatherContract* GatherOf(const StepContext& context) {
  const Contract* contract =
      context.contracts[static_cast<std::size_t>(Kernel::kGather)];
  const Target* target = context.targets.For(Kernel::kGather);
  return contract == nullptr || target == nullptr ||
                 !target->Implements(Kernel::kGather)
             ? nullptr
             : &contract->gather();
}

}  // namespace

bool ReadsScalesOf(const GatherContract& gather, const WriterContract& writer) {
  switch (gather.scale()) {
    case GatherContract::SCALE_RAW:
      return true;
    case GatherContract::SCALE_POW2_FLOOR:
    case GatherContract::SCALE_POW2_CEIL:
    case GatherContract::SCALE_BF16:
      // A power of two is left as it is by all of them.
      return writer.scale() == WriterContract::POW2_CEIL;
    default:
      return false;
  }
}

bool RoundTrip::Applies(const Contract& contract, const CaseImage& image,
                        const StepImage& step) {
  const Tensor& kv = *step.Find(TensorId::kKvC);
  // The bound is of a gather that dequantises.
  return !TokenLayoutOf(image.pool.layout).copied && HasRows(image, step) &&
         DTypeSize(kv.dtype) == 2 && RowsDisjoint(kv) &&
         SlotsDistinct(image.pool, step) &&
         !(kv.dtype == F16 &&
           contract.writer().fp16_amax() == WriterContract::FP16_RAW_BITS);
}

absl::Status RoundTrip::Run(StepContext& context, Finding* finding) {
  const GatherContract* gather = GatherOf(context);
  if (gather == nullptr || gather->codes() != GatherContract::E4M3FN ||
      gather->rows() != GatherContract::ROWS_UPCONVERTED ||
      !ReadsScalesOf(*gather, context.contract().writer())) {
    *finding = {Verdict::kSkipped,
                "no gather that reads what this writer stores"};
    return absl::OkStatus();
  }
  const std::vector<StoredRow> rows = StoredRows(context);
  // Outlives this: whoever asks why it failed looks at it.
  const Step& call =
      context.reruns.calls.emplace_back(GatherStep(/*nope=*/false));
  CaseImage image = OneStep(context);
  image.steps.push_back(GatherRows(image.pool, rows, *gather, call));
  Observation observation;
  if (absl::Status s = Rerun(context, image, &observation, finding);
      !s.ok() || !finding->ok()) {
    return s;
  }
  const Gathered dst{TokenLayoutOf(image.pool.layout),
                     observation.steps[1].outputs[0]};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::string d =
        CheckLatent(context, rows[i], static_cast<std::int64_t>(i), dst);
    if (d.empty()) {
      d = CheckRope(context, rows[i], static_cast<std::int64_t>(i), dst);
    }
    if (!d.empty()) {
      *finding = Finding::Fail(std::move(d));
      break;
    }
  }
  return absl::OkStatus();
}

bool NopeTailThroughGather::Applies(const Contract& contract,
                                    const CaseImage& image,
                                    const StepImage& step) {
  return image.pool.layout == FP8_DS_MLA &&
         step.Find(TensorId::kKPe) == nullptr && HasRows(image, step) &&
         SlotsDistinct(image.pool, step) &&
         contract.writer().tail() == WriterContract::TAIL_ZERO;
}

absl::Status NopeTailThroughGather::Run(StepContext& context,
                                        Finding* finding) {
  const GatherContract* gather = GatherOf(context);
  // Bytes as they are, or under one scale, have no columns that mean a tail.
  if (gather == nullptr || gather->rows() != GatherContract::ROWS_UPCONVERTED) {
    *finding = {Verdict::kSkipped, "no gather that makes bf16 of rows"};
    return absl::OkStatus();
  }
  const std::vector<StoredRow> rows = StoredRows(context);
  // Outlive this: whoever asks why it failed looks at them.
  const Step& with_rope = context.reruns.calls.emplace_back(GatherStep(false));
  const Step& without = context.reruns.calls.emplace_back(GatherStep(true));
  CaseImage image = OneStep(context);
  // Stale bytes wherever a tail will be.
  for (const StoredRow& row : rows) {
    const std::int64_t at = image.pool.RowAt(row.slot) + kTailAt;
    for (std::int64_t i = 0; i < 128; ++i) {
      image.pool.bytes[static_cast<std::size_t>(at + i)] =
          static_cast<std::uint8_t>(1 + context.choices.Below(255));
    }
  }
  image.steps.push_back(GatherRows(image.pool, rows, *gather, with_rope));
  if (gather->nope_tail() != GatherContract::NOPE_TAIL_UNTOUCHED) {
    image.steps.push_back(GatherRows(image.pool, rows, *gather, without));
  }
  Observation observation;
  if (absl::Status s = Rerun(context, image, &observation, finding);
      !s.ok() || !finding->ok()) {
    return s;
  }
  for (std::size_t g = 1; g < observation.steps.size(); ++g) {
    const Gathered dst{TokenLayoutOf(image.pool.layout),
                       observation.steps[g].outputs[0]};
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (std::int64_t c = kLatent; c < dst.layout.dst_columns(); ++c) {
        const std::uint16_t bits = dst.Bits(static_cast<std::int64_t>(i), c);
        if (bits == 0) continue;
        *finding = Finding::Fail(absl::StrFormat(
            "token %d, column %d: 0x%04x of a row without rope (gather told "
            "%s)",
            rows[i].token, c, bits, g == 1 ? "nothing" : "that it has none"));
        return absl::OkStatus();
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace mlafuzz
