#include "properties/relations/two_poison.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "oracle/expect.h"
#include "properties/relations/poison.h"
#include "properties/relations/table_reads.h"

namespace mlafuzz {
namespace {

constexpr std::int64_t kLatent = 512;

// The gaps of a two-dimensional tensor, and the rows for which `unread` says
// so.
template <typename Unread>
void PoisonRows(Tensor& t, const Unread& unread, Poisoner& poisoner) {
  const std::int64_t size = DTypeSize(t.dtype);
  const std::int64_t used = t.shape[1] * size;
  const std::int64_t step = t.strides[0] * size;
  if (step < used) return;  // rows share bytes
  const std::int64_t end = static_cast<std::int64_t>(t.bytes.size());
  for (std::int64_t row = 0; row * step < end; ++row) {
    const std::int64_t at = row * step;
    const std::int64_t from = unread(row) ? at : std::min(end, at + used);
    poisoner.Replace(t.bytes, from, std::min(end, at + step) - from);
  }
}

// What lies between heads and queries, unless a query without rope goes on with
// it.
void PoisonBetweenHeads(const StepContext& context, Tensor& q,
                        Poisoner& poisoner) {
  if (q.shape[2] == kLatent && context.contract().decode().nope_tail() ==
                                   DecodeContract::NOPE_TAIL_AS_ROPE) {
    return;
  }
  std::vector<bool> used(q.bytes.size());
  for (std::int64_t query = 0; query < q.shape[0]; ++query) {
    for (std::int64_t head = 0; head < q.shape[1]; ++head) {
      const std::int64_t at = 2 * (query * q.strides[0] + head * q.strides[1]);
      std::fill_n(used.begin() + at, 2 * q.shape[2], true);
    }
  }
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) poisoner.Replace(q.bytes, static_cast<std::int64_t>(i), 1);
  }
}

void PoisonTable(const StepContext& context, Tensor& table,
                 Poisoner& poisoner) {
  // Under other table rules the declared reads are others.
  if (context.step.kernel == Kernel::kGather) {
    const GatherContract& g = context.contract().gather();
    if (g.table_row() != GatherContract::TABLE_ROW_STRIDE) return;
  } else {
    const ConvertContract& c = context.contract().convert();
    if (c.table_row() != ConvertContract::TABLE_ROW_STRIDE ||
        c.table_columns() != ConvertContract::COLUMNS_BY_SHAPE ||
        c.negative() != ConvertContract::ANY_NEGATIVE) {
      return;
    }
  }
  const std::vector<bool> reads = TableReads(context.image.pool, context.step);
  for (std::size_t i = 0; i < reads.size(); ++i) {
    if (reads[i]) continue;
    poisoner.Replace(table.bytes, static_cast<std::int64_t>(4 * i), 4);
  }
}

// Lanes at or past a length that counts hold anything. `lengths`: of these
// rows; nullptr: none counts.
void PoisonLanes(const Tensor* lengths, Tensor& indices, Poisoner& poisoner) {
  if (lengths == nullptr) return;
  for (std::int64_t row = 0; row < indices.shape[0]; ++row) {
    const std::int64_t first = std::clamp<std::int64_t>(
        ElementAt<std::int32_t>(*lengths, row * lengths->strides[0]), 0,
        indices.shape[1]);
    poisoner.Replace(indices.bytes, 4 * (row * indices.strides[0] + first),
                     4 * (indices.shape[1] - first));
  }
}

// What a decode may not read of its second cache.
void PoisonExtra(const StepContext& context, Tensor& cache,
                 Poisoner& poisoner) {
  const std::vector<std::uint8_t> read_set =
      ExtraReadSet(context.contract(), context.image, context.index);
  PoolImage pool = context.step.extra;
  pool.bytes = std::move(cache.bytes);
  for (std::size_t i = 0; i < pool.bytes.size(); ++i) {
    if (read_set[i] != 0) continue;
    poisoner.ReplaceInPool(pool, static_cast<std::int64_t>(i));
  }
  cache.bytes = std::move(pool.bytes);
}

// First byte that differs although the call wrote it in one of the runs.
// `before` and `after` of the plain run, then of the other.
std::int64_t FirstLeak(const std::vector<std::uint8_t>& before,
                       const std::vector<std::uint8_t>& after,
                       const std::vector<std::uint8_t>& other_before,
                       const std::vector<std::uint8_t>& other_after) {
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (after[i] == other_after[i]) continue;
    if (after[i] == before[i] && other_after[i] == other_before[i]) continue;
    return static_cast<std::int64_t>(i);
  }
  return -1;
}

}  // namespace

