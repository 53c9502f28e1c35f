#ifndef MLAFUZZ_ORACLE_DECODE_MERGE_SPLITS_H_
#define MLAFUZZ_ORACLE_DECODE_MERGE_SPLITS_H_

#include <cmath>

#include "oracle/decode/arithmetic_rules.h"
#include "oracle/decode/fp64.h"
#include "oracle/decode/interval.h"
#include "oracle/decode/rounding.h"
#include "oracle/decode/split_weights.h"
#include "oracle/device/device_code.h"

// How the splits of one head come together with its sink, on the host and on a
// GPU. Follows docs/bounds.md section 9 (LSE, merge, sink).
namespace mlafuzz::oracle {

// The sink of one head as the contract takes it.
struct Sink {
  bool present = false;
  double value = 0;  // natural-log units; may be infinite or NaN
};

MLAFUZZ_ORACLE_CODE inline Sink SinkOfValue(double value) {
  return {value != -kInfinity, value};
}

// The LSE of a head whose lanes are all masked; a radius of infinity: anything.
// Its output is zeros unless the sink is NaN and part of the LSE: then it may
// be anything.
MLAFUZZ_ORACLE_CODE inline Bounded EmptyRowLse(const ResultRules& rules,
                                               const Sink& sink) {
  if (rules.empty_row == ResultRules::EmptyRow::kZeroAndPlusInf) {
    return {kInfinity, 0};
  }
  if (!sink.present || rules.sink != ResultRules::Sink::kInLse) {
    return {-kInfinity, 0};
  }
  if (std::isnan(sink.value)) return {0, kInfinity};
  const double base = rules.base_2 ? kLog2E : 1.0;
  Bounded lse = {sink.value * base, 0};
  if (std::isfinite(lse.value)) {
    lse.radius = Gamma(4) * std::fabs(lse.value) + kLog2Error * base;
    if (std::fabs(lse.value) >= kFp32Max) lse.radius = kInfinity;
  }
  return lse;
}

// Rounds one column of one split's output to the partials' type.
MLAFUZZ_ORACLE_CODE inline Bounded RoundPartial(
    ArithmeticRules::Partials partials, Bounded o) {
  if (std::isnan(o.value) || std::isinf(o.radius)) return o;
  switch (partials) {
    case ArithmeticRules::Partials::kBf16: {
      const double centre = RoundBf16(o.value);
      o.radius = Max(RoundBf16(o.value + o.radius) - centre,
                     centre - RoundBf16(o.value - o.radius));
      o.value = centre;
      // An infinite partial.
      if (std::isinf(centre) || std::isnan(o.radius)) o.radius = kInfinity;
      break;
    }
    case ArithmeticRules::Partials::kUnknown:
      if (o.value != 0 || o.radius != 0) {
        o.radius += kUBf16 * (std::fabs(o.value) + o.radius) + 0x1p-134;
      }
      break;
    default:
      if (o.value != 0 || o.radius != 0) {
        o.radius += Gamma(1) * (std::fabs(o.value) + o.radius);
      }
  }
  return o;
}

// What all columns of a head have in common.
struct MergeState {
  double top = 0;        // the largest LSE
  Bounded total;         // sum of the splits' weights, of the keys alone
  double lse_error = 0;  // of the sum, with each part's own error in it
  Bounded sink_weight;
  double sink_argument = 0;
  bool sink_overflows = false;
  double first_terms = 0;  // of the first split
};

// In parts: Begin() of usable splits, and a sink that is not NaN; then columns,
// side by side, and the LSE.
class Merge {
 public:
  // `weight`: room for as many as there are splits.
  MLAFUZZ_ORACLE_CODE Merge(const ArithmeticRules& arithmetic,
                            const ResultRules& rules, bool plan_known,
                            const Sink& sink, int splits, Bounded* weight,
                            MergeState* state)
      : arithmetic_(arithmetic),
        rules_(rules),
        errors_(arithmetic),
        plan_known_(plan_known),
        sink_(sink),
        n_(splits),
        weight_(weight),
        state_(*state) {}

  MLAFUZZ_ORACLE_CODE bool merged() const { return n_ > 1; }

