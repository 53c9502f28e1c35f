#include "properties/ab/figures.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/executor.h"
#include "kernels/target_set.h"

namespace mlafuzz {
namespace {

constexpr AbSize kSmall = {.rows = 192, .heads = 4, .top_k = 384};
constexpr double kSpreads[] = {1.4, 4.7, 10.1, 18.0};

AbFigures Measure(const AbCache& cache, const std::string& decode) {
  const absl::StatusOr<TargetSet> targets =
      MakeTargetSet("builtin", "", "", "", decode);
  EXPECT_TRUE(targets.ok()) << targets.status();
  const std::unique_ptr<Executor> executor = MakeHostExecutor();
  const auto figures =
      MeasureDecode(cache, MakeAbReference(cache), *targets, *executor);
  EXPECT_TRUE(figures.ok()) << figures.status();
  return *figures;
}

double E4m3(std::uint8_t code) {
  const int exponent = code >> 3 & 15;
  const int mantissa = code & 7;
  const double magnitude = exponent == 0
                               ? std::ldexp(mantissa, -9)
                               : std::ldexp(8 + mantissa, exponent - 10);
  return code & 0x80 ? -magnitude : magnitude;
}

double Bf16At(const std::uint8_t* at) {
  std::uint16_t bits;
  std::memcpy(&bits, at, 2);
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

// Attention written down once more, in fp64 and with nothing declared.
TEST(AbReference, IsPlainAttentionOfTheStoredBytes) {
  const auto cache = AbCache::Create(kSmall, 10.1);
  ASSERT_TRUE(cache.ok());
  const AbReference reference = MakeAbReference(**cache);
  const PoolImage& pool = (*cache)->image().pool;
  const StepImage& step = (*cache)->image().steps[0];
  for (int head = 0; head < kSmall.heads; ++head) {
    const std::uint8_t* q =
        step.Find(TensorId::kQ)->bytes.data() + 2 * 576 * head;
    double sum = 0;
    std::vector<double> mixed(512, 0.0);
    for (int lane = 0; lane < kSmall.top_k; ++lane) {
      std::int32_t slot;
      std::memcpy(&slot, step.Find(TensorId::kIndices)->bytes.data() + 4 * lane,
                  4);
      const std::uint8_t* row = pool.bytes.data() + pool.RowAt(slot);
      double key[576];
      for (int i = 0; i < 512; ++i) {
        float scale;
        std::memcpy(&scale, row + 512 + i / 128 * 4, 4);
        key[i] = static_cast<float>(E4m3(row[i])) * scale;
      }
      for (int i = 0; i < 64; ++i) key[512 + i] = Bf16At(row + 528 + 2 * i);
      double logit = 0;
      for (int i = 0; i < 576; ++i) logit += Bf16At(q + 2 * i) * key[i];
      const double weight = std::exp(logit * std::bit_cast<float>(0x3d2aaaabu));
      sum += weight;
      for (int i = 0; i < 512; ++i) mixed[i] += weight * key[i];
    }
    EXPECT_NEAR(reference.lse[head], std::log(sum), 1e-12);
    for (int i = 0; i < 512; ++i) {
      EXPECT_NEAR(reference.out[512 * head + i], mixed[i] / sum, 1e-12);
    }
  }
}

// The report's claim, at every spread and in every arithmetic: the reader that
// takes scales as they are stored is the more accurate one. So is it against
// each side apart, and the LSE shows the logits' side alone.
TEST(AbFigures, ArbitraryScalesAreMoreAccurate) {
  struct Readers {
    const char *arbitrary, *qk, *v, *both;
  };
  for (const Readers& readers :
       {Readers{"builtin", "mutant:qk-pow2-scale", "mutant:v-pow2-scale",
                "mutant:both-pow2-scale"},
        Readers{"builtin:e4m3-two-pass", "builtin:e4m3-two-pass-qk-pow2",
                "builtin:e4m3-two-pass-v-pow2",
                "builtin:e4m3-two-pass-both-pow2"}}) {
    for (const double spread : kSpreads) {
      SCOPED_TRACE(readers.arbitrary);
      SCOPED_TRACE(spread);
      const auto cache = AbCache::Create(kSmall, spread);
      ASSERT_TRUE(cache.ok());
      const AbFigures right = Measure(**cache, readers.arbitrary);
      const AbFigures qk = Measure(**cache, readers.qk);
      const AbFigures v = Measure(**cache, readers.v);
      const AbFigures both = Measure(**cache, readers.both);
      std::printf("%-22s %4.1f: L2 %.4f %.4f %.4f %.4f  LSE %.1e %.1e\n",
                  readers.arbitrary, spread, right.relative_l2, qk.relative_l2,
                  v.relative_l2, both.relative_l2, right.lse_error,
                  qk.lse_error);
      for (const AbFigures* wrong : {&qk, &v, &both}) {
        EXPECT_LT(right.relative_l2, wrong->relative_l2);
        EXPECT_GE(right.cosine, wrong->cosine);
      }
      EXPECT_LT(right.lse_error, qk.lse_error);
      EXPECT_EQ(right.lse_error, v.lse_error);
      EXPECT_EQ(qk.lse_error, both.lse_error);
    }
  }
}

// By FlashInfer's rules too, where the power-of-two reader also has but one
// pass for the weights; within a factor of two of the report's ratios.
TEST(AbFigures, FlashInferRatiosAreThoseOfTheReport) {
  constexpr double kRatios[] = {7.0, 7.0, 11.9, 10.2};
  for (int i = 0; i < 4; ++i) {
    const auto cache = AbCache::Create(kSmall, kSpreads[i]);
    ASSERT_TRUE(cache.ok());
    const double ratio =
        Measure(**cache, "builtin:flashinfer-pow2").relative_l2 /
        Measure(**cache, "builtin:flashinfer-arbitrary").relative_l2;
    std::printf("%4.1f: ratio %.1f (%.1f)\n", kSpreads[i], ratio, kRatios[i]);
    EXPECT_GT(ratio, kRatios[i] / 2) << kSpreads[i];
    EXPECT_LT(ratio, kRatios[i] * 2) << kSpreads[i];
  }
}

TEST(AbFigures, ADecodeThatDoesNotRunHasNone) {
  const auto cache = AbCache::Create({.rows = 4, .heads = 1, .top_k = 4}, 1.4);
  ASSERT_TRUE(cache.ok());
  const std::unique_ptr<Executor> executor = MakeHostExecutor();
  const auto figures =
      MeasureDecode(**cache, MakeAbReference(**cache),
                    *MakeTargetSet("mutant:refuses-all"), *executor);
  ASSERT_FALSE(figures.ok());
  EXPECT_NE(std::string(figures.status().message()).find("refuses-all"),
            std::string::npos)
      << figures.status();
}

// A natural LSE is one: the same figure from a kernel that stores it so.
TEST(AbFigures, LseIsComparedInItsOwnBase) {
  const auto cache = AbCache::Create(kSmall, 1.4);
  ASSERT_TRUE(cache.ok());
  EXPECT_LT(Measure(**cache, "builtin:flashmla").lse_error, 1e-4);
  EXPECT_GT(Measure(**cache, "mutant:lse-wrong-base").lse_error, 0.1);
}

}  // namespace
}  // namespace mlafuzz
