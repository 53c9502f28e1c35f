// The reference attention against what FlashMLA put out on an H200, by that
// suite's own tolerance, and against a second formula.
#include "baselines/attention.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "baselines/closeness.h"
#include "baselines/formats.h"
#include "baselines/rows.h"
#include "gtest/gtest.h"
#include "kernels/test_support.h"
#include "oracle/decode/recorded_flashmla.h"

namespace mlafuzz::baselines {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr LseForm kFlashMla = {
    .base_e = true, .includes_sink = false, .plus_inf_without_keys = true};

std::vector<float> Floats(const std::vector<std::uint16_t>& bf16) {
  std::vector<float> values;
  for (const std::uint16_t bits : bf16) values.push_back(FromBf16(bits));
  return values;
}

template <class T>
std::vector<T> Elements(const Tensor& tensor) {
  std::vector<T> elements(tensor.bytes.size() / sizeof(T));
  std::memcpy(elements.data(), tensor.bytes.data(), tensor.bytes.size());
  return elements;
}

AttentionInput InputOf(const FlashMlaCase& c) {
  const StepImage& step = c.image.steps[0];
  const Tensor& q = *step.Find(TensorId::kQ);
  AttentionInput input;
  input.queries = q.shape[0];
  input.heads = q.shape[1];
  input.width = step.Find(TensorId::kIndices)->shape[1];
  input.q = Elements<std::uint16_t>(q);
  input.indices = Elements<std::int32_t>(*step.Find(TensorId::kIndices));
  input.softmax_scale =
      std::bit_cast<float>(c.step.decode().softmax_scale_bits());
  return input;
}

// The real kernel passes FlashMLA's test as it is re-implemented here, on the
// rows that this test packs: those with scales of powers of two. On raw scales,
// which that kernel rounds to bf16, it does not.
TEST(Attend, ARecordedKernelPassesItsOwnTest) {
  int passed = 0;
  int failed = 0;
  for (const FlashMlaCase& c : LoadFlashMla()) {
    if (!c.compare) continue;
    SCOPED_TRACE(c.name);
    const AttentionOutput expected =
        Attend(InputOf(c), UnpackPool(c.image.pool, Through::kBf16), kFlashMla);
    const std::string why =
        WhyNotFlashMlaClose("out", Floats(c.out), Floats(expected.out),
                            {1e-3f, 2.01f / 128, 5e-6}) +
        WhyNotFlashMlaClose("lse", c.lse, expected.lse,
                            {1e-6f, 8.01f / 65536, 1e-7});
    if (c.name == "w2" || c.name == "all_minus1_between") {
      EXPECT_EQ(why, "");
      ++passed;
    } else if (!why.empty()) {
      ++failed;
    }
  }
  EXPECT_EQ(passed, 2);
  RecordProperty("raw_scales_that_fail", failed);
}

// Softmax by its definition: no maximum is taken off.
TEST(Attend, IsASoftmax) {
  test::Bytes bytes(1);
  const auto small = [&] {
    return ToBf16(static_cast<float>(bytes.Next() % 2001) / 1000 - 1);
  };
  AttentionInput input;
  input.queries = 3;
  input.heads = 2;
  input.width = 7;
  input.softmax_scale = 0.05f;
  for (int i = 0; i < 3 * 2 * kColumns; ++i) input.q.push_back(small());
  input.indices = {0, 1, 2, 3, 4, 5,  6,  -1, 3,  -1, 3,
                   2, 0, 1, 7, 6, -1, -1, -1, -1, -1};
  input.lengths = {7, 6, 1};
  input.sinks = {0.5f, -kInf};
  std::vector<float> rows;
  for (int i = 0; i < 8 * kColumns; ++i) rows.push_back(FromBf16(small()));
  const AttentionOutput plain = Attend(input, rows, {});
  const AttentionOutput natural = Attend(input, rows, kFlashMla);
  for (std::size_t query = 0; query < 3; ++query) {
    for (std::size_t head = 0; head < 2; ++head) {
      const std::size_t at = query * 2 + head;
      std::vector<double> sum(kLatent);
      double keys = 0;
      for (std::size_t lane = 0; lane < 7; ++lane) {
        const std::int32_t slot = input.indices[query * 7 + lane];
        if (slot < 0 || static_cast<int>(lane) >= input.lengths[query])
          continue;
        double logit = 0;
        for (std::size_t i = 0; i < kColumns; ++i) {
          logit += static_cast<double>(FromBf16(input.q[at * kColumns + i])) *
                   rows[static_cast<std::size_t>(slot) * kColumns + i];
        }
        const double weight = std::exp(logit * input.softmax_scale);
        keys += weight;
        for (std::size_t i = 0; i < kLatent; ++i) {
          sum[i] +=
              weight * rows[static_cast<std::size_t>(slot) * kColumns + i];
        }
      }
      const double sink = std::exp(static_cast<double>(input.sinks[head]));
      for (std::size_t i = 0; i < kLatent; ++i) {
        const double value = sum[i] / (keys + sink);
        ASSERT_NEAR(FromBf16(plain.out[at * kLatent + i]), value,
                    std::fabs(value) * 0x1.01p-8)
            << at << " " << i;
      }
      EXPECT_NEAR(plain.lse[at], std::log2(keys + sink), 1e-6);
      EXPECT_NEAR(natural.lse[at], std::log(keys), 1e-6);
      EXPECT_EQ(plain.out, natural.out);
    }
  }
}

TEST(Attend, WithoutKeys) {
  AttentionInput input;
  input.queries = 1;
  input.heads = 3;
  input.width = 2;
  input.q.assign(3 * kColumns, 0x3f80);
  input.indices = {-1, -1};
  input.softmax_scale = 1;
  const auto out = std::vector<std::uint16_t>(3 * kLatent, 0);
  EXPECT_EQ(Attend(input, {}, {}).out, out);
  EXPECT_EQ(Attend(input, {}, {}).lse,
            (std::vector<float>{-kInf, -kInf, -kInf}));
  EXPECT_EQ(Attend(input, {}, kFlashMla).lse,
            (std::vector<float>{kInf, kInf, kInf}));
  input.sinks = {2, kInf, -kInf};
  const AttentionOutput with_sink = Attend(input, {}, {});
  EXPECT_EQ(with_sink.out, out);
  EXPECT_NEAR(with_sink.lse[0], 2 * 1.4426950408889634, 1e-6);
  EXPECT_EQ(with_sink.lse[1], kInf);
  EXPECT_EQ(with_sink.lse[2], -kInf);
}

TEST(Attend, AnInfiniteSinkTakesAll) {
  AttentionInput input;
  input.queries = 1;
  input.heads = 1;
  input.width = 1;
  input.q.assign(kColumns, 0x3f80);
  input.indices = {0};
  input.softmax_scale = 1e-3f;
  input.sinks = {kInf};
  const std::vector<float> rows(kColumns, 1);
  EXPECT_EQ(Attend(input, rows, {}).out,
            std::vector<std::uint16_t>(kLatent, 0));
  EXPECT_EQ(Attend(input, rows, {}).lse[0], kInf);
  EXPECT_NEAR(Attend(input, rows, kFlashMla).lse[0], 0.576, 1e-6);
}

TEST(Attend, NanInARowIsReadAsZero) {
  AttentionInput input;
  input.queries = 1;
  input.heads = 1;
  input.width = 1;
  input.q.assign(kColumns, 0);
  input.indices = {0};
  std::vector<float> rows(kColumns, 1);
  rows[5] = std::numeric_limits<float>::quiet_NaN();
  const AttentionOutput output = Attend(input, rows, {});
  EXPECT_EQ(output.out[5], 0);
  EXPECT_EQ(output.out[4], 0x3f80);
}

}  // namespace
}  // namespace mlafuzz::baselines