bool TwoPoison::Applies(const Contract&, const CaseImage&, const StepImage&) {
  return true;
}

absl::Status TwoPoison::Run(StepContext& context, Finding* finding) {
  const Poison kind = DrawPoison(context.choices);
  Poisoner poisoner(kind, context.choices.Word());
  CaseImage image = OneStep(context);
  StepImage& step = image.steps[0];
  const std::vector<std::uint8_t> read_set =
      PoolReadSet(context.contract(), context.image, context.index);
  const bool reads_pool = context.step.kernel == Kernel::kGather ||
                          context.step.kernel == Kernel::kDecode;
  for (std::size_t i = 0; i < image.pool.bytes.size(); ++i) {
    if (reads_pool && read_set[i] != 0) continue;
    poisoner.ReplaceInPool(image.pool, static_cast<std::int64_t>(i));
  }
  const DecodeContract& decode = context.contract().decode();
  for (Tensor& t : step.tensors) {
    // 64 keeps every alignment that a kernel may rely on.
    t.misalignment =
        (t.misalignment + 64 * (1 + context.choices.Below(3))) % 256;
    switch (t.id) {
      case TensorId::kKvC:
      case TensorId::kKPe: {
        std::vector<bool> stored(static_cast<std::size_t>(t.shape[0]));
        for (const StoredRow& row : StoredRows(context)) {
          stored[static_cast<std::size_t>(row.token)] = true;
        }
        PoisonRows(
            t,
            [&](std::int64_t row) {
              return !stored[static_cast<std::size_t>(row)];
            },
            poisoner);
        break;
      }
      case TensorId::kIndices:
        PoisonRows(t, [](std::int64_t) { return false; }, poisoner);
        if (decode.length() == DecodeContract::LENGTH_MASKED) {
          PoisonLanes(context.step.Find(TensorId::kLengths), t, poisoner);
        }
        break;
      case TensorId::kExtraIndices:
        PoisonRows(t, [](std::int64_t) { return false; }, poisoner);
        if (decode.extra_length() == DecodeContract::EXTRA_LENGTH_MASKED) {
          PoisonLanes(context.step.Find(TensorId::kExtraLengths), t, poisoner);
        }
        break;
      case TensorId::kExtraCache:
        PoisonExtra(context, t, poisoner);
        break;
      case TensorId::kQ:
        PoisonBetweenHeads(context, t, poisoner);
        break;
      case TensorId::kTokenIndices:
        PoisonRows(t, [](std::int64_t) { return false; }, poisoner);
        break;
      case TensorId::kBlockTable:
        PoisonTable(context, t, poisoner);
        break;
      default:
        if (t.output) {
          poisoner.Replace(t.bytes, 0,
                           static_cast<std::int64_t>(t.bytes.size()));
        }
    }
  }
  Observation observation;
  if (absl::Status s = Rerun(context, image, &observation, finding);
      !s.ok() || !finding->ok()) {
    return s;
  }
  const StepObservation& other = observation.steps[0];
  const std::vector<std::uint8_t>& other_pool = FinalPool(image, observation);
  if (const std::int64_t at =
          FirstLeak(context.pool_before, context.pool_after(), image.pool.bytes,
                    other_pool);
      at >= 0) {
    *finding = Finding::Fail(absl::StrCat(
        "pool byte ", at, " depends on bytes that the call may not read"));
    return absl::OkStatus();
  }
  const bool any_nan = AnyNan(context);
  for (std::size_t i = 0; i < step.tensors.size(); ++i) {
    const Tensor& t = context.step.tensors[i];
    if (!t.output) continue;
    std::vector<std::uint8_t> plain = context.plain.outputs[i];
    const std::vector<std::uint8_t>& seen = other.outputs[i];
    // Element by element: a left-alone element keeps all its bytes.
    const std::size_t size = static_cast<std::size_t>(DTypeSize(t.dtype));
    for (std::size_t at = 0; at + size <= plain.size(); at += size) {
      const auto same = [&](const std::vector<std::uint8_t>& a,
                            const std::vector<std::uint8_t>& b) {
        return std::memcmp(&a[at], &b[at], size) == 0;
      };
      if (same(plain, seen)) continue;
      if (same(plain, t.bytes) && same(seen, step.tensors[i].bytes)) {
        std::memcpy(&plain[at], &seen[at], size);
      }
    }
    if (std::string d = FirstTensorDifference(t, plain, seen, any_nan);
        !d.empty()) {
      *finding = Finding::Fail(
          absl::StrCat(d, ": depends on bytes that the call may not read"));
      return absl::OkStatus();
    }
  }
  return absl::OkStatus();
}

}  // namespace mlafuzz
