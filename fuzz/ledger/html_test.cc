#include "fuzz/ledger/html.h"

#include "fuzz/ledger/sample.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

std::size_t Times(const std::string& text, const std::string& what) {
  std::size_t times = 0;
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + 1)) {
    ++times;
  }
  return times;
}

TEST(LedgerHtml, NeedsNothingBesideIt) {
  const std::string page = LedgerHtml(SampleResult());
  for (const char* outside : {"http:", "https:", "src=", "<script", "href="}) {
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
  }
  EXPECT_NE(page.find("an &lt;issue&gt;"), std::string::npos);
  EXPECT_EQ(page.find("<issue>"), std::string::npos);
}

TEST(LedgerHtml, HasARowAMutantAndACellAnEngineAndBaseline) {
  const std::string page = LedgerHtml(SampleResult());
  for (const char* id : {"mutant:killed", "mutant:weak-generator",
                         "mutant:weak-oracle", "control:right"}) {
    EXPECT_EQ(Times(page, std::string("<th>") + id + "</th>"), 1u) << id;
  }
  // Two engines and a baseline for each of three mutants, each with a sign.
  EXPECT_EQ(Times(page, "<td class=\"all\"") +
                Times(page, "<td class=\"some\"") +
                Times(page, "<td class=\"none\"") +
                Times(page, "<td class=\"oracle\" title"),
            9u);
  EXPECT_EQ(Times(page, "<span class=\"sign\">"), 9u);
  EXPECT_NE(page.find("\u2715</span>0/2, triggered 1/2"), std::string::npos);
  EXPECT_NE(page.find("\u2715 flagged"), std::string::npos);
}

}  // namespace
}  // namespace mlafuzz
