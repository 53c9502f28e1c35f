// What a good oracle sees, by the figures measured on FlashMLA's decode on an
// H200 (64 heads, top-k 2048, 1,024 rows, log2 spread of the scales 1.4): the
// full simulation stands in for that kernel, and every poorer hypothesis misses
// it by as much as it missed the real one.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "oracle/bf16.h"
#include "oracle/decode/decode.h"
#include "oracle/decode/recorded_flashmla.h"
#include "oracle/decode/rounding.h"
#include "oracle/e4m3.h"

namespace mlafuzz {
namespace {

constexpr int kRows = 1024, kTopK = 2048, kHeads = 64, kQueries = 1;

// Sizes as in the recorded case w1_mild: normal values, so that the largest of
// 128 alone spreads the scales over 2^1.4; packed by the raw-scale writer's
// rule.
constexpr double kQuerySize = 0.65, kLatentSize = 0.0925, kRopeSize = 0.1;

struct Experiment {
  Step step;
  CaseImage image;

  Experiment() {
    std::mt19937_64 random(1);
    std::normal_distribution<double> normal;
    PoolImage& pool = image.pool;
    pool.pages = kRows / 64;
    pool.page_size = 64;
    pool.row_stride = pool.row_bytes = 656;
    pool.page_stride = 64 * 656;
    pool.bytes.resize(kRows * 656);
    const auto bf16 = [](double x) {
      return oracle::Bf16FromFloat(static_cast<float>(x),
                                   oracle::Rounding::kNearestEven);
    };
    for (int r = 0; r < kRows; ++r) {
      std::uint8_t* row = pool.bytes.data() + pool.RowAt(r);
      for (int t = 0; t < 4; ++t) {
        float x[128], amax = 0;
        for (float& v : x) {
          v = oracle::Bf16Value(bf16(kLatentSize * normal(random)));
          amax = std::max(amax, std::fabs(v));
        }
        const float scale = amax / 448.0f;
        std::memcpy(row + 512 + 4 * t, &scale, 4);
        for (int i = 0; i < 128; ++i) {
          row[128 * t + i] = oracle::E4m3FromFloat(
              x[i] / scale, oracle::Rounding::kNearestEven);
        }
      }
      for (int i = 0; i < 64; ++i) {
        const std::uint16_t word = bf16(kRopeSize * normal(random));
        std::memcpy(row + 528 + 2 * i, &word, 2);
      }
    }
    Decode& d = *step.mutable_decode();
    d.set_queries(kQueries);
    d.set_heads(kHeads);
    d.set_pe_dim(64);
    d.set_softmax_scale_bits(0x3d2aaaab);  // 576^-0.5
    StepImage& s = image.steps.emplace_back();
    s.kernel = Kernel::kDecode;
    s.step = &step;
    Tensor q{.id = TensorId::kQ, .dtype = BF16, .ndim = 3};
    q.shape = {kQueries, kHeads, 576};
    q.strides = {kHeads * 576, 576, 1};
    for (int i = 0; i < kQueries * kHeads * 576; ++i) {
      const std::uint16_t word = bf16(kQuerySize * normal(random));
      q.bytes.push_back(static_cast<std::uint8_t>(word));
      q.bytes.push_back(static_cast<std::uint8_t>(word >> 8));
    }
    Tensor indices{.id = TensorId::kIndices, .dtype = I32, .ndim = 2};
    indices.shape = {kQueries, kTopK};
    indices.strides = {kTopK, 1};
    indices.bytes.resize(4 * kQueries * kTopK);
    for (int i = 0; i < kQueries * kTopK; ++i) {
      const std::int32_t slot = static_cast<std::int32_t>(random() % kRows);
      std::memcpy(indices.bytes.data() + 4 * i, &slot, 4);
    }
    s.tensors = {q, indices};
  }
};

struct Figures {
  double relative_l2 = 0, lse = 0, equal = 0;
};

// The kernel's words and LSE against a hypothesis that is not rounded to bf16.
Figures Against(const DecodeExpectation& kernel, const DecodeExpectation& h) {
  Figures f;
  double error = 0, square = 0;
  for (std::size_t i = 0; i < kernel.out.size(); ++i) {
    const double word = oracle::RoundBf16(kernel.out[i]);
    error += (word - h.out[i]) * (word - h.out[i]);
    square += h.out[i] * h.out[i];
    f.equal += word == oracle::RoundBf16(h.out[i]) ? 1 : 0;
  }
  f.relative_l2 = std::sqrt(error / square);
  f.equal /= static_cast<double>(kernel.out.size());
  for (std::size_t i = 0; i < kernel.lse.size(); ++i) {
    f.lse = std::max(f.lse, std::fabs(kernel.lse[i] - h.lse[i]));
  }
  return f;
}

// One row of the table.
struct MeasuredRow {
  const char* name;
  ReaderSide::ScaleRule qk, v;
  Arithmetic::Dequantised dequantised;
  Arithmetic::Weights weights;
  // As measured; 0: only the real kernel's noise.
  double relative_l2, lse, equal;
};

constexpr MeasuredRow kTable[] = {
    {"exact scale", ReaderSide::SCALE_RAW, ReaderSide::SCALE_RAW,
     Arithmetic::DEQUANTISED_FP32, Arithmetic::WEIGHTS_FP32, 0.0030, 1.5e-5,
     0.48},
    {"scale to bf16", ReaderSide::SCALE_BF16, ReaderSide::SCALE_BF16,
     Arithmetic::DEQUANTISED_FP32, Arithmetic::WEIGHTS_FP32, 0.0025, 8.1e-6,
     0.57},
    {"scale and product to bf16", ReaderSide::SCALE_BF16,
     ReaderSide::SCALE_BF16, Arithmetic::DEQUANTISED_BF16,
     Arithmetic::WEIGHTS_FP32, 0.0020, 0, 0.70},
    {"the full simulation", ReaderSide::SCALE_BF16, ReaderSide::SCALE_BF16,
     Arithmetic::DEQUANTISED_BF16, Arithmetic::WEIGHTS_BF16, 0.0017, 0, 0.999},
    {"pow2 on the QK side", ReaderSide::SCALE_POW2_FLOOR,
     ReaderSide::SCALE_BF16, Arithmetic::DEQUANTISED_BF16,
     Arithmetic::WEIGHTS_BF16, 0.0213, 2.2e-3, 0.08},
    {"pow2 on both sides", ReaderSide::SCALE_POW2_FLOOR,
     ReaderSide::SCALE_POW2_FLOOR, Arithmetic::DEQUANTISED_BF16,
     Arithmetic::WEIGHTS_BF16, 0.324, 2.2e-3, 0.003},
};

void ExpectWithin(double factor, double got, double measured,
                  const char* what) {
  EXPECT_LE(got, measured * factor) << what;
  EXPECT_GE(got, measured / factor) << what;
}

TEST(MeasuredTable, IsReproducedWithinAFactor) {
  const Experiment experiment;
  Contract full = FlashMlaContract();
  full.mutable_arithmetic()->set_blocks_per_split(1);
  const DecodeExpectation kernel =
      ExpectDecode(full, experiment.image, 0, experiment.image.pool.bytes);
  for (const MeasuredRow& row : kTable) {
    Contract c = full;
    c.mutable_qk()->set_scale_rule(row.qk);
    c.mutable_v()->set_scale_rule(row.v);
    c.mutable_arithmetic()->set_dequantised(row.dequantised);
    c.mutable_arithmetic()->set_weights(row.weights);
    const Figures f = Against(
        kernel,
        ExpectDecode(c, experiment.image, 0, experiment.image.pool.bytes));
    std::printf("%-26s L2 %.4f (%.4f)  LSE %.1e (%.1e)  equal %.3f (%.3f)\n",
                row.name, f.relative_l2, row.relative_l2, f.lse, row.lse,
                f.equal, row.equal);
    SCOPED_TRACE(row.name);
    ExpectWithin(1.5, f.relative_l2, row.relative_l2, "relative L2");
    ExpectWithin(1.5, f.equal, row.equal, "words equal");
    if (row.lse > 0) ExpectWithin(1.5, f.lse, row.lse, "LSE");
  }
}

}  // namespace
}  // namespace mlafuzz
