// The oracle against what FlashMLA's sm_90 sparse decode did with DeepSeek-V4
// pages on an H200: 21 recorded cases. See oracle/decode/testdata/README.md.
#include <cstdio>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "oracle/decode/recorded_flashmla.h"

namespace mlafuzz {
namespace {

const std::vector<FlashMlaCase>& Cases() {
  static const std::vector<FlashMlaCase>* const kCases = [] {
    auto* cases = new std::vector<FlashMlaCase>(LoadFlashMlaDsv4());
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

TEST(RecordedFlashMlaDsv4, EveryComparedCaseIsPredicted) {
  ASSERT_EQ(Cases().size(), 21u);
  int compared = 0;
  for (const FlashMlaCase& c : Cases()) {
    const FlashMlaAgreement a = CompareFlashMla(c, FlashMlaDsv4Contract());
    std::printf(
        "%-20s equal %.5f  L2 %.2e  LSE %.2e  outside %ld + %ld open %ld\n",
        c.name.c_str(), a.equal, a.relative_l2, a.lse,
        static_cast<long>(a.outside), static_cast<long>(a.lse_outside),
        static_cast<long>(a.open));
    EXPECT_EQ(a.outside, 0) << c.name;
    EXPECT_EQ(a.lse_outside, 0) << c.name;
    if (!c.compare) continue;
    ++compared;
    EXPECT_GE(a.equal, 0.998) << c.name;
    EXPECT_LE(a.lse, 2e-6) << c.name;
    EXPECT_EQ(a.open, 0) << c.name;
  }
  EXPECT_EQ(compared, 17);
}

struct Hypothesis {
  const char* name;
  Contract contract;
};

// Each other rule of this layout is refuted by some recorded case: by a value,
// or because it reads rows that are not there.
TEST(RecordedFlashMlaDsv4, EveryOtherHypothesisIsWrongSomewhere) {
  std::vector<Hypothesis> all;
  const auto add = [&](const char* name, auto change) {
    Contract c = FlashMlaDsv4Contract();
    change(c);
    all.push_back({name, c});
  };
  add("rope not in V", [](Contract& c) {
    c.mutable_decode()->set_rope_values(DecodeContract::ROPE_NOT_IN_VALUES);
  });
  add("second cache dropped", [](Contract& c) {
    c.mutable_decode()->set_extra(DecodeContract::EXTRA_DROPPED);
  });
  add("second lengths ignored", [](Contract& c) {
    c.mutable_decode()->set_extra_length(DecodeContract::EXTRA_LENGTH_IGNORED);
  });
  add("first lengths for both", [](Contract& c) {
    c.mutable_decode()->set_extra_length(DecodeContract::EXTRA_LENGTH_OF_FIRST);
  });
  add("lengths ignored", [](Contract& c) {
    c.mutable_decode()->set_length(DecodeContract::LENGTH_IGNORED);
  });
  add("sink in the LSE", [](Contract& c) {
    c.mutable_decode()->set_sink(DecodeContract::SINK_IN_LSE);
  });
  add("sink dropped", [](Contract& c) {
    c.mutable_decode()->set_sink(DecodeContract::SINK_DROPPED);
  });
  add("scales ignored in V", [](Contract& c) {
    c.mutable_v()->set_scale_rule(ReaderSide::SCALE_ONE);
  });
  add("scales ignored in QK", [](Contract& c) {
    c.mutable_qk()->set_scale_rule(ReaderSide::SCALE_ONE);
  });
  for (const Hypothesis& h : all) {
    std::int64_t outside = 0;
    for (const FlashMlaCase& c : Cases()) {
      if (!c.compare) continue;
      const FlashMlaAgreement a = CompareFlashMla(c, h.contract);
      outside += a.outside + a.lse_outside + a.open;
    }
    EXPECT_GT(outside, 0) << h.name;
  }
}

// A lone key's output is its values, every word.
TEST(RecordedFlashMlaDsv4, SingleKeyIsItsRow) {
  const FlashMlaAgreement a =
      CompareFlashMla(Named("single_key"), FlashMlaDsv4Contract());
  EXPECT_EQ(a.equal, 1);
}

}  // namespace
}  // namespace mlafuzz
