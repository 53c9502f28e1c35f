// As ScalingIntelligence/KernelBench src/eval.py judges kernels in bf16: five
// trials with fresh inputs of one shape, torch.allclose of the one output with
// atol = rtol = 1e-2. It has no problem on these kernels; here each kernel that
// a target replaces is one, with normal inputs. A decode's LSE is not its
// output and not looked at.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "baselines/baseline.h"
#include "baselines/closeness.h"
#include "baselines/formats.h"
#include "baselines/rows.h"

namespace mlafuzz::baselines {
namespace {

// torch.allclose(expected, actual, ...): relative to the second.
constexpr Tolerance kTolerance = {.atol = 1e-2f, .rtol = 1e-2f};
constexpr int kTrials = 5;
constexpr std::int64_t kPages = 8;
constexpr std::int64_t kPageSize = 64;
constexpr std::uint16_t kNan = 0x7fc0;

std::vector<std::uint16_t> NormalBf16(Random& random, std::size_t count) {
  std::vector<std::uint16_t> values(count);
  for (std::uint16_t& value : values) value = ToBf16(random.Normal());
  return values;
}

TileScale ScaleRuleOf(const SuiteRun& run) {
  return run.contract(Kernel::kWriter).writer().scale() ==
                 WriterContract::POW2_CEIL
             ? TileScale::kPow2
             : TileScale::kRaw;
}

PoolImage NormalPool(Random& random) {
  PoolImage pool = EmptyPool(kPages, kPageSize);
  for (std::int64_t slot = 0; slot < pool.slots(); ++slot) {
    PackRow(NormalBf16(random, kColumns).data(), TileScale::kRaw, 0,
            &pool.bytes[static_cast<std::size_t>(pool.RowAt(slot))]);
  }
  return pool;
}

// The output is the pool: bytes, compared as numbers.
bool TryWriter(SuiteRun& run, Random& random) {
  constexpr std::size_t kTokens = 128;
  const std::vector<std::int32_t> sample =
      random.Sample(kPages * kPageSize, kTokens);
  const std::vector<std::int64_t> slots(sample.begin(), sample.end());
  const auto kv_c = NormalBf16(random, kTokens * kLatent);
  const auto k_pe = NormalBf16(random, kTokens * kRope);
  PoolImage pool = EmptyPool(kPages, kPageSize);
  PoolImage expected = pool;
  for (std::size_t i = 0; i < kTokens; ++i) {
    std::uint16_t values[kColumns];
    std::memcpy(values, &kv_c[i * kLatent], 2 * kLatent);
    std::memcpy(values + kLatent, &k_pe[i * kRope], 2 * kRope);
    PackRow(
        values, ScaleRuleOf(run), 0,
        &expected.bytes[static_cast<std::size_t>(expected.RowAt(slots[i]))]);
  }
  return run.Holds(run.calls().Write(kv_c, k_pe, slots, &pool)) &&
         run.Holds(WhyNotClose("pool", expected.bytes, pool.bytes, kTolerance));
}

bool TryGather(SuiteRun& run, Random& random) {
  PoolImage pool = NormalPool(random);
  // Two requests of four pages, out of order.
  const Table table = {2, 4, random.Sample(kPages, kPages)};
  const std::vector<std::int32_t> starts = {0, 4 * kPageSize};
  std::vector<std::uint16_t> dst(kPages * kPageSize * kColumns, kNan);
  std::vector<std::uint16_t> expected;
  for (const std::int32_t page : table.pages) {
    for (std::int64_t i = 0; i < kPageSize; ++i) {
      float values[kColumns];
      UnpackRow(&pool.bytes[static_cast<std::size_t>(
                    pool.RowAt(page * kPageSize + i))],
                Through::kBf16, values);
      for (const float value : values) expected.push_back(ToBf16(value));
    }
  }
  return run.Holds(run.calls().Gather(table, starts, {}, &pool, &dst)) &&
         run.Holds(WhyNotClose("dst", expected, dst, kTolerance));
}

// Whole numbers: within a hundredth of each other, from a hundred on one apart.
bool TryConvert(SuiteRun& run, Random& random) {
  constexpr std::int32_t kRequests = 4;
  constexpr std::int32_t kColumnsOfTable = 8;
  Table table = {
      kRequests, kColumnsOfTable,
      random.Sample(kRequests * kColumnsOfTable, kRequests * kColumnsOfTable)};
  Table tokens = {8, 128, {}};
  std::vector<std::int32_t> requests;
  std::vector<float> expected;
  for (std::int64_t i = 0; i < tokens.rows; ++i) {
    requests.push_back(static_cast<std::int32_t>(random.Below(kRequests)));
    for (std::int64_t lane = 0; lane < tokens.columns; ++lane) {
      const auto token =
          static_cast<std::int32_t>(random.Below(kColumnsOfTable * kPageSize));
      tokens.pages.push_back(token);
      const std::int32_t page = table.pages[static_cast<std::size_t>(
          requests.back() * kColumnsOfTable + token / kPageSize)];
      expected.push_back(
          static_cast<float>(page * kPageSize + token % kPageSize));
    }
  }
  std::vector<std::int32_t> out;
  std::vector<std::int32_t> counts;
  if (!run.Holds(run.calls().Convert(kPageSize, requests, table, tokens, &out,
                                     &counts))) {
    return false;
  }
  const std::vector<float> actual(out.begin(), out.end());
  return run.Holds(WhyNotClose("indices", expected, actual, kTolerance));
}

bool TryDecode(SuiteRun& run, Random& random) {
  PoolImage pool = NormalPool(random);
  AttentionInput input;
  input.queries = 4;
  input.heads = 16;
  input.width = 128;
  input.softmax_scale = static_cast<float>(1 / std::sqrt(576.0));
  input.q = NormalBf16(random, static_cast<std::size_t>(kColumns) * 4 * 16);
  for (std::int64_t i = 0; i < input.queries; ++i) {
    const std::vector<std::int32_t> slots =
        random.Sample(kPages * kPageSize, 128);
    input.indices.insert(input.indices.end(), slots.begin(), slots.end());
  }
  AttentionOutput actual;
  actual.out.assign(4 * 16 * kLatent, kNan);
  actual.lse.assign(4 * 16, std::numeric_limits<float>::quiet_NaN());
  const AttentionOutput expected =
      Attend(input, UnpackPool(pool, Through::kBf16), {});
  return run.Holds(run.calls().Decode(input, &pool, &actual)) &&
         run.Holds(WhyNotClose("out", expected.out, actual.out, kTolerance));
}

void Test(SuiteRun& run) {
  constexpr struct {
    Kernel kernel;
    bool (*check)(SuiteRun& run, Random& random);
  } kProblems[] = {{Kernel::kWriter, TryWriter},
                   {Kernel::kGather, TryGather},
                   {Kernel::kConvert, TryConvert},
                   {Kernel::kDecode, TryDecode}};
  for (const auto& problem : kProblems) {
    if (!run.Replaces(problem.kernel)) continue;
    for (int trial = 0; trial < kTrials; ++trial) {
      Random random = run.StartCase(
          absl::StrCat(KernelName(problem.kernel), ", trial ", trial + 1));
      if (!problem.check(run, random)) return;
    }
  }
}

}  // namespace

Baseline KernelBenchStyle() {
  return {
      .id = "kernelbench_style",
      .source =
          "ScalingIntelligence/KernelBench src/eval.py "
          "@01f92ad6103dc3feb1fe5b3c7e58536e9197430f",
      .kernels = {kAllKernels.begin(), kAllKernels.end()},
      .tolerance = "the one output: atol 1e-2, rtol 1e-2, 5 trials",
      .cases = 4 * kTrials,
      .reduced = false,
      .run = Test,
  };
}

}  // namespace mlafuzz::baselines
