// The oracle against what FlashMLA's sm_90 sparse decode did on an H200: 15
// recorded cases. See oracle/decode/testdata/README.md.
#include "oracle/decode/recorded_flashmla.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "oracle/bf16.h"
#include "oracle/decode/decode.h"
#include "oracle/decode/rounding.h"

namespace mlafuzz {
namespace {

const std::vector<FlashMlaCase>& Cases() {
  static const std::vector<FlashMlaCase>* const kCases = [] {
    auto* cases = new std::vector<FlashMlaCase>(LoadFlashMla());
    // Moved since their images were tied to their steps.
    for (FlashMlaCase& c : *cases) c.image.steps[0].step = &c.step;
    return cases;
  }();
  return *kCases;
}

const FlashMlaCase& Named(const std::string& name) {
  for (const FlashMlaCase& c : Cases()) {
    if (c.name == name) return c;
  }
  ADD_FAILURE() << name;
  return Cases()[0];
}

DecodeExpectation Predict(const FlashMlaCase& c, const Contract& contract) {
  ExpectOptions options;
  options.splits = &c.splits;
  return ExpectDecode(contract, c.image, 0, c.image.pool.bytes, options);
}

void Print(const std::string& name, const FlashMlaAgreement& a) {
  std::printf(
      "%-34s equal %.5f  L2 %.2e  LSE %.2e  outside %ld + %ld open %ld\n",
      name.c_str(), a.equal, a.relative_l2, a.lse, static_cast<long>(a.outside),
      static_cast<long>(a.lse_outside), static_cast<long>(a.open));
}

TEST(RecordedFlashMla, EveryComparedCaseIsPredicted) {
  ASSERT_EQ(Cases().size(), 15u);
  int compared = 0;
  for (const FlashMlaCase& c : Cases()) {
    const FlashMlaAgreement a = CompareFlashMla(c, FlashMlaContract());
    Print(c.name, a);
    EXPECT_EQ(a.outside, 0) << c.name;
    EXPECT_EQ(a.lse_outside, 0) << c.name;
    if (!c.compare) continue;
    ++compared;
    EXPECT_GE(a.equal, 0.998) << c.name;
    EXPECT_LE(a.lse, 2e-6) << c.name;
    EXPECT_EQ(a.open, 0) << c.name;
  }
  EXPECT_EQ(compared, 13);
}

struct Hypothesis {
  const char* name;
  Contract contract;
};

// Everything else that the field has guessed about this kernel's arithmetic.
std::vector<Hypothesis> OtherHypotheses() {
  std::vector<Hypothesis> all;
  const auto add = [&](const char* name, auto change) {
    Contract c = FlashMlaContract();
    change(c);
    all.push_back({name, c});
  };
  const auto scales = [](Contract& c, ReaderSide::ScaleRule qk,
                         ReaderSide::ScaleRule v) {
    c.mutable_qk()->set_scale_rule(qk);
    c.mutable_v()->set_scale_rule(v);
  };
  const auto exact = [&](Contract& c) {
    scales(c, ReaderSide::SCALE_RAW, ReaderSide::SCALE_RAW);
    c.mutable_arithmetic()->set_dequantised(Arithmetic::DEQUANTISED_FP32);
  };
  add("exact scale and product", exact);
  add("exact scale, product bf16", [&](Contract& c) {
    scales(c, ReaderSide::SCALE_RAW, ReaderSide::SCALE_RAW);
  });
  add("scale bf16, exact product", [&](Contract& c) {
    c.mutable_arithmetic()->set_dequantised(Arithmetic::DEQUANTISED_FP32);
  });
  add("pow2 on the QK side", [&](Contract& c) {
    scales(c, ReaderSide::SCALE_POW2_FLOOR, ReaderSide::SCALE_BF16);
  });
  add("pow2 on the V side", [&](Contract& c) {
    scales(c, ReaderSide::SCALE_BF16, ReaderSide::SCALE_POW2_FLOOR);
  });
  add("pow2 on both sides", [&](Contract& c) {
    scales(c, ReaderSide::SCALE_POW2_FLOOR, ReaderSide::SCALE_POW2_FLOOR);
  });
  return all;
}

// By bits or by LSE, and outside the derived bounds: it would be a finding.
TEST(RecordedFlashMla, EveryOtherHypothesisIsWorse) {
  for (const Hypothesis& h : OtherHypotheses()) {
    for (const FlashMlaCase& c : Cases()) {
      if (!c.compare) continue;
      const FlashMlaAgreement right = CompareFlashMla(c, FlashMlaContract());
      const FlashMlaAgreement other = CompareFlashMla(c, h.contract);
      const std::string name = std::string(h.name) + ", " + c.name;
      // Scales that are powers of two read the same under every rule, and rows
      // without keys read none.
      if (c.name == "w2" || c.name == "all_minus1_between" ||
          c.name == "all_minus1_split") {
        EXPECT_EQ(other.equal, right.equal) << name;
        EXPECT_EQ(other.lse, right.lse) << name;
        continue;
      }
      EXPECT_TRUE(other.equal < 0.7 || other.lse > 1000 * right.lse) << name;
      EXPECT_GT(other.outside + other.lse_outside, 0) << name;
    }
  }
}

// Subnormal products are flushed: a kernel that kept them would differ.
TEST(RecordedFlashMla, DenormalScaleIsExplained) {
  const FlashMlaCase& c = Named("scale_denormal");
  const FlashMlaAgreement flushed = CompareFlashMla(c, FlashMlaContract());
  EXPECT_EQ(flushed.outside, 0);
  EXPECT_EQ(flushed.open, 0);
  EXPECT_EQ(flushed.equal, 1);
  Contract kept = FlashMlaContract();
  kept.mutable_arithmetic()->set_denormals(Arithmetic::DENORMALS_KEPT);
  EXPECT_GT(CompareFlashMla(c, kept).outside, 0);
  Contract unknown = FlashMlaContract();
  unknown.mutable_arithmetic()->set_denormals(Arithmetic::DENORMALS_UNKNOWN);
  EXPECT_EQ(CompareFlashMla(c, unknown).outside, 0);
}

// Logits near 1e36: where the huge one is the largest, exp2 of what rounding
// leaves of t - m is anything from 0 to infinity; where it is the least, its
// weight is zero and all is as usual.
TEST(RecordedFlashMla, HugeScaleIsExplained) {
  const FlashMlaCase& c = Named("scale_3e38");
  const DecodeExpectation e = Predict(c, FlashMlaContract());
  std::int64_t settled = 0, equal = 0, open = 0;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(c.out.size()); ++i) {
    EXPECT_TRUE(DecodeOutMatches(e, i, c.out[i])) << i;
    if (std::isinf(e.out_bound[i])) {
      ++open;
      continue;
    }
    ++settled;
    equal += oracle::Bf16Value(c.out[i]) == oracle::RoundBf16(e.out[i]) ? 1 : 0;
  }
  int open_but_finite = 0;
  for (std::int64_t h = 0; h < static_cast<std::int64_t>(c.lse.size()); ++h) {
    EXPECT_TRUE(DecodeLseMatches(e, h, c.lse[h])) << h;
    if (std::isinf(e.lse_bound[h]) && std::isfinite(c.lse[h])) {
      ++open_but_finite;
    }
  }
  // Nothing is said of a whole row only where it went wrong there, and in two
  // where the huge product itself overflows, to -Inf as it happens.
  EXPECT_EQ(open_but_finite, 2);
  EXPECT_GT(open, 0);
  EXPECT_GT(settled, 0);
  EXPECT_GE(static_cast<double>(equal), 0.998 * static_cast<double>(settled));
}

// The accumulator's model, by its figures: alignment and truncation to 26 bits
// explain what an exact sum leaves unexplained.
TEST(RecordedFlashMla, TruncatingAccumulatorPredictsTheLse) {
  const FlashMlaCase& c = Named("w1_hot");
  const double right = CompareFlashMla(c, FlashMlaContract()).lse;
  Contract exact = FlashMlaContract();
  exact.mutable_arithmetic()->set_accumulator_bits(0);
  EXPECT_LT(10 * right, CompareFlashMla(c, exact).lse);
  for (std::uint32_t bits : {24u, 25u, 27u, 28u}) {
    Contract other = FlashMlaContract();
    other.mutable_arithmetic()->set_accumulator_bits(bits);
    EXPECT_LT(right, CompareFlashMla(c, other).lse) << bits;
  }
}

}  // namespace
}  // namespace mlafuzz
