#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "oracle/decode/decode.h"
#include "oracle/decode/decode_matches.h"
#include "oracle/decode/interval.h"
#include "oracle/decode/keys.h"
#include "oracle/decode/merge.h"
#include "oracle/decode/scores.h"
#include "oracle/decode/softmax.h"
#include "oracle/decode/values.h"
#include "oracle/layout.h"
#include "oracle/tensor_view.h"

// Query by query, the steps of a decode in a kernel's own order:
//   keys -> logits -> weights of each split -> outputs of each split -> merge.
// Dequantised rows are shared by all heads.
namespace mlafuzz {
namespace {

using oracle::kInfinity;

static_assert(kDecodeColumns == oracle::kLatent);

// What one query after the other is worked out in. Kept from call to call: an
// allocator that gives memory back to the system maps it anew each time, which
// cost a quarter of the expectation of 64 keys and 8 heads, and a sanitizer's
// more than all of that of one head.
struct Scratch {
  // Not cleared: four megabytes, of which small cases touch little.
  const std::unique_ptr<oracle::DequantisedRows> rows =
      std::make_unique_for_overwrite<oracle::DequantisedRows>();
  std::vector<oracle::QueryHead> heads;
  std::vector<oracle::HeadScores> scores;
  std::vector<oracle::SplitWeights> weights;

  // Keeps what cases of usual size need.
  void Trim(std::size_t keys_and_heads) {
    constexpr std::size_t kUsual = std::size_t{1} << 18;
    if (keys_and_heads <= kUsual) return;
    heads = {};
    scores = {};
    weights = {};
  }
};
Scratch& ScratchOfThread() {
  thread_local Scratch scratch;
  return scratch;
}

class QueryOracle {
 public:
  QueryOracle(const Contract& contract, const CaseImage& image, int step,
              absl::Span<const std::uint8_t> bytes,
              const ExpectOptions& options, DecodeExpectation* out)
      : contract_(contract),
        pool_(image.pool),
        step_(image.steps[static_cast<std::size_t>(step)]),
        caches_(image.pool, bytes, step_),
        dequantisers_(contract, caches_.layout(), options),
        options_(options),
        out_(*out) {
    const float scale =
        std::bit_cast<float>(step_.step->decode().softmax_scale_bits());
    // Else c * max is not the maximum of c * s, and nothing is promised.
    usable_scale_ = scale >= static_cast<float>(oracle::kFp32MinNormal) &&
                    std::isfinite(scale);
  }

  void Run(std::int64_t query) {
    query_ = query;
    rows_->count = 0;
    const oracle::KeyPlan plan =
        oracle::PlanKeys(contract_, pool_, step_, query, options_);
    out_.outside_reads += plan.outside;
    ReadSlot0(plan);
    switch (oracle::LeadingNanOf(contract_.decode(), plan)) {
      case oracle::LeadingNan::kYes:
        for (std::int64_t h = 0; h < out_.heads; ++h) NanRow(Result(h));
        return;
      case oracle::LeadingNan::kMaybe:
        for (std::int64_t h = 0; h < out_.heads; ++h) AnythingRow(Result(h));
        return;
      case oracle::LeadingNan::kNo:
        break;
    }
    if (options_.empty_row_nan && plan.keys.empty()) {
      for (std::int64_t h = 0; h < out_.heads; ++h) NanRow(Result(h));
      return;
    }
    if (plan.keys.empty()) {
      RunEmpty(plan);
      return;
    }
    if (!usable_scale_) {
      for (std::int64_t h = 0; h < out_.heads; ++h) AnythingRow(Result(h));
      return;
    }
    heads_.resize(static_cast<std::size_t>(out_.heads));
    std::vector<oracle::HeadScores>& scores = scratch_.scores;
    scores.resize(heads_.size());
    for (std::size_t h = 0; h < heads_.size(); ++h) {
      oracle::ReadQuery(contract_, caches_.layout(), step_, QueryRead(query),
                        static_cast<std::int64_t>(h), options_, &heads_[h]);
      scores[h].t.resize(plan.keys.size());
      scores[h].radius.resize(plan.keys.size());
    }
    RunKeys(plan, /*has_scores=*/false, &scores);
    // A split of masked lanes alone, or one whose blocks are not known, may or
    // may not pass on what slot 0 holds.
    // So may lanes whose sum is no number until a key comes.
    bool open = false;
    for (const std::vector<char>& poisoned : poisoned_) {
      open |= std::count(poisoned.begin(), poisoned.end(), kOverflows) > 0;
    }
    for (const oracle::KeyPlan::Split& split : plan.splits) {
      open |= split.masked > 0 &&
              (split.keys.first == split.keys.end || !plan.known);
    }
    for (std::int64_t h = 0; open && h < out_.heads; ++h) OpenPoisoned(h);
    scratch_.Trim(plan.keys.size() * heads_.size());
  }

