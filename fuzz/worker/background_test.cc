#include "fuzz/worker/background.h"

#include <vector>

#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

TEST(Background, OnePieceOfWorkAtATimeInOrder) {
  for (const bool own_thread : {false, true}) {
    std::vector<int> done;
    {
      Background background(own_thread);
      background.Wait();
      for (int i = 0; i < 1000; ++i) {
        background.Start([&done, i] { done.push_back(i); });
        if (i % 3 != 0) continue;
        background.Wait();
        ASSERT_EQ(done.size(), static_cast<std::size_t>(i + 1));
      }
    }
    ASSERT_EQ(done.size(), 1000u);
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(done[i], i);
  }
}

}  // namespace
}  // namespace mlafuzz
