#include "fuzz/campaign/mutes.h"

#include <string>

#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

constexpr char kToday[] = "2026-11-30";

TEST(Mutes, HaveOwnerDayAndNote) {
  const auto mutes = ParseMutes(
      "# known\n\n"
      "writer/writer.tail=TAIL_UNCHANGED until=2026-12-31 owner=alice  fixed "
      "by #7 # soon \n"
      "\tgather/values-only until=2026-11-30 owner=bob today is its last\r\n",
      "muted.txt", kToday);
  ASSERT_TRUE(mutes.ok()) << mutes.status();
  ASSERT_EQ(mutes->size(), 2u);
  const Mute* tail = FindMute(*mutes, "writer/writer.tail=TAIL_UNCHANGED");
  ASSERT_NE(tail, nullptr);
  EXPECT_EQ(MuteText(*tail), "alice, until 2026-12-31: fixed by #7 # soon");
  EXPECT_EQ(FindMute(*mutes, "writer/writer.tail"), nullptr);
  EXPECT_EQ((*mutes)[1].note, "today is its last");
  EXPECT_TRUE(ParseMutes("", "muted.txt", kToday)->empty());
}

struct Wrong {
  const char* line;
  const char* says;
};

TEST(Mutes, AreRefusedByName) {
  for (const Wrong& wrong : {
           Wrong{"a/b until=2026-11-29 owner=x y",
                 "ended on 2026-11-29 (x: y)"},
           Wrong{"a/b until=2026-02-30 owner=x y", "no day"},
           Wrong{"a/b until=26-12-31 owner=x y", "no day"},
           Wrong{"a/b until=2026-12-3a owner=x y", "no day"},
           Wrong{"a/b owner=x y", "needs a day"},
           Wrong{"a/b until=2026-12-31 y", "needs a day"},
           Wrong{"a/b until=2026-12-31 owner=x", "needs a day"},
           Wrong{"a/b owner=x until=2026-12-31 y", "needs a day"},
           Wrong{"ab until=2026-12-31 owner=x y", "no cause"},
           Wrong{"until=2026-12-31 owner=x y", "no cause"},
           Wrong{"\xff", "no cause"},
       }) {
    const auto mutes = ParseMutes(
        std::string("c/d until=2027-01-01 owner=z fine\n") + wrong.line,
        "muted.txt", kToday);
    ASSERT_FALSE(mutes.ok()) << wrong.line;
    const std::string message(mutes.status().message());
    EXPECT_EQ(message.rfind("muted.txt:2: ", 0), 0u) << message;
    EXPECT_NE(message.find(wrong.says), std::string::npos) << message;
  }
  const auto twice = ParseMutes(
      "a/b until=2026-12-31 owner=x y\na/b until=2026-12-31 owner=x y\n", "m",
      kToday);
  EXPECT_NE(std::string(twice.status().message()).find("m:2: a/b is muted"),
            std::string::npos);
}

TEST(Mutes, AreShownInOneLineOfText) {
  const auto refused = ParseMutes(
      std::string("a\0\x1b[31m\xff\rb until=2026-12-31 owner=x y", 41), "m",
      kToday);
  EXPECT_EQ(refused.status().message().find(
                "m:1: \"a\\x00\\x1b[31m\\xff\\x0db\" is no cause; it is"),
            0u)
      << refused.status();
  const auto mutes = ParseMutes(
      "a/b until=2026-12-31 owner=J\u00f6rg so\x1b[31m\r::error::x\xff", "m",
      kToday);
  ASSERT_TRUE(mutes.ok()) << mutes.status();
  EXPECT_EQ(MuteText((*mutes)[0]),
            "J\u00f6rg, until 2026-12-31: so\\x1b[31m\\x0d::error::x\\xff");
}

TEST(Mutes, NamesAFileThatIsMissing) {
  const auto mutes = ReadMutes("/no/such/file", "file");
  EXPECT_NE(std::string(mutes.status().message()).find("/no/such/file"),
            std::string::npos);
  EXPECT_EQ(Today().size(), 10u);
}

}  // namespace
}  // namespace mlafuzz
