#include <algorithm>
#include <array>
#include <cstring>

#include "oracle/bf16.h"
#include "oracle/expect_parts.h"
#include "oracle/layout.h"
#include "oracle/layouts/ue8m0.h"
#include "oracle/quantise.h"
#include "oracle/tensor_view.h"
#include "oracle/write_plan.h"

namespace mlafuzz::oracle {
namespace {

constexpr int kMaxTile = 128;

// The sources of a write, and its rules.
class RowWriter {
 public:
  RowWriter(const WriterContract& contract, const PoolImage& pool,
            const StepImage& step)
      : layout_(LayoutOf(pool.layout)),
        quantiser_(contract),
        tail_(contract.tail()),
        kv_c_(step.Find(TensorId::kKvC)),
        k_pe_(step.Find(TensorId::kKPe)),
        latent_(kv_c_),
        rope_(k_pe_),
        latent_fp32_(kv_c_),
        rope_fp32_(k_pe_) {}

  // False, and nothing written, if the source has no such row.
  bool Write(std::int64_t token, std::uint8_t* row) const {
    if (!WriteLatent(token, row + layout_.codes_at, row + layout_.scales_at)) {
      return false;
    }
    ZeroPadding(row);
    if (layout_.rope == 0) return true;
    std::uint8_t* tail = row + layout_.rope_at;
    const std::int64_t pe_dim = k_pe_ == nullptr ? 0 : k_pe_->shape[1];
    if (pe_dim == 0) {
      if (tail_ != WriterContract::TAIL_UNCHANGED) {
        std::memset(tail, 0, 2 * layout_.rope);
      }
      return true;
    }
    // Bit copy, NaN payloads included; of fp32 its bf16.
    const std::int64_t first = token * k_pe_->strides[0];
    const std::int64_t values = std::min<std::int64_t>(pe_dim, layout_.rope);
    for (std::int64_t i = 0; i < values; ++i) {
      if (k_pe_->dtype == F32) {
        if (!rope_fp32_.Has(first + i)) continue;
        StoreBytes(Bf16FromFloat(rope_fp32_[first + i], Rounding::kNearestEven),
                   tail + 2 * i);
      } else if (rope_.Has(first + i)) {
        StoreBytes(rope_[first + i], tail + 2 * i);
      }
    }
    return true;
  }

 private:
  // What lies behind the rows and is no scale is written 0 (vLLM's insert of
  // DeepSeek-V4).
  void ZeroPadding(std::uint8_t* row) const {
    if (layout_.row_part == layout_.row_bytes) return;
    std::memset(
        row + layout_.scales_end(), 0,
        static_cast<std::size_t>(layout_.row_bytes - layout_.scales_end()));
  }

  void StoreScale(float scale, std::uint8_t* at) const {
    if (layout_.scale_kind == RowLayout::Scales::kUe8m0) {
      *at = Ue8m0FromPow2(scale);
    } else {
      StoreBytes(scale, at);
    }
  }

  bool WriteLatent(std::int64_t token, std::uint8_t* codes,
                   std::uint8_t* scales) const {
    const std::int64_t first = token * kv_c_->strides[0];
    if (kv_c_->dtype == F32) return WriteFp32Latent(first, codes, scales);
    if (!latent_.Has(first) || !latent_.Has(first + layout_.codes - 1)) {
      return false;
    }
    std::array<std::uint16_t, kMaxTile> x;
    for (int tile = 0; tile < layout_.tiles(); ++tile) {
      const std::size_t n = static_cast<std::size_t>(layout_.tile);
      const std::int64_t at = 2 * (first + tile * layout_.tile);
      std::memcpy(x.data(), kv_c_->bytes.data() + at, 2 * n);
      const absl::Span<const std::uint16_t> values(x.data(), n);
      const float scale =
          quantiser_.TileScale(quantiser_.TileAmax(kv_c_->dtype, values));
      quantiser_.TileCodes(kv_c_->dtype, values, scale,
                           absl::MakeSpan(codes + tile * layout_.tile, n));
      StoreScale(scale, scales + tile * layout_.scale_bytes);
    }
    return true;
  }

