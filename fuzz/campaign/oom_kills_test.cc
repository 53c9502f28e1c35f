#include "fuzz/campaign/oom_kills.h"

#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

TEST(OomKills, IsTheNumberOfItsLine) {
  EXPECT_EQ(OomKillsIn("low 0\nhigh 3\nmax 9\noom 2\noom_kill 7\n"), 7u);
  EXPECT_EQ(OomKillsIn("oom_kill_disable 0\nunder_oom 0\noom_kill 12\n"), 12u);
  EXPECT_EQ(OomKillsIn("oom_kill_group 5\n"), 0u);
  EXPECT_EQ(OomKillsIn(""), 0u);
}

TEST(OomKills, FindsTheMemoryCgroup) {
  const MemoryCgroup v1 =
      MemoryCgroupIn("9:name=systemd:/\n4:cpu,memory:/docker/a:b\n0::/\n");
  EXPECT_EQ(v1.path, "/docker/a:b");
  EXPECT_FALSE(v1.unified);
  const MemoryCgroup v2 = MemoryCgroupIn("0::/user.slice/x.scope\n");
  EXPECT_EQ(v2.path, "/user.slice/x.scope");
  EXPECT_TRUE(v2.unified);
}

TEST(OomKills, OnlyGrows) { EXPECT_LE(OomKills(), OomKills()); }

}  // namespace
}  // namespace mlafuzz
