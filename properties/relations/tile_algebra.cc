#include "properties/relations/tile_algebra.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "corpus/token_layout.h"
#include "properties/relations/tile_values.h"

namespace mlafuzz {
namespace {

// A stored scale as a number.
float LoadScale(const TokenLayout& layout, const std::uint8_t* at) {
  std::uint32_t bits;
  if (layout.ue8m0()) {
    // The exponent field alone. What lies at the ends is no power of two.
    bits = std::uint32_t{*at} << 23;
  } else {
    std::memcpy(&bits, at, 4);
  }
  return std::bit_cast<float>(bits);
}

void StoreScale(const TokenLayout& layout, float scale, std::uint8_t* at) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(scale);
  if (layout.ue8m0()) {
    *at = static_cast<std::uint8_t>(bits >> 23);
  } else {
    std::memcpy(at, &bits, 4);
  }
}

// Changes every tile of every stored row by `change`, which returns the new
// values and rewrites the row's expected codes and scale; reruns and compares
// the whole pool.
//   change(values[tile], codes[tile], scale)
template <typename Change>
absl::Status RunOnTiles(StepContext& context, const char* what,
                        const Change& change, Finding* finding) {
  const PoolImage& pool = context.image.pool;
  const TokenLayout& layout = TokenLayoutOf(pool.layout);
  CaseImage image = OneStep(context);
  Tensor& kv = *image.steps[0].Find(TensorId::kKvC);
  std::vector<std::uint8_t> expected = context.pool_after();
  for (const StoredRow& row : StoredRows(context)) {
    std::uint8_t* codes = expected.data() + pool.RowAt(row.slot);
    for (int tile = 0; tile < layout.tiles(); ++tile) {
      TileValues values(static_cast<std::size_t>(layout.tile));
      const int first = tile * layout.tile;
      for (int i = 0; i < layout.tile; ++i) {
        values[i] = Bits16At(kv, row.token, first + i);
      }
      std::uint8_t* scale_at =
          expected.data() +
          pool.ByteAt(row.slot, layout.scales_at + tile * layout.scale_bytes);
      float scale = LoadScale(layout, scale_at);
      change(values, codes + first, scale);
      StoreScale(layout, scale, scale_at);
      for (int i = 0; i < layout.tile; ++i) {
        SetBits16(kv, row.token, first + i, values[i]);
      }
    }
  }
  Observation observation;
  if (absl::Status s = Rerun(context, image, &observation, finding);
      !s.ok() || !finding->ok()) {
    return s;
  }
  if (std::string d =
          FirstPoolDifference(pool, expected, FinalPool(image, observation));
      !d.empty()) {
    *finding = Finding::Fail(
        absl::StrCat(what, ": ", d, " (as the relation predicts it)"));
  }
  return absl::OkStatus();
}

bool HasDisjointRows(const CaseImage& image, const StepImage& step) {
  const Tensor& kv = *step.Find(TensorId::kKvC);
  return DTypeSize(kv.dtype) == 2 && RowsDisjoint(kv) &&
         SlotsDistinct(image.pool, step);
}

bool RawBitsAmax(const Contract& contract, const StepImage& step) {
  return step.Find(TensorId::kKvC)->dtype == F16 &&
         contract.writer().fp16_amax() == WriterContract::FP16_RAW_BITS;
}

}  // namespace

bool TilePermutation::Applies(const Contract&, const CaseImage& image,
                              const StepImage& step) {
  return HasDisjointRows(image, step);
}

absl::Status TilePermutation::Run(StepContext& context, Finding* finding) {
  return RunOnTiles(
      context, "tiles permuted",
      [&](TileValues& values, std::uint8_t* codes, float&) {
        for (std::size_t i = values.size(); i > 1; --i) {
          const std::uint32_t j =
              context.choices.Below(static_cast<std::uint32_t>(i));
          std::swap(values[i - 1], values[j]);
          std::swap(codes[i - 1], codes[j]);
        }
      },
      finding);
}

bool Negation::Applies(const Contract& contract, const CaseImage& image,
                       const StepImage& step) {
  return HasDisjointRows(image, step) && !RawBitsAmax(contract, step) &&
         contract.writer().negative_zero() ==
             WriterContract::NEGATIVE_ZERO_KEPT;
}

absl::Status Negation::Run(StepContext& context, Finding* finding) {
  const DType dtype = context.step.Find(TensorId::kKvC)->dtype;
  return RunOnTiles(
      context, "signs flipped",
      [&](TileValues& values, std::uint8_t* codes, float&) {
        if (!AllFinite(values, dtype)) return;
        for (std::size_t i = 0; i < values.size(); ++i) {
          values[i] ^= 0x8000;
          codes[i] ^= 0x80;
        }
      },
      finding);
}

bool PowerOfTwoScaling::Applies(const Contract& contract,
                                const CaseImage& image, const StepImage& step) {
  return HasDisjointRows(image, step) && !RawBitsAmax(contract, step);
}

absl::Status PowerOfTwoScaling::Run(StepContext& context, Finding* finding) {
  const DType dtype = context.step.Find(TensorId::kKvC)->dtype;
  const int mantissa_bits = dtype == BF16 ? 7 : 10;
  const int last_exponent = dtype == BF16 ? 254 : 30;
  const WriterContract& w = context.contract().writer();
  return RunOnTiles(
      context, "tiles times a power of two",
      [&](TileValues& values, std::uint8_t*, float& scale) {
        if (!AllFinite(values, dtype)) return;
        int lowest = last_exponent + 1, highest = 0;
        for (const std::uint16_t v : values) {
          if ((v & 0x7fff) == 0) continue;
          const int exponent = (v & 0x7fff) >> mantissa_bits;
          lowest = std::min(lowest, exponent);
          highest = std::max(highest, exponent);
        }
        // Every exponent code stays in [1, last], and so is normal.
        if (highest == 0 || lowest == 0) return;
        const int down = std::max(1 - lowest, -12);
        const int up = std::min(last_exponent - highest, 12);
        const int k = static_cast<int>(context.choices.Between(down, up));
        // The floor binds neither before nor after: with a factor of 2 to
        // spare, whatever it is compared with. The stored scale and its
        // reciprocal stay normal too.
        const double amax = AmaxOf(values, dtype);
        const double floor = FloorOf(w);
        const double least = std::ldexp(amax, std::min(k, 0));
        const double most = std::ldexp(amax, std::max(k, 0));
        if (w.floor() == WriterContract::FLOOR_ON_AMAX) {
          if (least < 2 * floor) return;
        } else if (w.floor() == WriterContract::FLOOR_ON_SCALE) {
          if (least / 448 < 2 * floor) return;
        }
        if (least / 448 < std::ldexp(1.0, -125)) return;
        if (most / 448 > std::ldexp(1.0, 120)) return;
        for (std::uint16_t& v : values) {
          if ((v & 0x7fff) == 0) continue;
          v = static_cast<std::uint16_t>(v + (k << mantissa_bits));
        }
        scale = std::ldexp(scale, k);
      },
      finding);
}

}  // namespace mlafuzz
