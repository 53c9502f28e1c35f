#include "fuzz/mutator/mutator.h"

#include <set>
#include <string>
#include <vector>

#include "corpus/codec.h"
#include "corpus/contracts.h"
#include "corpus/image.h"
#include "corpus/knobs.h"
#include "corpus/token_layout.h"
#include "corpus/without_effect.h"
#include "gtest/gtest.h"
#include "oracle/validity.h"
#include "properties/repair.h"

namespace mlafuzz {
namespace {

// Builds, is small, and no step is the caller's fault.
void ExpectUsable(const Case& c) {
  absl::StatusOr<CaseImage> image = BuildImage(c);
  ASSERT_TRUE(image.ok()) << image.status() << "\n" << FormatCaseText(c);
  ASSERT_LE(c.steps_size(), LimitsOf({}).steps);
  int calls = 0;
  for (int i = 0; i < c.steps_size(); ++i) {
    if (c.steps(i).has_patch()) continue;
    ++calls;
    const StepValidity v = Classify(BuiltinContract(), *image, i);
    ASSERT_NE(v.validity, Validity::kUnspecified) << v.reason << "\n"
                                                  << FormatCaseText(c);
  }
  ASSERT_GT(calls, 0);
  // What is written of it says nothing in vain.
  Case canonical = c;
  Canonicalise(canonical);
  ASSERT_TRUE(RefuseWhatHasNoEffect(canonical).ok())
      << RefuseWhatHasNoEffect(canonical) << "\n"
      << FormatCaseText(canonical);
}

TEST(MutatorTest, LongChainsStayUsable) {
  for (int chain = 0; chain < 200; ++chain) {
    Choices choices(chain);
    Case c;
    for (int i = 0; i < 50; ++i) {
      MutateCase(c, choices, {});
      ASSERT_NO_FATAL_FAILURE(ExpectUsable(c));
    }
  }
}

TEST(MutatorTest, DecodesStayUsableAndAreNotAllRefused) {
  constexpr GeneratorOptions kDecodes = {
      .writer = false, .gather = false, .convert = false, .decode = true};
  int cases = 0, refused = 0;
  for (int chain = 0; chain < 100; ++chain) {
    Choices choices(chain);
    Case c, other = GenerateCase(choices, kDecodes);
    for (int i = 0; i < 40; ++i) {
      MutateCase(c, choices, kDecodes);
      ASSERT_NO_FATAL_FAILURE(ExpectUsable(c));
      const Case child = CrossOverCases(c, other, choices, kDecodes);
      ASSERT_NO_FATAL_FAILURE(ExpectUsable(child));
      absl::StatusOr<CaseImage> image = BuildImage(c);
      ++cases;
      for (int step = 0; step < c.steps_size(); ++step) {
        if (Classify(BuiltinContract(), *image, step).validity ==
            Validity::kInvalid) {
          ++refused;
          break;
        }
      }
      other = child;
    }
  }
  EXPECT_LT(refused, cases / 4);
  EXPECT_GT(refused, cases / 50);
}

TEST(MutatorTest, CrossOverStaysUsableAndTakesFromBoth) {
  int from_both = 0;
  for (int seed = 0; seed < 3000; ++seed) {
    Choices choices(seed);
    const Case a = GenerateCase(choices, {});
    const Case b = GenerateCase(choices, {});
    const Case child = CrossOverCases(a, b, choices, {});
    ASSERT_NO_FATAL_FAILURE(ExpectUsable(child));
    from_both += CaseId(child) != CaseId(a) && CaseId(child) != CaseId(b);
  }
  EXPECT_GT(from_both, 1500);
}

TEST(MutatorTest, SameChoicesSameChild) {
  for (int seed = 0; seed < 200; ++seed) {
    Choices a(seed), b(seed);
    Case left = GenerateCase(a, {}), right = GenerateCase(b, {});
    MutateCase(left, a, {});
    MutateCase(right, b, {});
    EXPECT_EQ(CanonicalBinary(left), CanonicalBinary(right));
  }
}

// Most children are near their parent: of three quarters that are not fresh,
// most still differ, and keep the pool's page size or the program's shape.
TEST(MutatorTest, ChangesALittle) {
  int near = 0, same = 0;
  constexpr int kTries = 4000;
  for (int seed = 0; seed < kTries; ++seed) {
    Choices choices(seed);
    const Case parent = GenerateCase(choices, {});
    Case child = parent;
    MutateCase(child, choices, {});
    same += CaseId(child) == CaseId(parent);
    near += child.poison() == parent.poison() &&
            child.pool().page_size() == parent.pool().page_size();
  }
  EXPECT_GT(near, kTries / 2);
  EXPECT_LT(same, kTries / 5);
}

// Every class is within reach of a chain that starts from nothing.
TEST(MutatorTest, ReachesEveryClass) {
  std::set<int> reached;
  Choices choices(1);
  Case c;
  for (int i = 0; i < 30000; ++i) {
    MutateCase(c, choices, {.decode = true});
    absl::StatusOr<CaseImage> image = BuildImage(c);
    ASSERT_TRUE(image.ok()) << image.status();
    for (const int knob : ExercisedKnobs(*image)) reached.insert(knob);
  }
  for (int i = 0; i < static_cast<int>(AllKnobs().size()); ++i) {
    if (!KnobApplies(i, FP8_DS_MLA)) continue;
    EXPECT_EQ(reached.count(i), 1) << AllKnobs()[i].name;
  }
}

TEST(MutatorTest, ReachesEveryClassOfOtherDecodes) {
  for (const TokenLayout& layout : TokenLayouts()) {
    if (layout.layout == FP8_DS_MLA || layout.copied) continue;
    SCOPED_TRACE(layout.name);
    std::set<int> reached;
    Choices choices(1);
    Case c;
    for (int i = 0; i < 30000; ++i) {
      MutateCase(c, choices, {.decode = true, .layout = layout.layout});
      absl::StatusOr<CaseImage> image = BuildImage(c);
      ASSERT_TRUE(image.ok()) << image.status();
      for (const int knob : ExercisedKnobs(*image)) reached.insert(knob);
    }
    for (int i = 0; i < static_cast<int>(AllKnobs().size()); ++i) {
      EXPECT_EQ(reached.count(i), KnobApplies(i, layout.layout) ? 1 : 0)
          << AllKnobs()[i].name;
    }
  }
}

}  // namespace
}  // namespace mlafuzz
