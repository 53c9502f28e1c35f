// All 256 UE8M0 scale bytes through decode kernels and oracle, on each side: a
// query a byte, whose only key has that byte in tile 0.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/executor.h"
#include "kernels/target_set.h"
#include "oracle/bf16.h"
#include "oracle/verdict.h"
#include "properties/checker.h"

namespace mlafuzz {
namespace {

constexpr int kBytes = 256;
constexpr float kScale = 0.125f;

struct Target {
  const char* name;
  Layout layout;
  bool values_end_in_zero_and_inf = false;
  bool natural = false;  // its LSE
};

class ScaleBytes : public testing::TestWithParam<Target> {};

// Of a byte, as the logits take it.
double Exact(int byte) {
  return byte == 255 ? std::nan("") : std::ldexp(1.0, byte - 127);
}

// bf16 bits of a power of two that brings the logit of code 1 near 1.
std::uint32_t QueryBits(int byte) {
  const int exponent = std::min(127 + 127 - byte, 254);
  return static_cast<std::uint32_t>(std::max(exponent, 1)) << 7;
}

// Codes of 1, -1.5, the least and the largest subnormal. None overflows.
constexpr std::uint8_t kCodes[] = {0x38, 0xbc, 0x01, 0x07};
constexpr double kValues[] = {1.0, -1.5, 0x1p-9, 7 * 0x1p-9};

Case MakeCase(Layout layout) {
  Case c;
  Pool& pool = *c.mutable_pool();
  pool.set_layout(layout);
  pool.set_page_size(64);
  pool.set_pages(kBytes / 64);
  Decode& decode = *c.add_steps()->mutable_decode();
  decode.set_queries(kBytes);
  decode.set_heads(1);
  decode.set_softmax_scale_bits(std::bit_cast<std::uint32_t>(kScale));
  Indices& indices = *decode.mutable_indices();
  indices.set_rows(kBytes);
  indices.set_width(1);
  const std::uint32_t scales_at = layout == DSV4_FOOTER_584 ? 576 : 512;
  for (int byte = 0; byte < kBytes; ++byte) {
    const auto slot = static_cast<std::uint32_t>(byte);
    Patch& codes = *pool.add_patches();
    codes.set_slot(slot);
    codes.set_data(std::string(std::begin(kCodes), std::end(kCodes)));
    Patch& scale = *pool.add_patches();
    scale.set_slot(slot);
    scale.set_at(scales_at);
    scale.set_data(std::string(1, static_cast<char>(byte)));
    SetIndex& index = *indices.add_set();
    index.set_at(slot);
    index.set_value(byte);
    SetBits& q = *decode.mutable_q()->add_set();
    q.set_at(512 * slot);
    q.set_bits(QueryBits(byte));
  }
  return c;
}

TEST_P(ScaleBytes, AreReadAsDeclared) {
  const Target& target = GetParam();
  const TargetSet targets = *MakeTargetSet(target.name);
  const std::unique_ptr<Executor> executor = MakeHostExecutor();
  CaseChecker checker(targets, *executor);
  CaseResult result;
  ASSERT_TRUE(checker.CheckCase(MakeCase(target.layout), {}, &result).ok());
  for (const Check& check : result.checks) {
    EXPECT_EQ(check.verdict, Verdict::kPass)
        << check.property << ": " << check.detail;
  }
  const StepImage& step = result.image.steps[0];
  const StepObservation& observed = result.observation.steps[0];
  for (std::size_t i = 0; i < step.tensors.size(); ++i) {
    const Tensor& t = step.tensors[i];
    if (t.id == TensorId::kLse) {
      for (int byte = 0; byte < kBytes; ++byte) {
        float lse;
        std::memcpy(&lse, &observed.outputs[i][4 * byte], 4);
        const double q =
            oracle::Bf16Value(static_cast<std::uint16_t>(QueryBits(byte)));
        const double logit = q * Exact(byte) * static_cast<double>(kScale) *
                             (target.natural ? 1 : std::numbers::log2e);
        if (byte == 255) {
          EXPECT_TRUE(std::isnan(lse)) << byte;
        } else {
          EXPECT_NEAR(lse, logit, 1e-6 * (1 + std::fabs(logit))) << byte;
        }
      }
    }
    if (t.id != TensorId::kAttention) continue;
    for (int byte = 0; byte < kBytes; ++byte) {
      for (int c = 0; c < 4; ++c) {
        const auto element = static_cast<std::size_t>(512 * byte + c);
        std::uint16_t bits;
        std::memcpy(&bits, &observed.outputs[i][2 * element], 2);
        const double got = oracle::Bf16Value(bits);
        const double exact = byte == 0 && target.values_end_in_zero_and_inf
                                 ? 0
                                 : kValues[c] * Exact(byte);
        if (byte == 255) {
          EXPECT_TRUE(std::isnan(got)) << c;  // the logit is
        } else {
          // Subnormal bf16 is a multiple of 2^-133.
          EXPECT_NEAR(got, exact, 0x1p-134) << byte << " column " << c;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, ScaleBytes,
    testing::Values(Target{"builtin:dsv4", DSV4_FOOTER_584},
                    Target{"builtin:flashmla-dsv4", DSV4_FOOTER_584, false,
                           true},
                    Target{"builtin:dsv4-scale-ends", DSV4_FOOTER_584, true},
                    Target{"builtin:dsv4_1", DSV4_1_FOOTER_528}),
    [](const auto& info) {
      std::string name = info.param.name;
      for (char& c : name) {
        if (c == ':' || c == '-') c = '_';
      }
      return name;
    });

// Who expands bytes otherwise than declared is judged wrong.
TEST(ScaleBytesOfTwins, AreJudgedWrong) {
  for (const char* name :
       {"mutant:dsv4-decode-zero-is-zero", "mutant:dsv4-decode-plain-shift"}) {
    const TargetSet targets = *MakeTargetSet(name);
    const std::unique_ptr<Executor> executor = MakeHostExecutor();
    CaseChecker checker(targets, *executor);
    CaseResult result;
    ASSERT_TRUE(checker.CheckCase(MakeCase(DSV4_FOOTER_584), {}, &result).ok());
    bool failed = false;
    for (const Check& check : result.checks) {
      failed |= IsFailure(check.verdict);
    }
    EXPECT_TRUE(failed) << name;
  }
}

}  // namespace
}  // namespace mlafuzz
