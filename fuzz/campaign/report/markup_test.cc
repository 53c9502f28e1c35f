#include "fuzz/campaign/report/markup.h"

#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

TEST(Markup, LeavesTextAlone) {
  EXPECT_EQ(ShownText("page 3,\trow 7\n"), "page 3,\trow 7\n");
  EXPECT_EQ(ShownText("\u00b5s, \u2265, \U0001f4a5"),
            "\u00b5s, \u2265, \U0001f4a5");
}

TEST(Markup, ShowsWhatIsNoText) {
  EXPECT_EQ(ShownText("\xff\xfe"), "\uFFFD\uFFFD");
  EXPECT_EQ(ShownText(absl::string_view("a\0b\x1b[31m", 8)),
            "a\uFFFDb\uFFFD[31m");
  EXPECT_EQ(ShownText("\xc0\xaf"), "\uFFFD\uFFFD");            // overlong
  EXPECT_EQ(ShownText("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD");  // a surrogate
  EXPECT_EQ(ShownText("\xe2\x82"), "\uFFFD\uFFFD");            // cut off
  EXPECT_EQ(ShownText("a\u202eb"), "a\uFFFDb");                // turns around
  EXPECT_EQ(ShownText("\x7f"), "\uFFFD");
}

TEST(Markup, KeepsANameInOneLine) {
  EXPECT_EQ(ShownLine("csrc/gr\u00f6\u00dfe 1.cu"),
            "csrc/gr\u00f6\u00dfe 1.cu");
  EXPECT_EQ(ShownLine("q\n::error file=x::owned/w.cu"),
            "q\\x0a::error file=x::owned/w.cu");
  EXPECT_EQ(ShownLine(absl::string_view("a\0b\r\t\x1b[31m\xff", 11)),
            "a\\x00b\\x0d\\x09\\x1b[31m\\xff");
  EXPECT_EQ(ShownLine("a\u202eb\u0085"), "a\\xe2\\x80\\xaeb\\xc2\\x85");
  EXPECT_EQ(ShownLine("\xe2\x82"), "\\xe2\\x82");
}

TEST(Markup, EscapesForHtmlAndXml) {
  EXPECT_EQ(MarkupText("</td><script>alert('x')</script>\" onload=\"&amp;"),
            "&lt;/td&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&quot; "
            "onload=&quot;&amp;amp;");
  EXPECT_EQ(MarkupText("]]>"), "]]&gt;");
}

TEST(Markup, EscapesForMarkdown) {
  EXPECT_EQ(MarkdownText("a|b\n# <b>"), "a&#124;b &#35; &#60;b&#62;");
  EXPECT_EQ(MarkdownText("[x](y)"), "&#91;x&#93;&#40;y&#41;");
  EXPECT_EQ(MarkdownText("@someone"), "&#64;someone");
}

}  // namespace
}  // namespace mlafuzz