  // `summary(i)`: of split i.
  template <class Summary>
  MLAFUZZ_ORACLE_CODE void Begin(const Summary& summary) {
    state_ = MergeState();
    state_.first_terms = summary(0).terms;
    double top = -kInfinity;
    // LSE of each split, base 2, as the merge meets it; their weights later.
    Bounded* const lse = weight_;
    for (int i = 0; i < n_; ++i) {
      const SplitSummary& w = summary(i);
      const double log_sum = Log2(w.denominator.value);
      lse[i].value = w.m + log_sum;
      lse[i].radius = Log2Radius(w.denominator.radius / w.denominator.value) +
                      LseRounding(w.m, log_sum);
      top = Max(top, lse[i].value);
    }
    state_.top = top;
    const double first_radius = lse[0].radius;
    // Their weights relative to the largest: exp2 of a rounded difference.
    for (int i = 0; i < n_; ++i) {
      const double x = lse[i].value - top;
      const double lse_radius = lse[i].radius;
      weight_[i] = {Exp2(x), 0};
      if (merged() || !plan_known_) {
        const double d =
            lse_radius + Gamma(2) * (std::fabs(x) + std::fabs(top));
        const double relative = Exp2Radius(d) + errors_.Exp2(x) + Gamma(3);
        weight_[i].radius = weight_[i].value * relative +
                            (x - d < -126 ? 2 * errors_.Tiny() : 0);
        state_.lse_error += weight_[i].radius;
      } else {
        state_.lse_error += weight_[i].value * Exp2Radius(lse_radius);
      }
      state_.total.value += weight_[i].value;
      state_.total.radius += weight_[i].radius;
    }
    AddSink(first_radius);
  }

  // Of column c: `part(i)` is split i's, rounded as RoundPartial() does where
  // there are several. A radius of infinity: anything; a value NaN: NaN.
  template <class Part>
  MLAFUZZ_ORACLE_CODE Bounded Column(const Part& part) const {
    const Bounded denominator = {
        state_.total.value + state_.sink_weight.value,
        state_.total.radius + state_.sink_weight.radius};
    double sum = 0, magnitude = 0, radius = 0;
    bool nan = false, open = false;
    for (int i = 0; i < n_; ++i) {
      const Bounded o = part(i);
      if (std::isinf(o.radius)) {
        open = true;
      } else if (std::isnan(o.value)) {
        // A split whose weight vanishes may be skipped.
        (weight_[i].value - weight_[i].radius > 2 * kFp32MinNormal ? nan
                                                                   : open) =
            true;
      }
      sum += weight_[i].value * o.value;
      magnitude += weight_[i].value * std::fabs(o.value);
      radius += (weight_[i].value + weight_[i].radius) * o.radius;
    }
    // NaN in any order, but for another split that may be anything.
    if (nan) return {kNaN, 0};
    if (open) return {0, kInfinity};
    if (std::isinf(state_.sink_weight.value)) return {0, 0};
    const double out = sum / denominator.value;
    if (merged() || sink_.present) {
      // sum of what (weight error) does to (o_i - out), the sink's o being 0.
      for (int i = 0; i < n_; ++i) {
        radius += weight_[i].radius * std::fabs(part(i).value - out);
      }
      radius += state_.sink_weight.radius * std::fabs(out);
      const double least = denominator.value - denominator.radius;
      radius = least > 0 ? radius / least : kInfinity;
      if (magnitude != 0 || radius != 0) {
        const double n = static_cast<double>(n_);
        const double sum_error = merged() ? Gamma(n + 2) : 0;
        radius += magnitude / denominator.value * sum_error +
                  std::fabs(out) * (kDivideError + Gamma(4)) +
                  (n + 2) * errors_.Tiny();
      }
      // One split may still pass through a partial before the sink scales it.
      if (!merged() &&
          arithmetic_.partials != ArithmeticRules::Partials::kFp32) {
        radius += std::fabs(out) * kUBf16 + 0x1p-134;
      }
      if (state_.sink_overflows) {
        // 1 / Inf: zero at worst.
        radius = Max(radius, std::fabs(out));
      }
      if (!(magnitude * 2 * static_cast<double>(n_ + 1) < kFp32Max)) {
        radius = kInfinity;
      }
    }
    return {out, std::isnan(radius) ? kInfinity : radius};
  }

