// Whether what came back is what a contract says.
#include <algorithm>
#include <cstring>
#include <map>

#include "oracle/damage.h"
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

using Pools = std::vector<std::vector<std::uint8_t>>;

// Whether `got` equals `expected` outside the unsettled ranges of `tensor`. In
// them each byte must be that of one of `others`, if there are any.
bool EqualOutside(Bytes expected, Bytes got,
                  const std::vector<ByteRange>& unsettled, int tensor,
                  const Pools& others) {
  std::vector<std::uint8_t> settled(got.begin(), got.end());
  for (const ByteRange& range : unsettled) {
    if (range.tensor != tensor) continue;
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      const std::size_t at = static_cast<std::size_t>(i);
      if (at >= settled.size()) break;
      const bool written = std::any_of(
          others.begin(), others.end(),
          [&](const auto& pool) { return pool[at] == settled[at]; });
      if (others.empty() || written) settled[at] = expected[at];
    }
  }
  return Equal(expected, settled);
}

// Pools in which every row that several tokens write holds what the first, the
// second, ... of them writes: what a race may leave of them, byte by byte. Of a
// row that fewer write the last.
Pools EachWriters(const Contract& contract, const CaseImage& image, int step,
                  Bytes pool_before) {
  constexpr std::size_t kMostWriters = 16;
  const StepImage& s = image.steps[static_cast<std::size_t>(step)];
  const RowLayout& layout = LayoutOf(image.pool.layout);
  const WritePlan plan = PlanWrites(contract.writer(), image.pool, s);
  std::map<std::int64_t, std::vector<const RowWrite*>> writers;
  std::size_t most = 0;
  for (const RowWrite& row : plan.rows) {
    auto& own = writers[row.at];
    own.push_back(&row);
    most = std::max(most, own.size());
  }
  Pools pools(std::min(most, kMostWriters),
              {pool_before.begin(), pool_before.end()});
  TokenBytes token;
  for (std::size_t i = 0; i < pools.size(); ++i) {
    for (const auto& [at, own] : writers) {
      const RowWrite& row = *own[std::min(i, own.size() - 1)];
      LoadToken(layout, row.place(), pool_before.data(), token.data());
      WriteRow(contract.writer(), image.pool, s, row.token, token.data());
      StoreToken(layout, row.place(), token.data(), pools[i].data());
    }
  }
  return pools;
}

}  // namespace

bool AfterImageOf(const StepImage& step, const StepObservation& observed,
                  Bytes pool_after, AfterImage* after) {
  after->pool = pool_after;
  if (observed.pool && observed.pool->size() != pool_after.size()) return false;
  after->outputs.resize(step.tensors.size());
  if (!observed.outputs.empty() &&
      observed.outputs.size() != step.tensors.size()) {
    return false;
  }
  for (std::size_t i = 0; i < step.tensors.size(); ++i) {
    const Tensor& tensor = step.tensors[i];
    if (!tensor.output) continue;
    after->outputs[i] = tensor.bytes;
    if (observed.outputs.empty() || observed.outputs[i].empty()) continue;
    if (observed.outputs[i].size() != tensor.bytes.size()) return false;
    after->outputs[i] = observed.outputs[i];
  }
  return true;
}

bool OutputsUnchanged(const StepImage& step, const AfterImage& after) {
  for (std::size_t i = 0; i < step.tensors.size(); ++i) {
    if (step.tensors[i].output &&
        after.outputs[i] != absl::MakeConstSpan(step.tensors[i].bytes)) {
      return false;
    }
  }
  return true;
}

bool NothingChanged(const StepImage& step, Bytes pool_before,
                    const AfterImage& after) {
  return after.pool == pool_before && OutputsUnchanged(step, after);
}

bool Matches(const Contract& contract, const CaseImage& image, int step,
             Bytes pool_before, const Expectation& expected,
             const AfterImage& after) {
  const StepImage& s = image.steps[static_cast<std::size_t>(step)];
  const bool writes = s.kernel == Kernel::kWriter;
  const Bytes pool = ExpectedPool(expected, pool_before);
  const auto forgive = [&](Bytes want, Bytes got, int tensor) {
    if (expected.unsettled.empty()) return false;
    Pools others;
    if (writes) others = EachWriters(contract, image, step, pool_before);
    return EqualOutside(want, got, expected.unsettled, tensor, others);
  };
  if (!Equal(pool, after.pool)) {
    bool equal = false;
    if (writes && LeavesScaleNanOpen(contract)) {
      equal = Equal(pool, SettleScales(image.pool, pool, after.pool));
    }
    if (!equal && !forgive(pool, after.pool, -1)) return false;
  }
  for (std::size_t i = 0; i < s.tensors.size(); ++i) {
    if (!s.tensors[i].output) continue;
    if (Equal(expected.outputs[i], after.outputs[i])) continue;
    std::vector<std::uint8_t> settled;
    Bytes got = after.outputs[i];
    if (s.kernel == Kernel::kGather && LeavesValueNanOpen(contract)) {
      settled = SettleValues(
          DstShapeOf(contract.gather(), LayoutOf(image.pool.layout)).codes,
          s.tensors[i], expected.outputs[i], got);
      got = settled;
      if (Equal(expected.outputs[i], got)) continue;
    }
    if (!forgive(expected.outputs[i], got, static_cast<int>(i))) return false;
  }
  return true;
}

}  // namespace mlafuzz::oracle
