#include "oracle/damage.h"

#include <algorithm>
#include <cstring>

#include "oracle/expect_parts.h"
#include "oracle/gather_rows.h"
#include "oracle/layout.h"
#include "oracle/settle.h"
#include "oracle/token_place.h"
#include "oracle/write_plan.h"

namespace mlafuzz::oracle {
namespace {

using Bytes = absl::Span<const std::uint8_t>;

bool Equal(Bytes a, Bytes b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

void Count(Region* region, int tensor, std::int64_t at) {
  if (region->count++ == 0) {
    region->tensor = tensor;
    region->at = at;
  }
}

class Assessor {
 public:
  Assessor(const Contract& contract, const CaseImage& image, int step,
           Bytes pool_before, const Expectation& expected,
           const AfterImage& after)
      : contract_(contract),
        pool_(image.pool),
        layout_(LayoutOf(image.pool.layout)),
        step_(image.steps[static_cast<std::size_t>(step)]),
        before_(pool_before),
        expected_(expected),
        after_(after) {}

  Damage Run() {
    switch (step_.kernel) {
      case Kernel::kWriter:
        AssessRows();
        break;
      case Kernel::kGather:
        AssessDst();
        AssessUnchangedPool();
        break;
      case Kernel::kConvert:
        AssessIndices();
        AssessUnchangedPool();
        break;
      case Kernel::kDecode:
        break;
    }
    return damage_;
  }

 private:
  // ---- writer

  void AssessRows() {
    const Bytes want = ExpectedPool(expected_, before_);
    // Bytes not yet accounted for.
    rest_.assign(after_.pool.begin(), after_.pool.end());
    if (LeavesScaleNanOpen(contract_)) {
      rest_ = SettleScales(pool_, want, after_.pool);
    }
    const WritePlan plan = PlanWrites(contract_.writer(), pool_, step_);
    std::vector<TokenPlace> places;
    for (const RowWrite& row : plan.rows) places.push_back(row.place());
    std::sort(places.begin(), places.end(), Before);
    places.erase(std::unique(places.begin(), places.end(),
                             [](const TokenPlace& a, const TokenPlace& b) {
                               return a.row == b.row;
                             }),
                 places.end());
    damage_.rows = static_cast<std::int64_t>(places.size());
    for (const TokenPlace& place : places) AssessRow(place, want);
    FindSkippedRows(plan, places);
    for (std::size_t i = 0; i < rest_.size(); ++i) {
      if (rest_[i] != want[i]) {
        Count(&damage_.foreign, -1, static_cast<std::int64_t>(i));
      }
    }
  }

  static bool Before(const TokenPlace& a, const TokenPlace& b) {
    return a.row < b.row;
  }

  // A token's bytes in one run.
  std::vector<std::uint8_t> TokenOf(const std::uint8_t* pool,
                                    const TokenPlace& place) const {
    std::vector<std::uint8_t> token(
        static_cast<std::size_t>(layout_.row_bytes));
    LoadToken(layout_, place, pool, token.data());
    return token;
  }

  Region* RegionOf(int byte, bool nope) {
    switch (layout_.PartOf(byte)) {
      case RowLayout::Part::kCodes:
        return &damage_.codes;
      case RowLayout::Part::kRope:
        return nope ? &damage_.tail : &damage_.rope;
      case RowLayout::Part::kScales:
        return &damage_.scales;
      case RowLayout::Part::kPadding:
        return &damage_.padding;
    }
    return &damage_.foreign;
  }

  void AssessRow(const TokenPlace& place, Bytes want) {
    const std::vector<std::uint8_t> got = TokenOf(rest_.data(), place);
    const std::vector<std::uint8_t> row = TokenOf(want.data(), place);
    if (got == row) return;
    ++damage_.wrong_rows;
    const Tensor* k_pe = step_.Find(TensorId::kKPe);
    const bool nope = k_pe == nullptr || k_pe->shape[1] == 0;
    if (got == TokenOf(before_.data(), place)) {
      Count(&damage_.untouched_rows, -1, place.row);
    } else {
      for (int i = 0; i < layout_.row_bytes; ++i) {
        if (got[static_cast<std::size_t>(i)] !=
            row[static_cast<std::size_t>(i)]) {
          Count(RegionOf(i, nope), -1, place.ByteAt(layout_, i));
        }
      }
    }
    StoreToken(layout_, place, row.data(), rest_.data());
  }

  // Rows that changed without being named by any slot, and hold exactly what a
  // skipped token's row would.
  void FindSkippedRows(const WritePlan& plan,
                       const std::vector<TokenPlace>& places) {
    constexpr int kMaxTrials = 4096;
    int trials = 0;
    const Bytes want = ExpectedPool(expected_, before_);
    for (std::int64_t slot = 0; slot < pool_.slots(); ++slot) {
      const TokenPlace place = PlaceOf(pool_, slot);
      if (!Fits(layout_, place, static_cast<std::int64_t>(rest_.size())) ||
          std::binary_search(places.begin(), places.end(), place, Before)) {
        continue;
      }
      const std::vector<std::uint8_t> got = TokenOf(rest_.data(), place);
      const std::vector<std::uint8_t> right = TokenOf(want.data(), place);
      if (got == right) continue;
      for (std::int64_t token : plan.skipped) {
        if (++trials > kMaxTrials) return;
        std::vector<std::uint8_t> row = TokenOf(before_.data(), place);
        WriteRow(contract_.writer(), pool_, step_, token, row.data());
        if (row != got) continue;
        Count(&damage_.skipped_rows, -1, place.row);
        StoreToken(layout_, place, right.data(), rest_.data());
        break;
      }
    }
  }

  // ---- gather

  void AssessDst() {
    const int index = IndexOf(TensorId::kDst);
    if (index < 0) return;
    const Tensor& dst = step_.tensors[index];
    const std::vector<std::uint8_t>& want = expected_.outputs[index];
    rest_.assign(after_.outputs[index].begin(), after_.outputs[index].end());
    if (LeavesValueNanOpen(contract_)) {
      rest_ = SettleValues(DstShapeOf(contract_.gather(), layout_).codes, dst,
                           want, after_.outputs[index]);
    }
    const bool nope = step_.step != nullptr && step_.step->gather().nope();
    const DstShape shape = DstShapeOf(contract_.gather(), layout_);
    const std::int64_t element = shape.element;
    std::vector<std::uint8_t> owned(static_cast<std::size_t>(dst.shape[0]), 0);
    if (DTypeSize(dst.dtype) == element && dst.shape[1] == shape.columns) {
      ForEachGatherRow(contract_.gather(), pool_, step_,
                       [&](const GatherRow& row) {
                         if (row.source == GatherRow::Source::kSlot) {
                           owned[static_cast<std::size_t>(row.row)] = 1;
                         }
                       });
    }
    for (std::int64_t row = 0; row < dst.shape[0]; ++row) {
      if (!owned[static_cast<std::size_t>(row)]) continue;
      ++damage_.rows;
      const std::int64_t at = element * row * dst.strides[0];
      std::uint8_t* got = rest_.data() + at;
      const std::size_t size =
          static_cast<std::size_t>(element * shape.columns);
      if (std::memcmp(got, want.data() + at, size) == 0) continue;
      ++damage_.wrong_rows;
      if (std::memcmp(got, dst.bytes.data() + at, size) == 0) {
        Count(&damage_.missing_rows, index, at);
      } else {
        for (std::int64_t column = 0; column < shape.columns; ++column) {
          const std::int64_t i = element * column;
          if (std::memcmp(got + i, want.data() + at + i,
                          static_cast<std::size_t>(element)) == 0) {
            continue;
          }
          Region* region = column < shape.codes ? &damage_.values
                           : nope               ? &damage_.gather_tail
                                                : &damage_.gather_rope;
          Count(region, index, at + i);
        }
      }
      std::memcpy(got, want.data() + at, size);
    }
    CountForeign(index, want);
    if (layout_.copied) AssessScaleRows(owned);
  }

  // Copied scales, [rows, tiles] fp32.
  void AssessScaleRows(const std::vector<std::uint8_t>& owned) {
    const int index = IndexOf(TensorId::kDstScales);
    if (index < 0) return;
    const std::vector<std::uint8_t>& want = expected_.outputs[index];
    rest_.assign(after_.outputs[index].begin(), after_.outputs[index].end());
    const std::size_t size =
        static_cast<std::size_t>(layout_.scales_end() - layout_.scales_at);
    for (std::size_t row = 0; row < owned.size(); ++row) {
      const std::size_t at = row * size;
      if (!owned[row] || at + size > want.size() ||
          std::memcmp(rest_.data() + at, want.data() + at, size) == 0) {
        continue;
      }
      Count(&damage_.gather_scales, index, static_cast<std::int64_t>(at));
      std::memcpy(rest_.data() + at, want.data() + at, size);
    }
    CountForeign(index, want);
  }

  // What is left in rest_, the bytes of output `index`, is nobody's.
  void CountForeign(int index, const std::vector<std::uint8_t>& want) {
    for (std::size_t i = 0; i < rest_.size(); ++i) {
      if (rest_[i] != want[i]) {
        Count(&damage_.foreign, index, static_cast<std::int64_t>(i));
      }
    }
  }

  // ---- convert

  void AssessIndices() {
    for (std::size_t t = 0; t < step_.tensors.size(); ++t) {
      const Tensor& tensor = step_.tensors[t];
      if (!tensor.output) continue;
      const bool counts = tensor.id == TensorId::kValidCount;
      Region* region = counts ? &damage_.counts : &damage_.indices;
      const int index = static_cast<int>(t);
      const std::vector<std::uint8_t>& want = expected_.outputs[t];
      rest_.assign(after_.outputs[t].begin(), after_.outputs[t].end());
      const std::int64_t columns = tensor.ndim == 1 ? 1 : tensor.shape[1];
      for (std::int64_t row = 0; row < tensor.shape[0]; ++row) {
        bool wrong = false;
        for (std::int64_t column = 0; column < columns; ++column) {
          const std::int64_t at = 4 * (row * tensor.strides[0] + column);
          if (std::memcmp(rest_.data() + at, want.data() + at, 4) == 0) {
            continue;
          }
          wrong = true;
          Count(region, index, at);
          std::memcpy(rest_.data() + at, want.data() + at, 4);
        }
        if (!counts) {
          ++damage_.rows;
          damage_.wrong_rows += wrong ? 1 : 0;
        }
      }
      CountForeign(index, want);
    }
  }

  // ---- all

  void AssessUnchangedPool() {
    if (Equal(before_, after_.pool)) return;
    for (std::size_t i = 0; i < before_.size(); ++i) {
      if (before_[i] != after_.pool[i]) {
        Count(&damage_.foreign, -1, static_cast<std::int64_t>(i));
      }
    }
  }

  int IndexOf(TensorId id) const {
    for (std::size_t i = 0; i < step_.tensors.size(); ++i) {
      if (step_.tensors[i].id == id) return static_cast<int>(i);
    }
    return -1;
  }

  const Contract& contract_;
  const PoolImage& pool_;
  const RowLayout& layout_;
  const StepImage& step_;
  const Bytes before_;
  const Expectation& expected_;
  const AfterImage& after_;
  std::vector<std::uint8_t> rest_;
  Damage damage_;
};

}  // namespace

Damage Assess(const Contract& contract, const CaseImage& image, int step,
              Bytes pool_before, const Expectation& expected,
              const AfterImage& after) {
  return Assessor(contract, image, step, pool_before, expected, after).Run();
}

std::vector<const Region*> Regions(const Damage& damage) {
  return {&damage.scales,       &damage.codes,         &damage.rope,
          &damage.tail,         &damage.skipped_rows,  &damage.untouched_rows,
          &damage.missing_rows, &damage.values,        &damage.gather_rope,
          &damage.gather_tail,  &damage.gather_scales, &damage.indices,
          &damage.counts,       &damage.foreign,       &damage.padding};
}

}  // namespace mlafuzz::oracle
