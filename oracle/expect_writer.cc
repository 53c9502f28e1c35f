#include <algorithm>
#include <array>
#include <cstring>

#include "oracle/expect_parts.h"
#include "oracle/layout.h"
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
        rope_(k_pe_) {}

  // False, and nothing written, if the source has no such row.
  bool Write(std::int64_t token, std::uint8_t* row) const {
    if (!WriteLatent(token, row + layout_.codes_at, row + layout_.scales_at)) {
      return false;
    }
    std::uint8_t* tail = row + layout_.rope_at;
    const std::int64_t pe_dim = k_pe_ == nullptr ? 0 : k_pe_->shape[1];
    if (pe_dim == 0) {
      if (tail_ != WriterContract::TAIL_UNCHANGED) {
        std::memset(tail, 0, 2 * layout_.rope);
      }
      return true;
    }
    // Bit copy, NaN payloads included.
    const std::int64_t first = token * k_pe_->strides[0];
    const std::int64_t values = std::min<std::int64_t>(pe_dim, layout_.rope);
    for (std::int64_t i = 0; i < values; ++i) {
      if (rope_.Has(first + i)) StoreBytes(rope_[first + i], tail + 2 * i);
    }
    return true;
  }

 private:
  bool WriteLatent(std::int64_t token, std::uint8_t* codes,
                   std::uint8_t* scales) const {
    const std::int64_t first = token * kv_c_->strides[0];
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
      StoreBytes(scale, scales + tile * layout_.scale_bytes);
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
};

}  // namespace

int WrittenRowBytes(const WriterContract& contract, const PoolImage& pool,
                    const StepImage& step) {
  const RowLayout& layout = LayoutOf(pool.layout);
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
  // Of 16-bit inputs alone is a rule known.
  if (kv_c == nullptr || DTypeSize(kv_c->dtype) != 2) return;
  const WritePlan plan = PlanWrites(contract, pool, step);
  result->outside_writes = plan.outside;
  if (plan.rows.empty()) return;
  result->pool.assign(pool_before.begin(), pool_before.end());
  const RowWriter writer(contract, pool, step);
  const int row_bytes = WrittenRowBytes(contract, pool, step);
  for (const RowWrite& row : plan.rows) {
    if (writer.Write(row.token, result->pool.data() + row.at)) {
      result->written += row_bytes;
    }
  }
  if (plan.repeated &&
      contract.duplicates() == WriterContract::DUPLICATES_RACE) {
    std::vector<std::int64_t> places;
    for (const RowWrite& row : plan.rows) places.push_back(row.at);
    std::sort(places.begin(), places.end());
    for (std::size_t i = 1; i < places.size(); ++i) {
      if (places[i] == places[i - 1]) {
        result->unsettled.push_back(
            {.tensor = -1, .begin = places[i], .end = places[i] + row_bytes});
      }
    }
  }
}

}  // namespace mlafuzz::oracle