  // In the contract's base; as Column().
  MLAFUZZ_ORACLE_CODE Bounded Lse() const {
    const bool in_lse =
        sink_.present && rules_.sink == ResultRules::Sink::kInLse;
    if (in_lse && sink_.value == kInfinity) return {kInfinity, 0};
    Bounded sum = {state_.total.value, 0};
    if (in_lse && std::isfinite(state_.sink_argument)) {
      if (state_.sink_overflows) return {0, kInfinity};
      sum.value += state_.sink_weight.value;
      sum.radius = state_.sink_weight.radius;
    }
    const double top = state_.top;
    const double log_sum = Log2(sum.value);
    const double value = top + log_sum;
    double relative = (state_.lse_error + sum.radius) / sum.value;
    double radius = 0;
    if (!plan_known_) {
      // Parts at most the keys in number, each with an LSE of its own: below
      // the largest by x it counts 2^-x, and (|top| + x) 2^-x < |top| + 1.
      const double terms = state_.first_terms + 2;
      relative += Gamma(terms);
      radius += LseRounding(std::fabs(top) + 1, Log2(terms)) +
                LseRounding(top, log_sum);
    } else if (merged() || in_lse) {
      relative += Gamma(static_cast<double>(n_) + 2);
      radius += LseRounding(top, log_sum);
    }
    radius += Log2Radius(relative);
    const double base = rules_.base_2 ? 1.0 : kLn2;
    Bounded lse = {value * base,
                   radius * base + Gamma(2) * std::fabs(value * base)};
    if (!(std::fabs(lse.value) < kFp32Max) || std::isnan(lse.radius)) {
      lse.radius = kInfinity;
    }
    return lse;
  }

 private:
  // An LSE held in base 2 as a kernel forms it: m + log2(sum), or the natural
  // form, stored in fp32. `m` and `log_sum` are the two operands.
  MLAFUZZ_ORACLE_CODE static double LseRounding(double m, double log_sum) {
    return Gamma(4) * std::fabs(m) + kLog2Error * Max(1.0, std::fabs(log_sum)) +
           Gamma(3) * (std::fabs(log_sum) + std::fabs(m + log_sum));
  }

  // What a relative error below 1 does to a base-2 logarithm.
  MLAFUZZ_ORACLE_CODE static double Log2Radius(double relative) {
    return relative < 1 ? -Log2(1 - relative) : kInfinity;
  }

  // The sink is one more key whose V is zero.
  MLAFUZZ_ORACLE_CODE void AddSink(double lse_radius) {
    state_.sink_argument = -kInfinity;
    double shift = 0;
    if (sink_.present) {
      const double scaled = sink_.value * kLog2E;
      const double argument = scaled - state_.top;
      state_.sink_argument = argument;
      if (std::isfinite(argument)) {
        shift = Gamma(3) * std::fabs(scaled) +
                Gamma(3) * std::fabs(state_.top) +
                Gamma(1) * std::fabs(argument) + (merged() ? 0 : lse_radius);
        state_.sink_weight.value = Exp2(argument);
        state_.sink_weight.radius =
            state_.sink_weight.value *
                (Exp2Radius(shift) + errors_.Exp2(-std::fabs(argument)) +
                 Gamma(4)) +
            (argument - shift < -126 ? 2 * errors_.Tiny() : 0);
      } else {
        state_.sink_weight.value = argument > 0 ? kInfinity : 0;
      }
    }
    // An fp32 exp2 of it may be infinite, or the denominator be scaled by it.
    state_.sink_overflows = state_.sink_argument + shift >= 127;
  }

  const ArithmeticRules& arithmetic_;
  const ResultRules& rules_;
  const ErrorModel errors_;
  const bool plan_known_;
  const Sink sink_;
  const int n_;
  Bounded* const weight_;
  MergeState& state_;
};

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DECODE_MERGE_SPLITS_H_
