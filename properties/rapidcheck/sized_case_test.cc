#include "properties/rapidcheck/sized_case.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>

#include "corpus/codec.h"
#include "corpus/image.h"
#include "gtest/gtest.h"
#include "properties/choices.h"
#include "rapidcheck.h"

namespace mlafuzz {
namespace {

// The same part of a range as RapidCheck's own generator of whole numbers.
TEST(SizedChoices, GrowAsInRangeDoes) {
  for (const std::uint32_t n : {1u, 2u, 3u, 64u, 100u, 101u, 4096u}) {
    for (int size = 0; size <= 100; ++size) {
      std::uint32_t theirs = 0, ours = 0;
      Choices choices(7, size);
      rc::Random random(7);
      const auto gen = rc::gen::inRange<std::uint32_t>(0, n);
      const std::uint32_t last =
          static_cast<std::uint32_t>((std::uint64_t{n - 1} * size + 50) / 100);
      for (int i = 0; i < 200; ++i) {
        theirs = std::max(theirs, gen(random.split(), size).value());
        ours = std::max(ours, choices.Below(n));
      }
      EXPECT_LE(theirs, last) << n << " at " << size;
      EXPECT_LE(ours, last) << n << " at " << size;
      if (last < 20) {
        EXPECT_EQ(theirs, ours) << n << " at " << size;
      }
    }
  }
}

// No size stalls the generator or makes it say what it may not.
TEST(SizedCase, BuildsAtEverySize) {
  // Bits: the kernels that cases may call.
  for (unsigned kernels = 1; kernels < 16; ++kernels) {
    const GeneratorOptions options = {.writer = (kernels & 1) != 0,
                                      .gather = (kernels & 2) != 0,
                                      .convert = (kernels & 4) != 0,
                                      .decode = (kernels & 8) != 0};
    const rc::Gen<Case> gen = SizedCase(options);
    rc::Random random(1);
    std::set<std::string> different;  // large ones
    for (int size = 0; size <= 100; ++size) {
      for (int i = 0; i < 20; ++i) {
        const Case c = gen(random.split(), size).value();
        const auto image = BuildImage(c);
        ASSERT_TRUE(image.ok()) << size << ": " << image.status() << "\n"
                                << FormatCaseText(c);
        if (size > 90) different.insert(CanonicalBinary(c));
      }
    }
    EXPECT_GT(different.size(), std::size_t{190}) << kernels;
  }
}

TEST(SizedCase, AtTheNominalSizeIsTheGeneratorsOwn) {
  const rc::Gen<Case> gen = SizedCase({});
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    rc::Random words(seed);
    Choices choices(words.next());
    EXPECT_EQ(CanonicalBinary(gen(rc::Random(seed), 100).value()),
              CanonicalBinary(GenerateCase(choices, {})));
  }
}

}  // namespace
}  // namespace mlafuzz
