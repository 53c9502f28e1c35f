#include "properties/ab/cache.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

std::unique_ptr<AbCache> Make(const AbSize& size, double spread) {
  auto cache = AbCache::Create(size, spread);
  EXPECT_TRUE(cache.ok()) << cache.status();
  return *std::move(cache);
}

// The report counted 4083 of 4096 scales that are no power of two, a mean
// factor of 0.776 and a least one of 0.505.
TEST(AbCache, TheFullSizeIsThatOfTheReport) {
  const ScaleFacts facts = Make({}, 1.4)->scales();
  EXPECT_EQ(facts.count, 4096);
  EXPECT_NEAR(static_cast<double>(facts.not_powers_of_two), 4083, 16);
  EXPECT_NEAR(facts.log2_spread, 1.4, 0.15);
  EXPECT_GT(facts.least_factor, 0.5);
  EXPECT_LT(facts.least_factor, 0.51);
  EXPECT_NEAR(facts.mean_factor, 0.776, 0.02);
}

TEST(AbCache, ScalesSpreadAsAsked) {
  for (const double spread : {4.7, 10.1, 18.0}) {
    EXPECT_NEAR(Make({.rows = 100}, spread)->scales().log2_spread, spread,
                0.02);
  }
}

TEST(AbCache, RowsArePackedByTheRule) {
  const auto cache = Make({.rows = 70, .heads = 1, .top_k = 1}, 18);
  const PoolImage& pool = cache->image().pool;
  EXPECT_EQ(pool.slots(), 128);
  for (int row = 0; row < 70; ++row) {
    const std::uint8_t* bytes = pool.bytes.data() + pool.RowAt(row);
    for (int tile = 0; tile < 4; ++tile) {
      float scale;
      std::memcpy(&scale, bytes + 512 + 4 * tile, 4);
      ASSERT_GE(scale, 1e-4f / 448.0f);
      std::uint8_t largest = 0;
      for (int i = 0; i < 128; ++i) {
        largest = std::max<std::uint8_t>(largest, bytes[128 * tile + i] & 0x7f);
      }
      // The largest value has the largest code unless amax was floored.
      if (scale > 1e-4f / 448.0f) {
        EXPECT_EQ(largest, 0x7e) << row << " " << tile;
      }
    }
  }
}

TEST(AbCache, IndicesNameRowsOnly) {
  const auto cache = Make({.rows = 3, .heads = 2, .top_k = 200}, 1.4);
  const Tensor& indices = *cache->image().steps[0].Find(TensorId::kIndices);
  ASSERT_EQ(indices.shape[1], 200);
  std::int32_t most = 0;
  for (int i = 0; i < 200; ++i) {
    std::int32_t slot;
    std::memcpy(&slot, indices.bytes.data() + 4 * i, 4);
    ASSERT_GE(slot, 0);
    most = std::max(most, slot);
  }
  EXPECT_EQ(most, 2);
}

TEST(AbCache, TheSeedDecides) {
  const AbSize one = {.rows = 2, .heads = 1, .top_k = 4, .seed = 1};
  const AbSize two = {.rows = 2, .heads = 1, .top_k = 4, .seed = 2};
  EXPECT_EQ(Make(one, 4.7)->image().pool.bytes,
            Make(one, 4.7)->image().pool.bytes);
  EXPECT_NE(Make(one, 4.7)->image().pool.bytes,
            Make(two, 4.7)->image().pool.bytes);
}

TEST(AbCache, RefusesSizesThatMeanNothing) {
  for (const auto& [size, spread, word] :
       {std::tuple(AbSize{.rows = 0}, 1.4, "rows"),
        std::tuple(AbSize{.heads = 129}, 1.4, "heads"),
        std::tuple(AbSize{.top_k = 0}, 1.4, "top-k"),
        std::tuple(AbSize{}, -1.0, "spread"),
        std::tuple(AbSize{}, std::nan(""), "spread")}) {
    const auto cache = AbCache::Create(size, spread);
    ASSERT_FALSE(cache.ok());
    EXPECT_NE(std::string(cache.status().message()).find(word),
              std::string::npos)
        << cache.status();
  }
}

}  // namespace
}  // namespace mlafuzz
