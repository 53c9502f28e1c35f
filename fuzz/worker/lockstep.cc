#include "fuzz/worker/lockstep.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/decode/trace.h"

namespace mlafuzz {
namespace {

using Bytes = std::vector<std::uint8_t>;

// What a trace holds before the call: a NaN that no arithmetic gives.
constexpr std::uint8_t kUnwritten = 0xfe;

// One stage: numbers [begin, begin + outputs * each) of a trace, or all of an
// output.
struct Stage {
  const char* name;
  std::int64_t begin;
  std::int64_t each;     // numbers an output (query and head)
  std::int64_t row;      // of them, those of one block or split
  const char* row_name;  // "block", "split"
};

std::uint32_t WordAt(const Bytes& bytes, std::int64_t at) {
  std::uint32_t word;
  std::memcpy(&word, bytes.data() + 4 * at, 4);
  return word;
}

// Fp32 numbers in order: neighbours differ by one.
std::int64_t Rank(std::uint32_t bits) {
  const auto magnitude = static_cast<std::int64_t>(bits & 0x7fffffffu);
  return (bits >> 31) != 0 ? -magnitude : magnitude;
}

// How stage values compare.
struct Comparison {
  std::int64_t numbers = 0;  // that either run has written
  std::int64_t different = 0;
  std::int64_t first = -1;     // relative to the stage
  std::int64_t most_ulps = 0;  // of finite pairs
  bool wild = false;           // a pair of which one is not finite, or missing
};

Comparison Compare(const Bytes& a, const Bytes& b, std::int64_t begin,
                   std::int64_t count) {
  constexpr std::uint32_t kNothing = kUnwritten * 0x01010101u;
  Comparison result;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t x = WordAt(a, begin + i);
    const std::uint32_t y = WordAt(b, begin + i);
    if (x == kNothing && y == kNothing) continue;
    ++result.numbers;
    const float p = std::bit_cast<float>(x);
    const float q = std::bit_cast<float>(y);
    if (x == y ||
        (std::isnan(p) && std::isnan(q) && x != kNothing && y != kNothing)) {
      continue;
    }
    ++result.different;
    if (result.first < 0) result.first = i;
    if (std::isfinite(p) && std::isfinite(q)) {
      result.most_ulps =
          std::max(result.most_ulps, std::abs(Rank(x) - Rank(y)));
    } else {
      result.wild = true;
    }
  }
  return result;
}

// Outputs of bf16 as fp32 words.
Bytes Widened(const Tensor& tensor, const Bytes& bytes) {
  if (tensor.dtype != BF16) return bytes;
  Bytes wide(2 * bytes.size());
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) {
    wide[2 * i + 2] = bytes[i];
    wide[2 * i + 3] = bytes[i + 1];
  }
  return wide;
}

struct Run {
  Observation observation;
  const StepObservation& step() const { return observation.steps[0]; }
};

absl::StatusOr<Run> RunOn(Session& session, const CaseImage& image,
                          const char* side) {
  std::vector<Observation> observations;
  const std::vector<CaseImage> images(1, image);
  if (absl::Status s =
          session.executor().Run(session.targets(), images, &observations);
      !s.ok()) {
    return s;
  }
  const StepObservation& step = observations[0].steps[0];
  if (step.status != CallStatus::kOk) {
    return absl::FailedPreconditionError(absl::StrCat(
        side, " ended in ", CallStatusName(step.status), ": ", step.message));
  }
  const Bytes& trace = step.outputs.back();
  // Without queries or candidates there are no stages.
  if (!trace.empty() &&
      std::all_of(trace.begin(), trace.end(),
                  [](std::uint8_t byte) { return byte == kUnwritten; })) {
    return absl::FailedPreconditionError(absl::StrCat(
        side,
        " leaves no trace of its stages: only decodes that come with "
        "mlafuzz do"));
  }
  return Run{std::move(observations[0])};
}

}  // namespace

