// vllm-project/vllm tests/v1/attention/test_sparse_mla_backends.py: the
// backends' decode test on fp8_ds_mla rows, and the tests of the index
// conversion. All values uniform in [0, 1); what the reference attends to is
// what the writer under test makes of them. The output after its projection by
// W_UV is finite and within atol 0.05 and rtol 0.065; indices are equal.
//
// Reduced: a sixteenth of the heads. The published list has each case twice
// with scales that this row format ignores.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "baselines/backend_problem.h"
#include "baselines/closeness.h"
#include "baselines/formats.h"
#include "baselines/rows.h"

namespace mlafuzz::baselines {
namespace {

constexpr Tolerance kTolerance = {.atol = 0.05f, .rtol = 0.065f};

// [rows, heads, 512] times W_UV [heads, 512, 128]: [rows, heads, 128].
std::vector<std::uint16_t> Project(const std::vector<std::uint16_t>& attention,
                                   std::size_t heads,
                                   const std::vector<float>& up_values) {
  std::vector<std::uint16_t> out;
  out.reserve(attention.size() / kLatent * kValueColumns);
  for (std::size_t at = 0; at < attention.size() / kLatent; ++at) {
    const float* const w = &up_values[at % heads * kLatent * kValueColumns];
    float sums[kValueColumns] = {};
    for (std::size_t l = 0; l < kLatent; ++l) {
      const float value = FromBf16(attention[at * kLatent + l]);
      for (std::size_t v = 0; v < kValueColumns; ++v) {
        sums[v] += value * w[l * kValueColumns + v];
      }
    }
    for (const float sum : sums) out.push_back(ToBf16(sum));
  }
  return out;
}

std::string WhyNotFinite(const std::vector<std::uint16_t>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(FromBf16(values[i]))) {
      return absl::StrCat("output[", i, "] is not finite");
    }
  }
  return "";
}

bool CheckBackend(SuiteRun& run, const BackendCase& c) {
  Random random =
      run.StartCase(absl::StrCat(c.spec.name, ", ", c.heads, " heads"));
  BackendOutcome outcome;
  if (!RunBackend(run, random, c, &outcome)) return false;
  const auto heads = static_cast<std::size_t>(c.heads);
  const std::vector<std::uint16_t> expected =
      Project(outcome.expected, heads, outcome.up_values);
  const std::vector<std::uint16_t> actual =
      Project(outcome.decoded, heads, outcome.up_values);
  if (!run.Holds(WhyNotFinite(actual)) ||
      !run.Holds(WhyNotClose("output", actual, expected, kTolerance))) {
    return false;
  }
  const std::vector<std::uint16_t> prefilled =
      Project(outcome.prefilled, heads, outcome.up_values);
  std::vector<std::uint16_t> expected_prefill;
  const std::size_t row = heads * kValueColumns;
  for (const std::int64_t token : outcome.prefill_tokens) {
    const auto begin =
        expected.begin() + token * static_cast<std::int64_t>(row);
    expected_prefill.insert(expected_prefill.end(), begin,
                            begin + static_cast<std::int64_t>(row));
  }
  return run.Holds(WhyNotFinite(prefilled)) &&
         run.Holds(WhyNotClose("output of prefill", prefilled, expected_prefill,
                               kTolerance));
}

struct Conversion {
  std::int64_t page_size;
  std::int64_t tokens;
  std::int64_t width;
  std::int64_t columns;  // of the block table
  std::uint32_t pages;
};

std::vector<std::int32_t> Draw(Random& random, std::int64_t count,
                               std::uint32_t below) {
  std::vector<std::int32_t> values(static_cast<std::size_t>(count));
  for (std::int32_t& value : values) {
    value = static_cast<std::int32_t>(random.Below(below));
  }
  return values;
}

