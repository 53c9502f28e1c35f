#include "fuzz/campaign/report/page.h"

#include <map>
#include <string>

#include "fuzz/campaign/report/sample_report.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

std::string Page(const nlohmann::ordered_json& report) {
  const Evidence evidence = SampleEvidence();
  return ReportPage(
      report,
      {{"writer-tail", {&evidence, "int main() {}", "findings/x/repro.cc"}}});
}

TEST(ReportPage, NeedsNothingBesideItAndRunsNothing) {
  const std::string page = Page(SampleReport());
  for (const char* outside :
       {"src=", "<script", "href=\"http", "url(", "@import", "javascript:"}) {
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
  }
  EXPECT_NE(page.find("content=\"default-src 'none'"), std::string::npos);
}

TEST(ReportPage, ShowsHostileWordsAndNeverObeys) {
  const std::string page = Page(SampleReport());
  EXPECT_NE(page.find("because &lt;script&gt;alert(&quot;1&quot;)"),
            std::string::npos);
  EXPECT_EQ(page.find('\xff'), std::string::npos);
}

TEST(ReportPage, PicturesALedgerIfOneWasRun) {
  nlohmann::ordered_json report = SampleReport();
  EXPECT_EQ(Page(report).find("id=\"ledger\""), std::string::npos);
  report["ledger"] = nlohmann::ordered_json::parse(R"({
    "file": "l<.json", "flavour": "plain", "seeds": 3,
    "wrong": [
      {"id": "mutant:a", "kernel": "writer", "seeds": 3, "detected": 3,
       "triggered": 3, "weak": "none", "cause": "right"},
      {"id": "mutant:b", "kernel": "gather", "seeds": 3, "detected": 1,
       "triggered": 1, "weak": "generator", "cause": "wrong"},
      {"id": "mutant:c", "kernel": "gather", "seeds": 3, "detected": 1,
       "triggered": 2, "weak": "oracle", "cause": "right"}],
    "right": [{"id": "builtin", "cases": 1000, "false_alarms": 0},
              {"id": "control:x", "cases": 2000, "false_alarms": 1}]})");
  const std::string page = Page(report);
  for (const char* words :
       {"id=\"ledger\"", "l&lt;.json", "1 found with every seed",
        "mutant:b: found with some seeds, and wherever it was triggered (1 of "
        "3), cause wrong",
        "mutant:c: triggered with more seeds than found (1 of 3)",
        "2 right kernels, 3,000 cases: false alarms of control:x"}) {
    EXPECT_NE(page.find(words), std::string::npos) << words;
  }
}

TEST(ReportPage, SaysWhatWasSeenAndWhatNot) {
  const std::string page = Page(SampleReport());
  for (const char* words :
       {"slot 1: 128 of 656 bytes are wrong", "<code>00 \u00d7 128</code>",
        "<code>a5 \u00d7 128</code>", "slots/never", "25.0%",
        "failed alike in 3 of 3 fresh processes", "cases: 1000 after 2.0 s",
        "two-poison</a> (writer)", "id=\"word-writer.tail\"",
        "href=\"#word-writer.tail\"", "id=\"word-crash\"",
        "href=\"findings/writer-tail/case.txtpb\""}) {
    EXPECT_NE(page.find(words), std::string::npos) << words;
  }
  // Explained only where used.
  EXPECT_EQ(page.find("id=\"word-round-trip\""), std::string::npos);
}

// 50 findings, each with pictures and long texts, in 3 MB.
TEST(ReportPage, StaysSmall) {
  nlohmann::ordered_json report = SampleReport();
  const nlohmann::ordered_json first = report["findings"][0];
  report["findings"].clear();
  Evidence evidence = SampleEvidence();
  // Every other byte is wrong: a map and a table as long as they come.
  evidence.mutable_buffers(0)->clear_wrong();
  for (int i = 0; i < 1312; i += 2) {
    Evidence::Range& wrong = *evidence.mutable_buffers(0)->add_wrong();
    wrong.set_begin(i);
    wrong.set_end(i + 1);
  }
  std::map<std::string, FindingDetails> details;
  for (int i = 0; i < 50; ++i) {
    nlohmann::ordered_json finding = first;
    const std::string id = "writer-tail-" + std::to_string(i);
    finding["id"] = id;
    finding["minimal_text"] = std::string(100'000, 'x');
    finding["reproducers"].push_back({{"path", "findings/x/repro.cc"},
                                      {"kind", "c++"},
                                      {"words", "verified"}});
    report["findings"].push_back(finding);
    details[id] = {&evidence, std::string(100'000, '"'), "findings/x/repro.cc"};
  }
  const std::string page = ReportPage(report, details);
  EXPECT_LT(page.size(), std::size_t{3} << 20);
  EXPECT_NE(page.find("The first 28672 of 100000 bytes"), std::string::npos);
  EXPECT_NE(page.find("more runs of wrong bytes"), std::string::npos);
}

}  // namespace
}  // namespace mlafuzz