 private:
  // The query whose columns are read for this one.
  std::int64_t QueryRead(std::int64_t query) const {
    if (options_.first_query) return 0;
    return options_.first_position ? query - query % oracle::QueryLength(step_)
                                   : query;
  }

  // A split without keys beside others makes NaN of their outputs.
  bool NanOfEmptySplit(const oracle::KeyPlan& plan) const {
    return options_.empty_split_nan &&
           std::any_of(plan.splits.begin(), plan.splits.end(),
                       [](const oracle::KeyPlan::Split& split) {
                         return split.keys.first == split.keys.end;
                       });
  }

  // Columns of a row that are not finite, or whose tile's scale is not.
  template <class Found>
  void ForNotFinite(const oracle::Key& key, const Found& found) {
    const oracle::Dequantiser& dequantiser = dequantisers_.ValuesOf(key);
    const std::uint8_t* token = caches_.Token(key, &buffer_);
    const oracle::TileScales scales = dequantiser.Scales(token);
    double radius[kDecodeColumns];
    std::vector<double> values(kDecodeColumns);
    dequantiser.Row(token, values.data(), radius);
    for (int c = 0; c < kDecodeColumns; ++c) {
      const double value = values[static_cast<std::size_t>(c)];
      found(c, value,
            std::isfinite(value) &&
                std::isfinite(scales[c / dequantiser.tiles().columns].value));
    }
  }

  // Columns that are not finite in a row which masked lanes read.
  void ReadPastLength(const oracle::KeyPlan& plan) {
    for (const oracle::Key& key : plan.read_past_length) {
      if (key.at < 0) continue;
      ForNotFinite(key, [&](int c, double, bool finite) {
        if (finite) return;
        poisoned_[key.extra][static_cast<std::size_t>(c)] = kPoisoned;
        any_poisoned_ = true;
      });
    }
  }

  // Columns of slot 0 that are not finite, where masked lanes read it; and
  // those whose sum over lanes of weight 1 may not be. Of both caches, each of
  // which has masked lanes of its own.
  void ReadSlot0(const oracle::KeyPlan& plan) {
    for (std::vector<char>& poisoned : poisoned_) {
      poisoned.assign(kDecodeColumns, 0);
    }
    any_poisoned_ = false;
    ReadPastLength(plan);
    if (!oracle::ReadsSlot0(contract_.decode())) return;
    const bool unit =
        contract_.decode().empty_row() == DecodeContract::UNIT_WEIGHTS;
    for (const bool extra : {false, true}) {
      const std::int64_t masked =
          extra ? plan.masked_extra : plan.masked - plan.masked_extra;
      const oracle::Key slot0 = caches_.Slot0(extra);
      if (masked == 0 || slot0.at < 0) continue;
      ForNotFinite(slot0, [&](int c, double value, bool finite) {
        char& poison = poisoned_[extra][static_cast<std::size_t>(c)];
        if (!finite) {
          poison = kPoisoned;
        } else if (unit && 2 * std::fabs(value) * static_cast<double>(masked) >
                               std::numeric_limits<float>::max()) {
          poison = kOverflows;
        } else {
          return;
        }
        any_poisoned_ = true;
      });
    }
  }

