#include "kernels/guarded_memory.h"

#include <cstring>

#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

using Damage = GuardedArena::Damage;

std::uint8_t* Add(GuardedArena& arena, std::size_t size, std::size_t residue,
                  std::size_t redzone) {
  absl::StatusOr<std::uint8_t*> data = arena.Add(size, residue, redzone);
  EXPECT_TRUE(data.ok()) << data.status();
  return data.ok() ? *data : nullptr;
}

std::vector<Damage> Check(GuardedArena& arena, std::size_t buffer) {
  std::vector<Damage> damage;
  arena.Check(buffer, &damage);
  return damage;
}

TEST(GuardedArena, PlacesAtTheResidueFlushWithTheRedzone) {
  GuardedArena arena(1);
  for (std::size_t size : {0, 1, 7, 656, 10000}) {
    for (std::size_t residue : {0, 1, 4, 16, 255}) {
      std::uint8_t* data = Add(arena, size, residue, 256);
      EXPECT_EQ(reinterpret_cast<std::size_t>(data) % 256, residue);
      const GuardedArena::Buffer& buffer = arena.buffers().back();
      EXPECT_GE(data - buffer.before, 256);
      EXPECT_GE(buffer.after - (data + size), 256);
    }
  }
}

TEST(GuardedArena, CleanUseLeavesNoDamage) {
  GuardedArena arena(1);
  std::uint8_t* a = Add(arena, 1000, 3, 256);
  std::uint8_t* b = Add(arena, 77, 0, 10496);
  ASSERT_TRUE(arena.Arm().ok());
  std::memset(a, 0xee, 1000);
  std::memset(b, 0xee, 77);
  arena.Disarm();
  EXPECT_TRUE(Check(arena, 0).empty());
  EXPECT_TRUE(Check(arena, 1).empty());
}

// Every distance up to the redzone's size, on both sides, at odd alignments.
TEST(GuardedArena, FindsEveryByteAroundABuffer) {
  GuardedArena arena(2);
  for (std::size_t residue : {0, 2, 5, 8}) {
    arena.Truncate(0);
    Add(arena, 100, 0, 256);
    std::uint8_t* data = Add(arena, 333, residue, 256);
    for (std::int64_t at = -256; at < 333 + 256; ++at) {
      if (at == 0) at = 333;  // the buffer itself
      data[at] ^= 0x40;
      const std::vector<Damage> damage = Check(arena, 1);
      ASSERT_EQ(damage.size(), 1u) << at;
      EXPECT_EQ(damage[0].first, at);
      EXPECT_EQ(damage[0].last, at);
      EXPECT_EQ(damage[0].count, 1);
      ASSERT_TRUE(Check(arena, 1).empty()) << "repaired";
    }
    EXPECT_TRUE(Check(arena, 0).empty());
  }
}

TEST(GuardedArena, ReportsRangesOnBothSides) {
  GuardedArena arena(3);
  std::uint8_t* data = Add(arena, 64, 0, 1024);
  data[-20] ^= 1;
  data[-3] ^= 1;
  for (int i = 0; i < 10; ++i) data[70 + i] ^= 1;
  const std::vector<Damage> damage = Check(arena, 0);
  ASSERT_EQ(damage.size(), 2u);
  EXPECT_EQ(damage[0].first, -20);
  EXPECT_EQ(damage[0].last, -3);
  EXPECT_EQ(damage[0].count, 2);
  EXPECT_EQ(damage[1].first, 70);
  EXPECT_EQ(damage[1].last, 79);
  EXPECT_EQ(damage[1].count, 10);
}

// The pattern must be back wherever an earlier layout had its buffers.
TEST(GuardedArena, ReuseWithOtherLayoutsIsClean) {
  GuardedArena arena(4);
  for (int round = 0; round < 200; ++round) {
    arena.Truncate(round % 3);
    const int wanted = 1 + round * 7 % 5;
    for (int i = static_cast<int>(arena.buffers().size()); i < wanted; ++i) {
      const std::size_t size = (round * 131 + i * 977) % 5000;
      std::uint8_t* data = Add(arena, size, round % 17, 256 + round % 3 * 512);
      std::memset(data, round, size);
    }
    ASSERT_TRUE(arena.Arm().ok());
    arena.Disarm();
    for (std::size_t i = 0; i < arena.buffers().size(); ++i) {
      ASSERT_TRUE(Check(arena, i).empty()) << round << " " << i;
    }
  }
}

TEST(GuardedArena, LargeAndSmallInTurn) {
  GuardedArena arena(5);
  for (int round = 0; round < 4; ++round) {
    arena.Truncate(0);
    std::uint8_t* data = Add(arena, round % 2 ? 100 : 200 << 20, 0, 10496);
    data[0] = data[99] = 1;
    ASSERT_TRUE(arena.Arm().ok());
    arena.Disarm();
    ASSERT_TRUE(Check(arena, 0).empty());
  }
}

TEST(GuardedArena, RefusesMoreThanItHas) {
  GuardedArena arena(6);
  EXPECT_EQ(arena.Add(GuardedArena::kCapacity, 0, 256).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(arena.Add(~std::size_t{0} - 100, 0, 256).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(arena.buffers().empty());
}

using GuardedArenaDeathTest = ::testing::Test;

TEST(GuardedArenaDeathTest, PastTheArenaIsAFault) {
  GuardedArena arena(7);
  std::uint8_t* data = Add(arena, 100, 0, 256);
  ASSERT_TRUE(arena.Arm().ok());
  volatile std::uint8_t* far = data + 4096;
  EXPECT_DEATH(*far = 1, "");
  volatile std::uint8_t* below = data - (128 << 10);
  EXPECT_DEATH(*below = 1, "");
  arena.Disarm();
}

}  // namespace
}  // namespace mlafuzz
