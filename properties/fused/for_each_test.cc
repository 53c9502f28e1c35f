#include "properties/fused/for_each.h"

#include <atomic>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

TEST(ForEach, EachNumberOnceWhateverThePieces) {
  for (const int threads : {0, 1, 2, 7, 16}) {
    for (const std::size_t piece : {0, 1, 3, 64, 5000}) {
      for (const std::size_t n : {0, 1, 2, 63, 65, 1000}) {
        std::vector<std::atomic<int>> times(n);
        ForEach(n, threads, [&](std::size_t i) { ++times[i]; }, piece);
        for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(times[i], 1) << i;
      }
    }
  }
}

// Callers at once, and a loop within a loop.
TEST(ForEach, CallersShareTheThreads) {
  constexpr std::size_t kCallers = 6;
  constexpr std::size_t kRounds = 300;
  std::atomic<std::size_t> done{0};
  std::vector<std::thread> callers;
  for (std::size_t c = 0; c < kCallers; ++c) {
    callers.emplace_back([&done, c] {
      for (std::size_t round = 0; round < kRounds; ++round) {
        std::atomic<std::size_t> sum{0};
        ForEach(
            20, 4,
            [&](std::size_t i) {
              if (i % 10 != c) {
                sum += i;
                return;
              }
              ForEach(5, 4, [&](std::size_t j) { sum += j; }, 1);
            },
            1 + c);
        // 190 without c and c + 10, each of which has 10 instead.
        ASSERT_EQ(sum, 190 - (2 * c + 10) + 20);
        ++done;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(done, kCallers * kRounds);
}

}  // namespace
}  // namespace mlafuzz
