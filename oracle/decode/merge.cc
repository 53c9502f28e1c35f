#include "oracle/decode/merge.h"

#include <algorithm>
#include <cmath>

#include "oracle/decode/rounding.h"

// Follows docs/bounds.md section 9 (LSE, merge, sink).
namespace mlafuzz::oracle {
namespace {

// An LSE held in base 2 as a kernel forms it: m + log2(sum), or the natural
// form, stored in fp32. `m` and `sum` are the two operands.
double LseRounding(double m, double log_sum) {
  return Gamma(4) * std::fabs(m) +
         kLog2Error * std::max(1.0, std::fabs(log_sum)) +
         Gamma(3) * (std::fabs(log_sum) + std::fabs(m + log_sum));
}

// What a relative error below 1 does to a base-2 logarithm.
double Log2Radius(double relative) {
  return relative < 1 ? -std::log2(1 - relative) : kInfinity;
}

void RoundPartial(const Arithmetic& arithmetic, SplitOutput* output) {
  for (int c = 0; c < kLatent; ++c) {
    double& value = output->value[c];
    double& radius = output->radius[c];
    if (std::isnan(value) || std::isinf(radius)) continue;
    switch (arithmetic.partials()) {
      case Arithmetic::PARTIALS_BF16: {
        const double center = RoundBf16(value);
        radius = std::max(RoundBf16(value + radius) - center,
                          center - RoundBf16(value - radius));
        value = center;
        // An infinite partial.
        if (std::isinf(center) || std::isnan(radius)) radius = kInfinity;
        break;
      }
      case Arithmetic::PARTIALS_UNKNOWN:
        if (value != 0 || radius != 0) {
          radius += kUBf16 * (std::fabs(value) + radius) + 0x1p-134;
        }
        break;
      default:
        if (value != 0 || radius != 0) {
          radius += Gamma(1) * (std::fabs(value) + radius);
        }
    }
  }
}

}  // namespace

void AnythingRow(const HeadResult& result) {
  std::fill_n(result.out, kLatent, 0.0);
  std::fill_n(result.out_radius, kLatent, kInfinity);
  *result.lse = 0;
  *result.lse_radius = kInfinity;
}

void NanRow(const HeadResult& result) {
  std::fill_n(result.out, kLatent, kNaN);
  std::fill_n(result.out_radius, kLatent, 0.0);
  *result.lse = kNaN;
  *result.lse_radius = 0;
}

void EmptyRow(const Contract& contract, const Sink& sink,
              const HeadResult& result) {
  const DecodeContract& rules = contract.decode();
  std::fill_n(result.out, kLatent, 0.0);
  std::fill_n(result.out_radius, kLatent, 0.0);
  *result.lse_radius = 0;
  if (rules.empty_row() == DecodeContract::ZERO_AND_PLUS_INF) {
    *result.lse = kInfinity;
    return;
  }
  *result.lse = -kInfinity;
  if (sink.present && rules.sink() == DecodeContract::SINK_IN_LSE) {
    if (std::isnan(sink.value)) {
      AnythingRow(result);
      return;
    }
    const double base =
        rules.lse_base() == DecodeContract::BASE_2 ? kLog2E : 1.0;
    *result.lse = sink.value * base;
    if (std::isfinite(*result.lse)) {
      *result.lse_radius =
          Gamma(4) * std::fabs(*result.lse) + kLog2Error * base;
      if (std::fabs(*result.lse) >= kFp32Max) *result.lse_radius = kInfinity;
    }
  }
}

void MergeSplits(const Contract& contract, bool plan_known, const Sink& sink,
                 std::vector<SplitPart>* parts, const HeadResult& result) {
  const Arithmetic& arithmetic = contract.arithmetic();
  const DecodeContract& rules = contract.decode();
  const ErrorModel errors(arithmetic);
  bool anything = false;
  for (const SplitPart& part : *parts) {
    if (part.summary.state == SplitSummary::State::kNan) {
      NanRow(result);
      return;
    }
    anything |= part.summary.state == SplitSummary::State::kAnything;
  }
  if (anything || (sink.present && std::isnan(sink.value))) {
    AnythingRow(result);
    return;
  }

  // LSE of each split, base 2, as the merge meets it.
  const std::size_t n = parts->size();
  const bool merged = n > 1;
  std::vector<Bounded> lse(n);
  double top = -kInfinity;
  for (std::size_t i = 0; i < n; ++i) {
    const SplitSummary& w = (*parts)[i].summary;
    const double log_sum = std::log2(w.denominator.value);
    lse[i].value = w.m + log_sum;
    lse[i].radius = Log2Radius(w.denominator.radius / w.denominator.value) +
                    LseRounding(w.m, log_sum);
    top = std::max(top, lse[i].value);
  }
  // Their weights relative to the largest: exp2 of a rounded difference.
  Bounded total;         // of the keys alone
  double lse_error = 0;  // of the sum, with each part's own error in it
  std::vector<Bounded> weight(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double x = lse[i].value - top;
    weight[i].value = std::exp2(x);
    if (merged || !plan_known) {
      const double d =
          lse[i].radius + Gamma(2) * (std::fabs(x) + std::fabs(top));
      const double relative = Exp2Radius(d) + errors.Exp2(x) + Gamma(3);
      weight[i].radius =
          weight[i].value * relative + (x - d < -126 ? 2 * errors.Tiny() : 0);
      lse_error += weight[i].radius;
    } else {
      lse_error += weight[i].value * Exp2Radius(lse[i].radius);
    }
    total.value += weight[i].value;
    total.radius += weight[i].radius;
  }
  if (merged) {
    for (SplitPart& part : *parts) RoundPartial(arithmetic, &part.output);
  }

  // The sink is one more key whose V is zero.
  Bounded sink_weight;
  double sink_argument = -kInfinity;
  double sink_shift = 0;
  if (sink.present) {
    sink_argument = sink.value * kLog2E - top;
    if (std::isfinite(sink_argument)) {
      sink_shift = Gamma(3) * std::fabs(sink.value * kLog2E) +
                   Gamma(3) * std::fabs(top) +
                   Gamma(1) * std::fabs(sink_argument) +
                   (merged ? 0 : lse[0].radius);
      sink_weight.value = std::exp2(sink_argument);
      sink_weight.radius =
          sink_weight.value *
              (Exp2Radius(sink_shift) + errors.Exp2(-std::fabs(sink_argument)) +
               Gamma(4)) +
          (sink_argument - sink_shift < -126 ? 2 * errors.Tiny() : 0);
    } else {
      sink_weight.value = sink_argument > 0 ? kInfinity : 0;
    }
  }

  // ---- out
  const bool overwhelming = std::isinf(sink_weight.value);
  const Bounded denominator = {total.value + sink_weight.value,
                               total.radius + sink_weight.radius};
  // An fp32 exp2 of it may be infinite, or the denominator be scaled by it.
  const bool sink_overflows = sink_argument + sink_shift >= 127;
  const double least = denominator.value - denominator.radius;
  const double sum_error = merged ? Gamma(static_cast<double>(n) + 2) : 0;
  for (int c = 0; c < kLatent; ++c) {
    double sum = 0, magnitude = 0, radius = 0;
    bool nan = false, open = false;
    for (std::size_t i = 0; i < n; ++i) {
      const SplitOutput& o = (*parts)[i].output;
      if (std::isinf(o.radius[c])) {
        open = true;
      } else if (std::isnan(o.value[c])) {
        // A split whose weight vanishes may be skipped.
        (weight[i].value - weight[i].radius > 2 * kFp32MinNormal ? nan : open) =
            true;
      }
      sum += weight[i].value * o.value[c];
      magnitude += weight[i].value * std::fabs(o.value[c]);
      radius += (weight[i].value + weight[i].radius) * o.radius[c];
    }
    if (nan || open) {
      // NaN in any order, but for another split that may be anything.
      result.out[c] = nan ? kNaN : 0;
      result.out_radius[c] = nan ? 0 : kInfinity;
      continue;
    }
    if (overwhelming) {
      result.out[c] = 0;
      result.out_radius[c] = 0;
      continue;
    }
    const double out = sum / denominator.value;
    if (merged || sink.present) {
      // sum of what (weight error) does to (o_i - out), the sink's o being 0.
      for (std::size_t i = 0; i < n; ++i) {
        const double o = (*parts)[i].output.value[c];
        radius += weight[i].radius * std::fabs(o - out);
      }
      radius += sink_weight.radius * std::fabs(out);
      radius = least > 0 ? radius / least : kInfinity;
      if (magnitude != 0 || radius != 0) {
        radius += magnitude / denominator.value * sum_error +
                  std::fabs(out) * (kDivideError + Gamma(4)) +
                  (static_cast<double>(n) + 2) * errors.Tiny();
      }
      // One split may still pass through a partial before the sink scales it.
      if (!merged && arithmetic.partials() != Arithmetic::PARTIALS_FP32) {
        radius += std::fabs(out) * kUBf16 + 0x1p-134;
      }
      if (sink_overflows) {
        // 1 / Inf: zero at worst.
        radius = std::max(radius, std::fabs(out));
      }
      if (!(magnitude * 2 * static_cast<double>(n + 1) < kFp32Max)) {
        radius = kInfinity;
      }
    }
    result.out[c] = out;
    result.out_radius[c] = std::isnan(radius) ? kInfinity : radius;
  }

  // ---- LSE
  const bool in_lse =
      sink.present && rules.sink() == DecodeContract::SINK_IN_LSE;
  if (in_lse && sink.value == kInfinity) {
    *result.lse = kInfinity;
    *result.lse_radius = 0;
    return;
  }
  Bounded sum = {total.value, 0};
  if (in_lse && std::isfinite(sink_argument)) {
    if (sink_overflows) {
      *result.lse = 0;
      *result.lse_radius = kInfinity;
      return;
    }
    sum.value += sink_weight.value;
    sum.radius = sink_weight.radius;
  }
  const double log_sum = std::log2(sum.value);
  const double value = top + log_sum;
  double relative = (lse_error + sum.radius) / sum.value;
  double radius = 0;
  if (!plan_known) {
    // Parts at most the keys in number, each with an LSE of its own: below the
    // largest by x it counts 2^-x, and (|top| + x) 2^-x < |top| + 1.
    const double terms = (*parts)[0].summary.terms + 2;
    relative += Gamma(terms);
    radius += LseRounding(std::fabs(top) + 1, std::log2(terms)) +
              LseRounding(top, log_sum);
  } else if (merged || in_lse) {
    relative += Gamma(static_cast<double>(n) + 2);
    radius += LseRounding(top, log_sum);
  }
  radius += Log2Radius(relative);
  const double base = rules.lse_base() == DecodeContract::BASE_2 ? 1.0 : kLn2;
  *result.lse = value * base;
  *result.lse_radius = radius * base + Gamma(2) * std::fabs(value * base);
  if (!(std::fabs(*result.lse) < kFp32Max) || std::isnan(*result.lse_radius)) {
    *result.lse_radius = kInfinity;
  }
}

}  // namespace mlafuzz::oracle
