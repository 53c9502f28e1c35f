#include "corpus/parties.h"

#include <set>
#include <string>

#include "absl/strings/match.h"
#include "corpus/contracts.h"
#include "corpus/token_layout.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

TEST(Parties, ContractsParse) {
  for (const Party& party : AllParties()) {
    EXPECT_TRUE(ParseContractText(party.contract).ok())
        << party.name << ": " << ParseContractText(party.contract).status();
  }
}

TEST(Parties, NamesAreUniqueAndRowsComplete) {
  std::set<std::string> names;
  for (const Party& party : AllParties()) {
    EXPECT_TRUE(names.insert(party.name).second) << party.name;
    EXPECT_EQ(FindParty(party.name), &party);
    EXPECT_NE(FindCacheFormat(party.format), nullptr) << party.name;
    EXPECT_STREQ(party.leaves, party.role == PartyRole::kGather
                                   ? FindCacheFormat(party.format)->gathered
                                   : "")
        << party.name;
    EXPECT_NE(std::string(party.what), "") << party.name;
    // Repository, file, commit or change.
    EXPECT_TRUE(absl::StrContains(party.source, "/")) << party.name;
    EXPECT_TRUE(absl::StrContains(party.source, "@") ||
                absl::StrContains(party.source, "#"))
        << party.name;
  }
  EXPECT_EQ(FindParty("nobody"), nullptr);
}

TEST(Parties, FormatsSayWhyNot) {
  std::set<std::string> names;
  for (const CacheFormat& format : AllCacheFormats()) {
    EXPECT_TRUE(names.insert(format.name).second) << format.name;
    EXPECT_EQ(ComputableLayout(format).has_value(), format.why_not == nullptr)
        << format.name;
    EXPECT_EQ(ComputableLayout(format).has_value(),
              FindCacheFormat(format.gathered) != nullptr)
        << format.name;
    if (format.why_not != nullptr) {
      EXPECT_NE(format.why_no_decode, nullptr) << format.name;
    }
  }
}

// The table keeps the reasons that it points to.
TEST(Parties, ReasonsAreWords) {
  const std::set<std::string> known = {
      "what a gather leaves is read by dense attention, which is no party",
      "no oracle for a reader of the indexer's cache"};
  int reasons = 0;
  for (const CacheFormat& format : AllCacheFormats()) {
    for (const PartyRole role : {PartyRole::kWriter, PartyRole::kReader}) {
      const char* why_not = WhyNotComputed(format, role);
      if (why_not == nullptr) continue;
      EXPECT_EQ(known.count(why_not), 1u) << format.name << ": " << why_not;
      ++reasons;
    }
  }
  EXPECT_GT(reasons, 4);
}

// Each layout is a format, under the name that reports give it.
TEST(Parties, EveryLayoutIsAFormat) {
  for (const TokenLayout& token : TokenLayouts()) {
    const CacheFormat* format = FormatOfLayout(token.layout);
    ASSERT_NE(format, nullptr) << token.name;
    EXPECT_STREQ(format->name, token.name);
  }
}

// What a party's text leaves open is filled in by its layout.
TEST(Parties, ContractsHaveTheirLayoutsRules) {
  const Contract dsv4 = PartyContract(*FindParty("dsv4-cuda"));
  EXPECT_EQ(dsv4.layout(), DSV4_FOOTER_584);
  EXPECT_EQ(dsv4.writer().DebugString(),
            BuiltinContract(DSV4_FOOTER_584).writer().DebugString());
  EXPECT_EQ(PartyContract(*FindParty("dsv4_1")).writer().DebugString(),
            BuiltinContract(DSV4_1_FOOTER_528).writer().DebugString());
}

// What is written here must be what was measured.
TEST(Parties, NativeWriterAndGatherAreVllms) {
  const Contract vllm = VllmContract();
  EXPECT_EQ(PartyContract(*FindParty("native-raw")).writer().DebugString(),
            vllm.writer().DebugString());
  EXPECT_EQ(PartyContract(*FindParty("upconvert-new")).gather().DebugString(),
            vllm.gather().DebugString());
}

// Required to be byte for byte the native writer.
TEST(Parties, KimiIsNativeRaw) {
  EXPECT_EQ(PartyContract(*FindParty("kimi-k3")).DebugString(),
            PartyContract(*FindParty("native-raw")).DebugString());
}

// One label, two layouts: what no shape of a tensor tells apart.
TEST(Parties, OneLabelNamesSeveralFormats) {
  EXPECT_STREQ(FindCacheFormat("row656")->label,
               FindCacheFormat("footer584")->label);
}

}  // namespace
}  // namespace mlafuzz
