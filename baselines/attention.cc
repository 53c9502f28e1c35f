#include "baselines/attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "baselines/formats.h"
#include "baselines/rows.h"

namespace mlafuzz::baselines {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

double Dot(const float* a, const float* b) {
  // Several sums side by side, so that the compiler may use vectors.
  std::array<double, 8> sums{};
  for (int i = 0; i < kColumns; i += 8) {
    for (int lane = 0; lane < 8; ++lane) {
      sums[static_cast<std::size_t>(lane)] +=
          static_cast<double>(a[i + lane]) * b[i + lane];
    }
  }
  double sum = 0;
  for (const double part : sums) sum += part;
  return sum;
}

// log(exp(a) + exp(b)).
double LogAdd(double a, double b) {
  const double top = std::max(a, b);
  if (std::isinf(top)) return top;
  return top + std::log(std::exp(a - top) + std::exp(b - top));
}

}  // namespace

LseForm LseFormOf(const DecodeContract& contract) {
  return {
      .base_e = contract.lse_base() == DecodeContract::BASE_E,
      .includes_sink = contract.sink() != DecodeContract::SINK_NOT_IN_LSE,
      .plus_inf_without_keys =
          contract.empty_row() == DecodeContract::ZERO_AND_PLUS_INF,
  };
}

AttentionOutput Attend(const AttentionInput& input,
                       absl::Span<const float> rows, const LseForm& form) {
  AttentionOutput result;
  const auto heads = static_cast<std::size_t>(input.heads);
  const auto queries = static_cast<std::size_t>(input.queries);
  result.out.resize(queries * heads * kLatent);
  result.lse.resize(queries * heads);
  std::vector<float> keys;
  std::vector<double> scores;
  std::array<float, kColumns> q;
  std::array<double, kLatent> sum;
  for (std::size_t query = 0; query < queries; ++query) {
    keys.clear();
    std::int64_t lanes = input.width;
    if (!input.lengths.empty()) {
      lanes = std::min<std::int64_t>(lanes, input.lengths[query]);
    }
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      const std::int32_t slot =
          input.indices[query * static_cast<std::size_t>(input.width) +
                        static_cast<std::size_t>(lane)];
      if (slot < 0) continue;
      const float* const row = &rows[static_cast<std::size_t>(slot) * kColumns];
      for (int i = 0; i < kColumns; ++i) {
        keys.push_back(row[i] == row[i] ? row[i] : 0);
      }
    }
    const std::size_t count = keys.size() / kColumns;
    for (std::size_t head = 0; head < heads; ++head) {
      const std::size_t at = query * heads + head;
      for (std::size_t i = 0; i < kColumns; ++i) {
        q[i] = FromBf16(input.q[at * kColumns + i]);
      }
      scores.resize(count);
      double top = -kInf;
      for (std::size_t k = 0; k < count; ++k) {
        scores[k] = Dot(q.data(), &keys[k * kColumns]) * input.softmax_scale;
        top = std::max(top, scores[k]);
      }
      sum.fill(0);
      double denominator = 0;
      for (std::size_t k = 0; k < count; ++k) {
        const double weight = std::exp(scores[k] - top);
        denominator += weight;
        const float* const key = &keys[k * kColumns];
        for (std::size_t i = 0; i < kLatent; ++i) sum[i] += weight * key[i];
      }
      const double keys_lse = count == 0 ? -kInf : top + std::log(denominator);
      const double sink =
          input.sinks.empty() ? -kInf : static_cast<double>(input.sinks[head]);
      // The sink takes part of the weight and has no value.
      const double share = count == 0 ? 0 : 1 / (1 + std::exp(sink - keys_lse));
      for (std::size_t i = 0; i < kLatent; ++i) {
        result.out[at * kLatent + i] = ToBf16(
            static_cast<float>(count == 0 ? 0 : sum[i] / denominator * share));
      }
      double lse = form.includes_sink ? LogAdd(keys_lse, sink) : keys_lse;
      if (count == 0 && form.plus_inf_without_keys) lse = kInf;
      if (!form.base_e) lse *= std::numbers::log2e;
      result.lse[at] = static_cast<float>(lse);
    }
  }
  return result;
}

}  // namespace mlafuzz::baselines
