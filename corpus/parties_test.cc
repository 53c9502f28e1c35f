#include "corpus/parties.h"

#include <set>
#include <string>

#include "absl/strings/match.h"
#include "corpus/contracts.h"
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
    EXPECT_EQ(FindCacheFormat(party.leaves) != nullptr,
              party.role == PartyRole::kGather)
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
  }
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
