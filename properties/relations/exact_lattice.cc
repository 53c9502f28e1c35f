#include "properties/relations/exact_lattice.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "corpus/token_layout.h"
#include "oracle/bf16.h"
#include "oracle/decode/keys.h"
#include "oracle/decode/observed_rows.h"
#include "oracle/decode/rounding.h"
#include "properties/relations/decode_call.h"

namespace mlafuzz {
namespace {

constexpr std::int64_t kLatent = 512;
constexpr int kMostTiles = 16;

constexpr int kMostLog = 8;               // of the keys a row
constexpr std::int64_t kMostKeys = 1024;  // of all rows
constexpr int kLargestSum = 256;          // whole numbers that bf16 holds
constexpr int kLargestValue = 8;

// E4M3 of 0 to kLargestValue.
constexpr std::uint8_t kCodes[] = {0x00, 0x38, 0x40, 0x44, 0x48,
                                   0x4a, 0x4c, 0x4e, 0x50};

struct Lattice {
  int log_keys;  // of every row
  // Powers of two by which a tile's values are stored, and what the contract's
  // reader makes of them.
  int exponents[kMostTiles];  // 0 of rope
  std::vector<int> values;    // [slots, 512]
  std::vector<Lanes> rows;
};

Lattice DrawLattice(const StepContext& context) {
  Choices& choices = context.choices;
  const std::int64_t queries = context.step.Find(TensorId::kQ)->shape[0];
  Lattice lattice;
  int most = kMostLog;
  while (most > 0 && (queries << most) > kMostKeys) --most;
  lattice.log_keys =
      static_cast<int>(choices.Below(static_cast<std::uint32_t>(most + 1)));
  const int keys = 1 << lattice.log_keys;
  const int largest = std::min(kLargestValue, kLargestSum / keys);
  std::fill(std::begin(lattice.exponents), std::end(lattice.exponents), 0);
  const TokenLayout& layout = TokenLayoutOf(context.image.pool.layout);
  for (int tile = 0; tile < layout.tiles(); ++tile) {
    lattice.exponents[tile] = static_cast<int>(choices.Between(-3, 3));
  }
  const std::int64_t slots = context.image.pool.slots();
  lattice.values.resize(static_cast<std::size_t>(slots * kLatent));
  for (int& value : lattice.values) {
    value = static_cast<int>(choices.Between(-largest, largest));
  }
  lattice.rows.resize(static_cast<std::size_t>(queries));
  for (Lanes& row : lattice.rows) {
    for (int i = 0; i < keys; ++i) {
      row.push_back(static_cast<std::int32_t>(
          choices.Below(static_cast<std::uint32_t>(slots))));
    }
  }
  return lattice;
}

// Bits of a small whole number as bf16.
std::uint16_t Bf16Of(int value) {
  const float number = static_cast<float>(value);
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(number) >> 16);
}

void StoreRows(const Lattice& lattice, PoolImage& pool) {
  const TokenLayout& layout = TokenLayoutOf(pool.layout);
  for (std::int64_t slot = 0; slot < pool.slots(); ++slot) {
    const auto put = [&](std::int64_t byte, const void* from,
                         std::size_t count) {
      std::memcpy(pool.bytes.data() + pool.ByteAt(slot, byte), from, count);
    };
    const int* values =
        lattice.values.data() + static_cast<std::size_t>(slot * kLatent);
    for (int c = 0; c < layout.codes; ++c) {
      const auto code = static_cast<std::uint8_t>(kCodes[std::abs(values[c])] |
                                                  (values[c] < 0 ? 0x80 : 0));
      put(c, &code, 1);
    }
    for (int tile = 0; tile < layout.tiles(); ++tile) {
      const int at = layout.scales_at + layout.scale_bytes * tile;
      const int exponent = lattice.exponents[tile];
      if (layout.ue8m0()) {
        const auto byte = static_cast<std::uint8_t>(127 + exponent);
        put(at, &byte, 1);
      } else {
        const float scale = std::ldexp(1.0f, exponent);
        put(at, &scale, 4);
      }
    }
    // Among the 512 values, or behind them.
    for (int i = 0; i < layout.rope; ++i) {
      const std::uint16_t bits =
          Bf16Of(layout.codes + i < kLatent ? values[layout.codes + i] : 1);
      put(layout.rope_at + 2 * i, &bits, 2);
    }
  }
}

// The mean of a column over the keys of a row.
double MeanOf(const Contract& contract, const TokenLayout& layout,
              const Lattice& lattice, const Lanes& row, int column) {
  if (column >= layout.codes &&
      contract.decode().rope_values() == DecodeContract::ROPE_NOT_IN_VALUES) {
    return 0;
  }
  int sum = 0;
  for (const std::int32_t slot : row) {
    sum += lattice.values[static_cast<std::size_t>(slot) * kLatent +
                          static_cast<std::size_t>(column)];
  }
  const int exponent = contract.v().scale_rule() == ReaderSide::SCALE_ONE
                           ? 0
                           : lattice.exponents[column / layout.tile];
  return std::ldexp(sum, exponent - lattice.log_keys);
}

struct Shares {
  bool powers = true;  // every split with keys has a power of two of them
  bool equal = true;   // and all as many
};

Shares SharesOf(const oracle::KeyPlan& plan) {
  Shares shares;
  int first = 0;
  for (const oracle::KeyPlan::Split& split : plan.splits) {
    const int keys = split.keys.end - split.keys.first;
    if (keys == 0) continue;
    if (first == 0) first = keys;
    shares.powers &= (keys & (keys - 1)) == 0;
    shares.equal &= keys == first;
  }
  return shares;
}

Finding Judge(const Contract& contract, const Lattice& lattice,
              const CaseImage& image, const StepObservation& observed,
              bool* open) {
  const StepImage& step = image.steps[0];
  const DecodeExpectation bounds =
      ExpectDecode(contract, image, 0, image.pool.bytes);
  const oracle::ObservedRows rows(step, observed);
  if (!rows.well_formed()) {
    return {Verdict::kProtocol,
            "the observation's buffers have other sizes than the case's"};
  }
  const bool base_2 = contract.decode().lse_base() == DecodeContract::BASE_2;
  for (std::int64_t row = 0; row < bounds.rows(); ++row) {
    const std::int64_t query = row / bounds.heads;
    const Lanes& keys = lattice.rows[static_cast<std::size_t>(query)];
    const oracle::KeyPlan plan =
        oracle::PlanKeys(contract, image.pool, step, query, {});
    const Shares shares = SharesOf(plan);
    const double lse = lattice.log_keys * (base_2 ? 1.0 : std::numbers::ln2);
    const double lse_bound =
        base_2 && plan.known && shares.equal &&
                contract.arithmetic().exact_log2()
            ? 0
            : bounds.lse_bound[static_cast<std::size_t>(row)];
    if (!std::isinf(lse_bound)) {
      *open = false;
      if (!(std::fabs(rows.Lse(row) - lse) <= lse_bound)) {
        return Finding::Fail(absl::StrFormat(
            "lse[%d, %d]: %.9g, not %.9g +- %.3g: 2^%d keys of weight 1", query,
            row % bounds.heads, rows.Lse(row), lse, lse_bound,
            lattice.log_keys));
      }
    }
    if (!shares.powers) continue;  // a split's mean may not be exact
    for (int c = 0; c < kDecodeColumns; ++c) {
      const double mean =
          MeanOf(contract, TokenLayoutOf(image.pool.layout), lattice, keys, c);
      const double bound =
          bounds.out_bound[static_cast<std::size_t>(row * kDecodeColumns + c)];
      if (std::isinf(bound) || oracle::RoundBf16(mean - bound) != mean ||
          oracle::RoundBf16(mean + bound) != mean) {
        continue;
      }
      *open = false;
      const double got = oracle::Bf16Value(rows.Out(row, c));
      if (got == mean) continue;
      return Finding::Fail(absl::StrFormat(
          "attention[%d, %d, %d]: %.9g, not %.9g, the mean of 2^%d whole "
          "numbers",
          query, row % bounds.heads, c, got, mean, lattice.log_keys));
    }
  }
  return {};
}

}  // namespace