  // A weight of 0 times NaN or Inf.
  void Poison(const oracle::KeyPlan::Split& split,
              std::vector<oracle::SplitOutput>* outputs) const {
    if (!any_poisoned_ || split.masked == 0) return;
    for (oracle::SplitOutput& output : *outputs) {
      if (output.value.empty()) continue;  // of an unusable head
      for (const bool extra : {false, true}) {
        if ((extra ? split.masked_extra : split.masked - split.masked_extra) ==
            0) {
          continue;
        }
        for (int c = 0; c < kDecodeColumns; ++c) {
          if (poisoned_[extra][static_cast<std::size_t>(c)] != kPoisoned) {
            continue;
          }
          output.value[static_cast<std::size_t>(c)] = oracle::kNaN;
          output.radius[static_cast<std::size_t>(c)] = 0;
        }
      }
    }
  }

  void OpenPoisoned(std::int64_t head) {
    if (!any_poisoned_) return;
    const oracle::HeadResult result = Result(head);
    for (int c = 0; c < kDecodeColumns; ++c) {
      const auto i = static_cast<std::size_t>(c);
      if (poisoned_[0][i] == 0 && poisoned_[1][i] == 0) continue;
      if (std::isnan(result.out[c]) && result.out_radius[c] == 0) continue;
      result.out[c] = 0;
      result.out_radius[c] = kInfinity;
    }
  }

  void OpenOverflows(std::int64_t head) {
    if (!any_poisoned_) return;
    const oracle::HeadResult result = Result(head);
    for (int c = 0; c < kDecodeColumns; ++c) {
      if (poisoned_[0][static_cast<std::size_t>(c)] != kOverflows) continue;
      result.out[c] = 0;
      result.out_radius[c] = kInfinity;
    }
  }

  oracle::HeadResult Result(std::int64_t head) {
    const std::size_t row =
        static_cast<std::size_t>(query_ * out_.heads + head);
    return {out_.out.data() + row * kDecodeColumns,
            out_.out_bound.data() + row * kDecodeColumns, out_.lse.data() + row,
            out_.lse_bound.data() + row};
  }

  oracle::Sink SinkOf(std::int64_t head) const {
    const oracle::Storage<float> sinks(step_.Find(TensorId::kSinks));
    if (options_.first_sink) head = 0;
    if (!sinks.Has(head) ||
        contract_.decode().sink() == DecodeContract::SINK_DROPPED) {
      return {};
    }
    return oracle::SinkOfValue(sinks[head]);
  }

  oracle::Sink SinkOfEmpty(std::int64_t head) const {
    return options_.empty_row_without_sink ? oracle::Sink() : SinkOf(head);
  }

  void RunEmpty(const oracle::KeyPlan& plan) {
    if (contract_.decode().empty_row() != DecodeContract::UNIT_WEIGHTS ||
        plan.masked == 0) {
      for (std::int64_t h = 0; h < out_.heads; ++h) {
        oracle::EmptyRow(contract_, SinkOfEmpty(h), Result(h));
        OpenPoisoned(h);
      }
      return;
    }
    if (plan.masked_extra > 0) {
      // A mean of two rows, in proportions that the sentinels have a say in.
      for (std::int64_t h = 0; h < out_.heads; ++h) AnythingRow(Result(h));
      return;
    }
    // Every masked lane stands for slot 0 with the same weight: their mean is
    // that row. What such a kernel says of the LSE or does with a sink depends
    // on its sentinels.
    oracle::KeyPlan slot0{.keys = {caches_.Slot0(/*extra=*/false)},
                          .known = true,
                          .splits = {{{0, 1}, {{0, 1}}}}};
    rows_->count = 0;
    std::vector<oracle::HeadScores> scores(
        static_cast<std::size_t>(out_.heads),
        oracle::HeadScores{{0.0}, {0.0}, -1});
    RunKeys(slot0, /*has_scores=*/true, &scores);
    for (std::int64_t h = 0; h < out_.heads; ++h) {
      if (SinkOf(h).present) AnythingRow(Result(h));
      // The sum of the lanes, before it is divided by their number.
      OpenOverflows(h);
      *Result(h).lse = 0;
      *Result(h).lse_radius = kInfinity;
    }
  }

