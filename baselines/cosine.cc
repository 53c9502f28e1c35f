// A similarity that reports of kernels quote: the cosine of the whole output
// with the reference's has to be above 0.999, on the cases of vLLM's backend
// test. It is taken before the projection by W_UV, whose positive weights make
// all outputs alike.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "baselines/backend_problem.h"
#include "baselines/closeness.h"
#include "baselines/formats.h"
#include "baselines/rows.h"

namespace mlafuzz::baselines {
namespace {

constexpr double kLeast = 0.999;

std::vector<float> Floats(const std::vector<std::uint16_t>& bf16) {
  std::vector<float> values;
  values.reserve(bf16.size());
  for (const std::uint16_t bits : bf16) values.push_back(FromBf16(bits));
  return values;
}

std::string WhyNotSimilar(const char* name,
                          const std::vector<std::uint16_t>& actual,
                          const std::vector<std::uint16_t>& expected) {
  const double cosine = CosineSimilarity(Floats(actual), Floats(expected));
  // Also false for NaN.
  if (cosine > kLeast) return "";
  return absl::StrCat(name, " has a cosine of ", cosine, ", not above ",
                      kLeast);
}

void Test(SuiteRun& run) {
  for (const BackendCase& c : BackendCases()) {
    Random random =
        run.StartCase(absl::StrCat(c.spec.name, ", ", c.heads, " heads"));
    BackendOutcome outcome;
    if (!RunBackend(run, random, c, &outcome) ||
        !run.Holds(
            WhyNotSimilar("output", outcome.decoded, outcome.expected))) {
      return;
    }
    if (outcome.prefill_tokens.empty()) continue;
    const std::int64_t row = c.heads * kLatent;
    std::vector<std::uint16_t> expected;
    for (const std::int64_t token : outcome.prefill_tokens) {
      const auto begin = outcome.expected.begin() + token * row;
      expected.insert(expected.end(), begin, begin + row);
    }
    if (!run.Holds(
            WhyNotSimilar("output of prefill", outcome.prefilled, expected))) {
      return;
    }
  }
}

}  // namespace

Baseline Cosine() {
  return {
      .id = "cosine_0.999",
      .source =
          "a measure in reports, on the cases of vllm-project/vllm "
          "tests/v1/attention/test_sparse_mla_backends.py "
          "@0023368d052caf392d159ab32d380a807a89be99",
      .kernels = {kAllKernels.begin(), kAllKernels.end()},
      .tolerance = "cosine of each case's whole output above 0.999",
      .cases = kBackendCases,
      .reduced = true,
      .run = Test,
  };
}

}  // namespace mlafuzz::baselines
