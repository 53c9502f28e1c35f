#include <algorithm>

#include "oracle/decode/keys.h"
#include "oracle/expect.h"
#include "oracle/gather_rows.h"
#include "oracle/layout.h"
#include "oracle/token_place.h"

namespace mlafuzz {
namespace {

using oracle::RowLayout;

void MarkGathered(const GatherContract& contract, const CaseImage& image,
                  const StepImage& step, std::vector<std::uint8_t>* set) {
  const RowLayout& layout = oracle::LayoutOf(image.pool.layout);
  const std::int64_t size = static_cast<std::int64_t>(set->size());
  const bool copies_tail =
      image.pool.layout != FP8_DS_MLA || step.step == nullptr ||
      !step.step->gather().nope() ||
      contract.nope_tail() == GatherContract::NOPE_TAIL_VERBATIM;
  int scale_bytes = layout.tiles() * layout.scale_bytes;
  if (!layout.copied && contract.scale() == GatherContract::SCALE_ONE) {
    scale_bytes = 0;
  }
  if (!layout.copied && contract.scale() == GatherContract::SCALE_FIRST_TILE) {
    scale_bytes = layout.scale_bytes;
  }
  const auto mark = [&](std::int64_t at, std::int64_t count) {
    if (at < 0 || at + count > size) return;
    std::fill_n(set->begin() + at, count, 1);
  };
  const bool from_boundary =
      layout.copied &&
      contract.code_loads() == GatherContract::LOADS_FROM_BOUNDARY;
  oracle::ForEachGatherRow(
      contract, image.pool, step, [&](const oracle::GatherRow& row) {
        if (row.source != oracle::GatherRow::Source::kSlot) return;
        const PoolImage& pool = image.pool;
        if (!layout.copied &&
            contract.rows() == GatherContract::ROWS_ONE_SCALE) {
          mark(pool.RowAt(row.slot), oracle::kOneScaleCodes);
          return;
        }
        if (!layout.copied && contract.rows() == GatherContract::ROWS_BYTES) {
          if (contract.byte_rows() == GatherContract::BYTES_AT_PITCH) {
            mark(pool.offset + row.slot / pool.page_size * pool.page_stride +
                     row.slot % pool.page_size * pool.token_stride(),
                 pool.row_bytes);
          } else {
            ForEachPart(pool, row.slot, 0, pool.row_bytes,
                        [&](std::int64_t at, std::int64_t, std::int64_t count) {
                          mark(at, count);
                        });
          }
          return;
        }
        const oracle::TokenPlace place = oracle::PlaceOf(image.pool, row.slot);
        const std::int64_t codes = place.row + layout.codes_at;
        mark(from_boundary ? codes / 16 * 16 : codes, layout.codes);
        mark(place.ByteAt(layout, layout.scales_at), scale_bytes);
        if (copies_tail) {
          mark(place.ByteAt(layout, layout.rope_at), 2 * layout.rope);
        }
      });
}

// The rows that lanes name which are not masked, and slot 0 where a contract
// has masked ones read it: of the pool, or of the second cache.
void MarkDecoded(const Contract& contract, const CaseImage& image,
                 const StepImage& step, bool extra,
                 std::vector<std::uint8_t>* set) {
  const RowLayout& layout = oracle::LayoutOf(image.pool.layout);
  const Tensor& q = *step.Find(TensorId::kQ);
  // Rope that is no value is read for the query's columns beyond 512.
  const bool reads_rope =
      layout.columns() == oracle::kLatentColumns ||
      q.shape[2] > oracle::kLatentColumns ||
      contract.decode().nope_tail() != DecodeContract::NOPE_TAIL_IGNORED;
  const std::int64_t size = static_cast<std::int64_t>(set->size());
  const auto mark = [&](const oracle::TokenPlace& place) {
    const auto part = [&](int first, int count) {
      const std::int64_t at = place.ByteAt(layout, first);
      if (at < 0 || at + count > size) return;
      std::fill_n(set->begin() + at, count, 1);
    };
    part(layout.codes_at, layout.codes);
    part(layout.scales_at, layout.tiles() * layout.scale_bytes);
    if (reads_rope) part(layout.rope_at, 2 * layout.rope);
  };
  for (std::int64_t query = 0; query < q.shape[0]; ++query) {
    const oracle::KeyPlan plan =
        oracle::PlanKeys(contract, image.pool, step, query, {});
    for (const oracle::Key& key : plan.keys) {
      if (key.in_extra == extra && key.at >= 0) mark({key.at, key.behind});
    }
    const std::int64_t masked =
        extra ? plan.masked_extra : plan.masked - plan.masked_extra;
    const PoolImage& pool = extra ? step.extra : image.pool;
    if (masked > 0 && oracle::ReadsSlot0(contract.decode()) &&
        pool.slots() > 0) {
      mark(oracle::PlaceOf(pool, 0));
    }
  }
}

}  // namespace

std::vector<std::uint8_t> PoolReadSet(const Contract& contract,
                                      const CaseImage& image, int step) {
  std::vector<std::uint8_t> set(image.pool.bytes.size(), 0);
  const StepImage& s = image.steps[static_cast<std::size_t>(step)];
  if (s.is_patch) return set;
  switch (s.kernel) {
    case Kernel::kGather:
      MarkGathered(contract.gather(), image, s, &set);
      break;
    case Kernel::kDecode:
      MarkDecoded(contract, image, s, /*extra=*/false, &set);
      break;
    case Kernel::kWriter:   // stores rows and reads none
    case Kernel::kConvert:  // does not see the pool
      break;
  }
  return set;
}

std::vector<std::uint8_t> ExtraReadSet(const Contract& contract,
                                       const CaseImage& image, int step) {
  const StepImage& s = image.steps[static_cast<std::size_t>(step)];
  const Tensor* cache = s.Find(TensorId::kExtraCache);
  std::vector<std::uint8_t> set(cache == nullptr ? 0 : cache->bytes.size(), 0);
  if (cache != nullptr) {
    MarkDecoded(contract, image, s, /*extra=*/true, &set);
  }
  return set;
}

}  // namespace mlafuzz