  int DroppedSplit(const oracle::KeyPlan& plan) const {
    if (options_.dropped_split != ExpectOptions::kLastSplit) {
      return options_.dropped_split;
    }
    int number = 0;
    for (const oracle::KeyPlan::Split& split : plan.splits) {
      number += Counts(split) ? 1 : 0;
    }
    return number > 1 ? number - 1 : ExpectOptions::kNoSplit;
  }

  bool Counts(const oracle::KeyPlan::Split& split) const {
    return options_.empty_splits_count || split.keys.first != split.keys.end;
  }

  // Logits are computed split by split where they are not given.
  void RunKeys(const oracle::KeyPlan& plan, bool has_scores,
               std::vector<oracle::HeadScores>* scores) {
    const Arithmetic& arithmetic = contract_.arithmetic();
    const std::size_t heads = static_cast<std::size_t>(out_.heads);
    std::vector<oracle::TileScales> v_scales;
    const oracle::Dequantiser& values = dequantisers_.values;
    if (oracle::ScaleInWeights(arithmetic)) {
      v_scales.resize(plan.keys.size());
      for (std::size_t j = 0; j < plan.keys.size(); ++j) {
        if (plan.keys[j].at < 0) {
          v_scales[j].fill({0, true});
        } else {
          const oracle::Key& key = plan.keys[j];
          v_scales[j] =
              dequantisers_.ValuesOf(key).Scales(caches_.Token(key, &buffer_));
        }
      }
    }
    std::vector<std::vector<oracle::SplitPart>> parts(heads);
    std::vector<oracle::SplitWeights>& weights = scratch_.weights;
    weights.resize(heads);
    std::vector<oracle::SplitOutput> outputs(heads);
    int number = 0;
    const int dropped = DroppedSplit(plan);
    for (const oracle::KeyPlan::Split& split : plan.splits) {
      if (Counts(split) && number++ == dropped) continue;
      if (split.keys.first == split.keys.end) continue;
      if (!has_scores) {
        oracle::ComputeScores(contract_, caches_, dequantisers_, step_, heads_,
                              plan, split.keys, rows_, scores);
      }
      for (std::size_t h = 0; h < heads; ++h) {
        oracle::SimulateSplit(arithmetic, plan, split, (*scores)[h],
                              values.tiles().count, v_scales,
                              options_.no_rescale, &weights[h]);
      }
      oracle::SumValues(contract_, caches_, dequantisers_, plan, split, weights,
                        rows_, &outputs);
      if (plan.known) Poison(split, &outputs);
      for (std::size_t h = 0; h < heads; ++h) {
        parts[h].push_back({weights[h], std::move(outputs[h])});
        outputs[h] = {};
      }
    }
    for (std::size_t h = 0; h < heads; ++h) {
      const std::int64_t head = static_cast<std::int64_t>(h);
      if (parts[h].empty()) {
        oracle::EmptyRow(contract_, SinkOfEmpty(head), Result(head));
        continue;
      }
      oracle::MergeSplits(contract_, plan.known, SinkOf(head), &parts[h],
                          Result(head));
      if (NanOfEmptySplit(plan)) {
        std::fill_n(Result(head).out, kDecodeColumns, oracle::kNaN);
        std::fill_n(Result(head).out_radius, kDecodeColumns, 0.0);
      }
    }
  }