// Four requests; in rows 0 and 3 some -1, in rows 2 and 6 some indices just
// past the table, as far as the row is wide.
bool CheckConversion(SuiteRun& run, const Conversion& c,
                     std::vector<std::int32_t> request_ids) {
  Random random = run.StartCase(
      absl::StrCat("conversion, pages of ", c.page_size, ", top-k ", c.width));
  constexpr std::int64_t kRequests = 4;
  if (request_ids.empty()) request_ids = Draw(random, c.tokens, kRequests);
  const Table table = {kRequests, c.columns,
                       Draw(random, kRequests * c.columns, c.pages)};
  const auto past = static_cast<std::int32_t>(c.page_size * c.columns);
  Table tokens = {
      c.tokens, c.width,
      Draw(random, c.tokens * c.width, static_cast<std::uint32_t>(past))};
  const auto set = [&](std::int64_t row, std::int64_t from, std::int64_t to,
                       std::int32_t value) {
    for (std::int64_t i = from; i < to && i < c.width; ++i) {
      tokens.pages[static_cast<std::size_t>(row * c.width + i)] = value;
    }
  };
  set(0, 0, 10, -1);
  set(3, 50, 60, -1);
  set(2, 100, 110, past);
  set(6, 150, 160, past);
  std::vector<std::int32_t> out;
  std::vector<std::int32_t> counts;
  if (!run.Holds(run.calls().Convert(c.page_size, request_ids, table, tokens,
                                     &out, &counts))) {
    return false;
  }
  std::vector<std::int32_t> expected;
  std::vector<std::int32_t> expected_counts;
  for (std::int64_t row = 0; row < c.tokens; ++row) {
    std::int32_t count = 0;
    for (std::int64_t i = 0; i < c.width; ++i) {
      const std::int32_t token =
          tokens.pages[static_cast<std::size_t>(row * c.width + i)];
      const std::int64_t column = token / c.page_size;
      if (token == -1 || column >= c.columns) {
        expected.push_back(-1);
        continue;
      }
      const std::int64_t page = table.pages[static_cast<std::size_t>(
          request_ids[static_cast<std::size_t>(row)] * c.columns + column)];
      expected.push_back(
          static_cast<std::int32_t>(page * c.page_size + token % c.page_size));
      ++count;
    }
    expected_counts.push_back(count);
  }
  return run.Holds(WhyNotEqual("indices", out, expected)) &&
         run.Holds(WhyNotEqual("valid counts", counts, expected_counts));
}

// More request ids than rows of indices have to be refused.
bool CheckRefusal(SuiteRun& run) {
  Random random = run.StartCase("conversion, more request ids than rows");
  Table table = {4, 10, {}};
  for (std::int32_t i = 0; i < 40; ++i) table.pages.push_back(i);
  const Table tokens = {2, 128, Draw(random, 2 * 128, 640)};
  std::vector<std::int32_t> out;
  std::vector<std::int32_t> counts;
  const std::string why = run.calls().Convert(
      64, {{0, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3}}, table, tokens, &out, &counts);
  return run.Holds(why.find("refused") != std::string::npos
                       ? ""
                       : "accepted 12 request ids for 2 rows of indices");
}

void Test(SuiteRun& run) {
  for (const BackendCase& c : BackendCases()) {
    if (!CheckBackend(run, c)) return;
  }
  for (const std::int64_t page_size : {16, 64, 128}) {
    for (const std::int64_t width : {128, 256, 512}) {
      if (!CheckConversion(run, {page_size, 8, width, 10, 100}, {})) return;
    }
  }
  // The test with a prefill workspace, without it: the conversion here has no
  // such argument.
  if (!CheckConversion(run, {16, 12, 128, 8, 50},
                       {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3})) {
    return;
  }
  CheckRefusal(run);
}

}  // namespace

Baseline VllmBackend() {
  return {
      .id = "vllm_backend_test",
      .source =
          "vllm-project/vllm tests/v1/attention/"
          "test_sparse_mla_backends.py "
          "@0023368d052caf392d159ab32d380a807a89be99",
      .kernels = {kAllKernels.begin(), kAllKernels.end()},
      .tolerance = "projected output: atol 0.05, rtol 0.065; indices equal",
      .cases = kBackendCases + 11,
      .reduced = true,
      .run = Test,
  };
}

}  // namespace mlafuzz::baselines
