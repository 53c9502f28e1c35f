// vllm-project/vllm tests/kernels/attention/test_cache.py, the test of the
// writer for fp8_ds_mla rows: one case. Normal values into random slots of a
// pool of zeros; codes, scales and rope of the rows that were written, each
// within atol 1e-3 and rtol 0.1, codes as byte numbers.
#include <cstring>

#include "absl/types/span.h"
#include "baselines/baseline.h"
#include "baselines/closeness.h"
#include "baselines/formats.h"
#include "baselines/rows.h"

namespace mlafuzz::baselines {
namespace {

constexpr Tolerance kTolerance = {.atol = 1e-3f, .rtol = 0.1f};
constexpr int kTokens = 42;
constexpr int kPageSize = 16;
constexpr int kPages = 8;

std::vector<std::uint16_t> NormalBf16(Random& random, std::size_t count) {
  std::vector<std::uint16_t> values(count);
  for (std::uint16_t& value : values) value = ToBf16(random.Normal());
  return values;
}

template <class T>
std::vector<T> Part(const std::uint8_t* row, std::size_t at,
                    std::size_t count) {
  std::vector<T> part(count);
  std::memcpy(part.data(), row + at, count * sizeof(T));
  return part;
}

void Test(SuiteRun& run) {
  Random random = run.StartCase("42 tokens");
  const std::vector<std::int32_t> sample =
      random.Sample(kPages * kPageSize, kTokens);
  const std::vector<std::int64_t> slots(sample.begin(), sample.end());
  const auto kv_c = NormalBf16(random, kTokens * kLatent);
  const auto k_pe = NormalBf16(random, kTokens * kRope);
  PoolImage pool = EmptyPool(kPages, kPageSize);
  if (!run.Holds(run.calls().Write(kv_c, k_pe, slots, &pool))) return;

  // The test was published with scales as computed. A writer that says it
  // stores powers of two is held to those: its own test would.
  const TileScale rule = run.contract(Kernel::kWriter).writer().scale() ==
                                 WriterContract::POW2_CEIL
                             ? TileScale::kPow2
                             : TileScale::kRaw;
  for (std::size_t i = 0; i < kTokens; ++i) {
    std::uint16_t values[kColumns];
    std::memcpy(values, &kv_c[i * kLatent], 2 * kLatent);
    std::memcpy(values + kLatent, &k_pe[i * kRope], 2 * kRope);
    std::uint8_t expected[kRowBytes];
    PackRow(values, rule, 0, expected);
    const std::uint8_t* const actual =
        &pool.bytes[static_cast<std::size_t>(pool.RowAt(slots[i]))];
    if (!run.Holds(WhyNotClose("codes", absl::MakeConstSpan(actual, kLatent),
                               absl::MakeConstSpan(expected, kLatent),
                               kTolerance)) ||
        !run.Holds(WhyNotClose("scales", Part<float>(actual, kLatent, kTiles),
                               Part<float>(expected, kLatent, kTiles),
                               kTolerance)) ||
        !run.Holds(WhyNotClose(
            "rope", Part<std::uint16_t>(actual, kLatent + 4 * kTiles, kRope),
            Part<std::uint16_t>(expected, kLatent + 4 * kTiles, kRope),
            kTolerance))) {
      return;
    }
  }
}

}  // namespace

Baseline VllmWriter() {
  return {
      .id = "vllm_writer_test",
      .source =
          "vllm-project/vllm tests/kernels/attention/test_cache.py "
          "@00228592456192abf9bea6f7ac937fa367f007a3",
      .kernels = {Kernel::kWriter},
      .tolerance = "codes as bytes, scales, rope: atol 1e-3, rtol 0.1",
      .cases = 1,
      .reduced = false,
      .run = Test,
  };
}

}  // namespace mlafuzz::baselines