bool ExactLattice::Applies(const Contract&, const CaseImage& image,
                           const StepImage& step) {
  const PoolImage& pool = image.pool;
  const std::int64_t queries = step.Find(TensorId::kQ)->shape[0];
  return pool.slots() > 0 && pool.row_stride >= pool.row_part &&
         pool.page_stride >= pool.page_size * pool.row_stride &&
         pool.page_stride >= pool.page_bytes() && queries > 0 &&
         queries <= kMostKeys;
}

absl::Status ExactLattice::Run(StepContext& context, Finding* finding) {
  const Contract& contract = context.contract();
  Lattice lattice = DrawLattice(context);
  std::vector<CaseImage> images;
  std::vector<std::uint32_t> splits;
  for (int i = 0; i < 2; ++i) {
    Decode* call;
    CaseImage& image = images.emplace_back(OneDecode(context, &call));
    StoreRows(lattice, image.pool);
    StepImage& step = image.steps[0];
    DropSinks(step);
    DropExtra(step);
    Tensor& q = *step.Find(TensorId::kQ);
    std::fill(q.bytes.begin(), q.bytes.end(), 0);
    if (i == 1) {
      // Another order of the keys, another number of splits.
      for (Lanes& row : lattice.rows) {
        for (std::size_t k = row.size(); k > 1; --k) {
          std::swap(row[k - 1],
                    row[context.choices.Below(static_cast<std::uint32_t>(k))]);
        }
      }
      call->set_splits((call->splits() + 1 + context.choices.Below(4)) % 5);
    }
    splits.push_back(call->splits());
    SetRows(step, lattice.rows);
    if (contract.decode().capacity() != DecodeContract::PHYSICAL_WIDTH) {
      call->clear_declared_topk();
    }
  }
  std::vector<Observation> observations;
  if (absl::Status s = Rerun(context, images, &observations, finding);
      !s.ok() || !finding->ok()) {
    return s;
  }
  bool open = true;
  for (std::size_t i = 0; i < images.size(); ++i) {
    *finding =
        Judge(contract, lattice, images[i], observations[i].steps[0], &open);
    if (!finding->ok()) {
      finding->detail = absl::StrCat("with ", splits[i],
                                     " splits asked for: ", finding->detail);
      return absl::OkStatus();
    }
  }
  if (open) {
    *finding = {Verdict::kUninformative,
                "the contract leaves every value open"};
  }
  return absl::OkStatus();
}

}  // namespace mlafuzz