absl::StatusOr<std::string> Lockstep(Session& a, Session& b,
                                     const CaseImage& image,
                                     const Observation& plain, int index) {
  CaseImage one = image;
  const StepImage step = image.steps[static_cast<std::size_t>(index)];
  for (int i = 0; i < index; ++i) {
    const auto& pool = plain.steps[static_cast<std::size_t>(i)].pool;
    if (pool.has_value()) one.pool.bytes = *pool;
  }
  one.steps = {step};
  const Tensor& q = *step.Find(TensorId::kQ);
  const std::int64_t heads = q.shape[1];
  const TraceLayout layout = TraceLayout::Of(
      q.shape[0], heads, step.Find(TensorId::kIndices)->shape[1]);
  if (4 * layout.size() > kMaxImageBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a trace of ", 4 * layout.size() >> 20,
                     " MiB; a case of fewer queries, heads or candidates is "
                     "needed"));
  }
  Tensor trace;
  trace.id = TensorId::kTrace;
  trace.dtype = F32;
  trace.output = true;
  trace.shape[0] = layout.size();
  trace.bytes.assign(static_cast<std::size_t>(4 * layout.size()), kUnwritten);
  one.steps[0].tensors.push_back(std::move(trace));

  const auto first = RunOn(a, one, "a");
  if (!first.ok()) return first.status();
  const auto second = RunOn(b, one, "b");
  if (!second.ok()) return second.status();

  constexpr std::int64_t kBlock = TraceLayout::kBlock;
  const std::int64_t blocks = layout.blocks;
  const Stage stages[] = {
      {"scores", layout.scores(), blocks * kBlock, kBlock, "block"},
      {"maximum", layout.maxima(), blocks, 1, "block"},
      {"weights", layout.weights(), blocks * kBlock, kBlock, "block"},
      {"sum", layout.sums(), blocks, 1, "block"},
      {"accumulator", layout.accumulators(), blocks * TraceLayout::kColumns,
       TraceLayout::kColumns, "split"},
      {"split lse", layout.split_lse(), blocks, 1, "split"},
  };
  std::string table = absl::StrFormat("  %-12s %9s %10s  %s\n", "stage",
                                      "numbers", "different", "farthest");
  std::string named;
  const auto add = [&](const char* name, const Comparison& c,
                       const std::string& where) {
    absl::StrAppendFormat(
        &table, "  %-12s %9d %10d  %s\n", name, c.numbers, c.different,
        c.wild ? "one is not finite, or missing"
        : c.different == 0
            ? "-"
            : absl::StrCat(c.most_ulps, " units in the last place"));
    if (c.different != 0 && named.empty()) {
      named = absl::StrCat("the first stage that differs: ", name, ", ", where,
                           "\n");
    }
  };
  const Bytes& trace_a = first->step().outputs.back();
  const Bytes& trace_b = second->step().outputs.back();
  for (const Stage& stage : stages) {
    const Comparison c =
        Compare(trace_a, trace_b, stage.begin, layout.outputs * stage.each);
    std::string where;
    if (c.first >= 0) {
      const std::int64_t output = c.first / stage.each;
      const std::int64_t inside = c.first % stage.each;
      where = absl::StrCat("query ", output / heads, ", head ", output % heads,
                           ", ", stage.row_name, " ", inside / stage.row);
      if (stage.row > 1) {
        absl::StrAppend(&where, stage.row == kBlock ? ", key " : ", column ",
                        inside % stage.row);
      }
      absl::StrAppendFormat(
          &where, ": %.9g in a, %.9g in b",
          std::bit_cast<float>(WordAt(trace_a, stage.begin + c.first)),
          std::bit_cast<float>(WordAt(trace_b, stage.begin + c.first)));
    }
    add(stage.name, c, where);
  }
  for (std::size_t i = 0; i < step.tensors.size(); ++i) {
    const Tensor& tensor = step.tensors[i];
    if (!tensor.output) continue;
    const Bytes x = Widened(tensor, first->step().outputs[i]);
    const Bytes y = Widened(tensor, second->step().outputs[i]);
    Comparison c = Compare(x, y, 0, static_cast<std::int64_t>(x.size() / 4));
    // In units of the output's own type.
    if (tensor.dtype == BF16) c.most_ulps >>= 16;
    add(tensor.id == TensorId::kLse ? "lse" : "output", c,
        absl::StrCat("element ", c.first, " of the tensor"));
  }
  return (named.empty() ? "all stages are equal, bit for bit\n" : named) +
         table;
}

}  // namespace mlafuzz