  const Contract& contract_;
  const PoolImage& pool_;
  const StepImage& step_;
  const oracle::Caches caches_;
  const oracle::Dequantisers dequantisers_;
  const ExpectOptions& options_;
  DecodeExpectation& out_;
  Scratch& scratch_ = ScratchOfThread();
  oracle::DequantisedRows* const rows_ = scratch_.rows.get();
  std::vector<oracle::QueryHead>& heads_ = scratch_.heads;
  static constexpr char kPoisoned = 1;
  static constexpr char kOverflows = 2;
  oracle::TokenBytes buffer_;
  // Of slot 0, one a column; of the second cache's too.
  std::array<std::vector<char>, 2> poisoned_;
  bool any_poisoned_ = false;
  std::int64_t query_ = 0;
  bool usable_scale_ = false;
};

// Moves rows of `columns` values from [queries, heads] to another order. The
// number of queries is a multiple of `length` where requests matter.
void Reorder(ExpectOptions::Order order, std::int64_t heads,
             std::int64_t length, std::int64_t columns,
             std::vector<double>* values) {
  const std::vector<double> from = *values;
  const std::int64_t rows = static_cast<std::int64_t>(from.size()) / columns;
  const std::int64_t queries = heads > 0 ? rows / heads : 0;
  if (order == ExpectOptions::Order::kHeadsFirst) length = queries;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t query = row / heads;
    const std::int64_t to =
        (query / length * heads + row % heads) * length + query % length;
    std::copy_n(from.begin() + row * columns, columns,
                values->begin() + to * columns);
  }
}

}  // namespace

DecodeExpectation ExpectDecode(const Contract& contract, const CaseImage& image,
                               int step,
                               absl::Span<const std::uint8_t> pool_before,
                               const ExpectOptions& options) {
  const StepImage& s = image.steps[static_cast<std::size_t>(step)];
  const Tensor& q = *s.Find(TensorId::kQ);
  DecodeExpectation out;
  out.queries = q.shape[0];
  out.heads = q.shape[1];
  const std::size_t rows = static_cast<std::size_t>(out.rows());
  out.out.resize(rows * kDecodeColumns);
  out.out_bound.resize(rows * kDecodeColumns);
  out.lse.resize(rows);
  out.lse_bound.resize(rows);
  out.may_flush =
      contract.arithmetic().denormals() != Arithmetic::DENORMALS_KEPT;
  if (!oracle::IsDecoded(oracle::LayoutOf(image.pool.layout))) {
    std::fill(out.out_bound.begin(), out.out_bound.end(), kInfinity);
    std::fill(out.lse_bound.begin(), out.lse_bound.end(), kInfinity);
    return out;
  }
  QueryOracle oracle(contract, image, step, pool_before, options, &out);
  for (std::int64_t n = 0; n < out.queries; ++n) oracle.Run(n);
  const std::int64_t length = oracle::QueryLength(s);
  if (options.out_order != ExpectOptions::Order::kOwn) {
    Reorder(options.out_order, out.heads, length, kDecodeColumns, &out.out);
    Reorder(options.out_order, out.heads, length, kDecodeColumns,
            &out.out_bound);
  }
  if (options.lse_order != ExpectOptions::Order::kOwn) {
    Reorder(options.lse_order, out.heads, length, 1, &out.lse);
    Reorder(options.lse_order, out.heads, length, 1, &out.lse_bound);
  }
  return out;
}

bool DecodeOutMatches(const DecodeExpectation& expected, std::int64_t element,
                      std::uint16_t bits) {
  const auto i = static_cast<std::size_t>(element);
  return oracle::OutMatches(expected.out[i], expected.out_bound[i],
                            expected.may_flush, bits);
}

bool DecodeLseMatches(const DecodeExpectation& expected, std::int64_t row,
                      float lse) {
  const auto i = static_cast<std::size_t>(row);
  return oracle::LseMatches(expected.lse[i], expected.lse_bound[i], lse);
}

}  // namespace mlafuzz