  bool WriteFp32Latent(std::int64_t first, std::uint8_t* codes,
                       std::uint8_t* scales) const {
    if (!latent_fp32_.Has(first) ||
        !latent_fp32_.Has(first + layout_.codes - 1)) {
      return false;
    }
    std::array<float, kMaxTile> x;
    for (int tile = 0; tile < layout_.tiles(); ++tile) {
      const std::size_t n = static_cast<std::size_t>(layout_.tile);
      for (std::size_t i = 0; i < n; ++i) {
        x[i] = quantiser_.Fp32Input(latent_fp32_[first + tile * layout_.tile +
                                                 static_cast<std::int64_t>(i)]);
      }
      const absl::Span<const float> values(x.data(), n);
      const float scale = quantiser_.TileScale(quantiser_.TileAmax(values));
      quantiser_.TileCodes(values, scale,
                           absl::MakeSpan(codes + tile * layout_.tile, n));
      StoreScale(scale, scales + tile * layout_.scale_bytes);
    }
    return true;
  }

  const RowLayout& layout_;
  const Quantiser quantiser_;
  const WriterContract::Tail tail_;
  const Tensor* kv_c_;
  const Tensor* k_pe_;
  const Storage<std::uint16_t> latent_;
  const Storage<std::uint16_t> rope_;
  const Storage<float> latent_fp32_;
  const Storage<float> rope_fp32_;
};

// What two tokens of the plan store both.
void AddTornRows(const RowLayout& layout, const WritePlan& plan, int row_bytes,
                 Expectation* result) {
  std::vector<const RowWrite*> rows;
  for (const RowWrite& row : plan.rows) rows.push_back(&row);
  std::sort(rows.begin(), rows.end(),
            [](const RowWrite* a, const RowWrite* b) { return a->at < b->at; });
  const int in_row = std::min(row_bytes, layout.row_part);
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const RowWrite& row = *rows[i];
    if (row.at != rows[i - 1]->at) continue;
    result->unsettled.push_back(
        {.tensor = -1, .begin = row.at, .end = row.at + in_row});
    if (in_row == row_bytes) continue;
    result->unsettled.push_back({.tensor = -1,
                                 .begin = row.behind,
                                 .end = row.behind + row_bytes - in_row});
  }
}

}  // namespace

int WrittenRowBytes(const WriterContract& contract, const PoolImage& pool,
                    const StepImage& step) {
  const RowLayout& layout = LayoutOf(pool.layout);
  if (pool.layout != FP8_DS_MLA) return layout.row_bytes;
  const Tensor* k_pe = step.Find(TensorId::kKPe);
  if (k_pe == nullptr || k_pe->shape[1] == 0) {
    return contract.tail() == WriterContract::TAIL_UNCHANGED ? layout.rope_at
                                                             : layout.row_bytes;
  }
  const int values =
      static_cast<int>(std::min<std::int64_t>(k_pe->shape[1], layout.rope));
  return layout.rope_at + 2 * values;
}

void WriteRow(const WriterContract& contract, const PoolImage& pool,
              const StepImage& step, std::int64_t token, std::uint8_t* row) {
  RowWriter(contract, pool, step).Write(token, row);
}

void ExpectWrite(const WriterContract& contract, const PoolImage& pool,
                 const StepImage& step,
                 absl::Span<const std::uint8_t> pool_before,
                 Expectation* result) {
  const Tensor* kv_c = step.Find(TensorId::kKvC);
  // Of 16-bit inputs and of fp32 is a rule known.
  if (kv_c == nullptr || (DTypeSize(kv_c->dtype) != 2 && kv_c->dtype != F32)) {
    return;
  }
  const WritePlan plan = PlanWrites(contract, pool, step);
  result->outside_writes = plan.outside;
  if (plan.rows.empty()) return;
  result->pool.assign(pool_before.begin(), pool_before.end());
  const RowWriter writer(contract, pool, step);
  const int row_bytes = WrittenRowBytes(contract, pool, step);
  const RowLayout& layout = LayoutOf(pool.layout);
  TokenBytes token;
  for (const RowWrite& row : plan.rows) {
    bool stored = false;
    if (pool.split()) {
      LoadToken(layout, row.place(), result->pool.data(), token.data());
      stored = writer.Write(row.token, token.data());
      if (stored) {
        StoreToken(layout, row.place(), token.data(), result->pool.data());
      }
    } else {
      stored = writer.Write(row.token, result->pool.data() + row.at);
    }
    if (stored) result->written += row_bytes;
  }
  if (plan.repeated &&
      contract.duplicates() == WriterContract::DUPLICATES_RACE) {
    AddTornRows(layout, plan, row_bytes, result);
  }
}

}  // namespace mlafuzz::oracle
