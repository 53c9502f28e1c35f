#include "fuzz/campaign/report/cause_pages.h"

#include <map>
#include <regex>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "corpus/codec.h"
#include "corpus/contracts.h"
#include "gtest/gtest.h"
#include "oracle/verdict.h"
#include "properties/fields.h"
#include "properties/relations.h"

namespace mlafuzz {
namespace {

// Words in quotes after `before`, in a source file.
std::set<std::string> Quoted(const std::string& path,
                             const std::string& before) {
  const auto source = ReadFile(path);
  EXPECT_TRUE(source.ok()) << source.status();
  std::set<std::string> words;
  const std::regex pattern(before + "\"([a-z][a-z0-9_-]+)\"");
  for (std::sregex_iterator it(source->begin(), source->end(), pattern), end;
       it != end; ++it) {
    words.insert((*it)[1]);
  }
  EXPECT_FALSE(words.empty()) << path << " has none after " << before;
  return words;
}

// Everything that a report may name: from the code itself where it has a list,
// else from its text.
std::set<std::string> Words() {
  std::set<std::string> words;
  for (int v = 0; v < kVerdictCount; ++v) {
    words.insert(VerdictName(static_cast<Verdict>(v)));
  }
  for (const Field& field : AllFields()) words.insert(field.name);
  for (const Relation& relation : AllRelations()) words.insert(relation.name);
  for (const auto& [path, before] : std::multimap<std::string, std::string>{
           {"oracle/verdict.h", "constexpr char k\\w+\\[\\] = "},
           {"oracle/decode/faults.h", "constexpr char k\\w+\\[\\] = "},
           {"oracle/other_reading.h", "constexpr char k\\w+\\[\\] = "},
           {"oracle/cause_keys.h", "constexpr char k\\w+\\[\\] = "},
           {"oracle/changed_call.cc", "\\{Kernel::\\w+, "},
           {"oracle/changed_row.cc", "\\{"},
           {"oracle/diagnosis.cc", "Pattern\\(\\s*"},
           {"oracle/diagnose_ending.cc", "Pattern\\(\\s*"},
           {"oracle/diagnose_ending.cc", "\\.key = "},
           {"oracle/name_damage.cc", "Pattern\\(\\s*"},
           {"oracle/name_damage.cc", "\\{&Damage::\\w+, "},
           {"oracle/decode/diagnose_decode.cc", "Pattern\\(\\s*"},
           {"oracle/decode/diagnose_decode_ending.cc", "Pattern\\(\\s*"},
           {"oracle/decode/name_decode_damage.cc", "Pattern\\(\\s*"}}) {
    words.merge(Quoted(path, before));
  }
  // Of kinds of lane faults, one each.
  words.insert({"deadlock", "divergence", "race", "watchdog"});
  // Names that campaigns give: a process' end, an impostor of a rule, the
  // difference of two targets.
  words.insert({"terminates", "memory-use", "worker", "now-and-then",
                "difference", "accepted-invalid", "refused-silently",
                "refused-with-a-trace"});
  return words;
}

TEST(CausePages, ExplainEveryWordAndNoOther) {
  const std::set<std::string> words = Words();
  std::set<std::string> pages;
  for (const CausePage& page : AllCausePages()) {
    EXPECT_TRUE(pages.insert(page.name).second) << page.name << " twice";
    EXPECT_EQ(words.count(page.name), 1u)
        << page.file << " explains " << page.name << ", which nothing names";
  }
  for (const std::string& word : words) {
    EXPECT_EQ(pages.count(word), 1u)
        << "docs/causes has no section ## " << word;
  }
}

// What it means, a public example, how it is fixed.
TEST(CausePages, HaveThreeParts) {
  for (const CausePage& page : AllCausePages()) {
    const std::size_t example = page.text.find("\n\nExample: ");
    const std::size_t fix = page.text.find("\n\nFix: ");
    EXPECT_GT(example, 0u) << page.name;
    EXPECT_NE(example, std::string::npos) << page.name;
    EXPECT_NE(fix, std::string::npos) << page.name;
    EXPECT_LT(example, fix) << page.name;
  }
}

TEST(CausePages, NameEveryValueOfAField) {
  for (const Kernel kernel : kAllKernels) {
    for (const Neighbour& n : Neighbours(BuiltinContract(), kernel)) {
      const CausePage* page = PageOf(n.field);
      ASSERT_NE(page, nullptr) << n.field;
      for (const std::string& value : {n.declared, n.changed}) {
        EXPECT_TRUE(absl::StrContains(page->text, "* `" + value + "`"))
            << n.field << " does not say what " << value << " is";
      }
    }
  }
}

TEST(CausePages, AreFoundByACausesKey) {
  for (const auto& [key, word] : std::map<std::string, std::string>{
           {"writer/writer.tail=TAIL_UNCHANGED", "writer.tail"},
           {"decode/qk.scale_rule=A+v.scale_rule=B", "qk.scale_rule"},
           {"decode/crash/signal 11", "crash"},
           {"decode/accepted-invalid:decode.pe_dim", "accepted-invalid"},
           {"gather/dense-pages", "dense-pages"},
           {"other", "other"}}) {
    EXPECT_EQ(WordOfCause(key), word);
    EXPECT_NE(PageOfCause(key), nullptr) << key;
  }
  EXPECT_EQ(PageOfCause("gather/<script>"), nullptr);
}

TEST(CausePages, BecomeHtml) {
  CausePage page;
  page.text =
      "A `<b>` of [one](https://x.y) and\n[two](../z.md).\n\n* `a` is\n  b\n* "
      "c";
  EXPECT_EQ(PageHtml(page),
            "<p>A <code>&lt;b&gt;</code> of one (https://x.y) and\ntwo.</p>\n"
            "<ul>\n<li><code>a</code> is b</li>\n<li>c</li>\n</ul>\n");
}

}  // namespace
}  // namespace mlafuzz
