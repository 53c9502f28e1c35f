// The matrix and the stored witnesses are in step, and each is still a witness.
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "corpus/codec.h"
#include "fuzz/command/chain_replay.h"
#include "fuzz/command/matrix_text.h"
#include "gtest/gtest.h"
#include "properties/matrix/matrix.h"

namespace mlafuzz {
namespace {

constexpr char kFolder[] = "corpus/witnesses";
constexpr char kHow[] =
    "write them anew: mlafuzz contracts --matrix --witnesses=corpus/witnesses, "
    "and remove those that it does not name";

const Matrix& Named() {
  static const auto* matrix =
      new Matrix(BuildMatrix(NamedParties(), MatrixOptions()));
  return *matrix;
}

TEST(Witnesses, AreThoseOfTheMatrix) {
  std::set<std::string> stored;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    stored.insert(entry.path().filename().string());
  }
  std::set<std::string> made;
  for (const MatrixWitness& witness : Named().witnesses) {
    made.insert(WitnessFile(witness));
    const auto text =
        ReadFile(std::string(kFolder) + "/" + WitnessFile(witness));
    ASSERT_TRUE(text.ok()) << text.status() << "; " << kHow;
    EXPECT_EQ(*text, WitnessText(Named(), witness, kFolder)) << kHow;
  }
  EXPECT_EQ(stored, made) << kHow;
}

// From the file alone, as a reader of it would.
TEST(Witnesses, AreConfirmedByReplay) {
  std::size_t cells = 0;
  for (const MatrixWitness& witness : Named().witnesses) {
    const auto c = ReadCase(std::string(kFolder) + "/" + WitnessFile(witness));
    ASSERT_TRUE(c.ok()) << c.status();
    for (const std::size_t index : witness.cells) {
      const Cell& cell = Named().cells[index];
      ASSERT_EQ(cell.replay, "--chain=" + ChainName(cell));
      const auto chain = ReadChain(ChainName(cell));
      ASSERT_TRUE(chain.ok()) << chain.status();
      const ChainAnswer answer = ReplayChain(*chain, *c);
      EXPECT_EQ(answer.code, 1) << ChainName(cell) << ": " << answer.line;
      ++cells;
    }
  }
  EXPECT_GT(cells, 0u);
}

// And are none of a pair that agrees.
TEST(Witnesses, AreNoneOfRightPairs) {
  const auto c = ReadCase(std::string(kFolder) + "/dsv3_2-qk.scale_rule.txtpb");
  ASSERT_TRUE(c.ok()) << c.status();
  for (const char* names :
       {"native-raw,none,glm_nsa", "native-pow2,none,dsv3_2",
        "flashmla-packer,none,dsv3_2"}) {
    const auto chain = ReadChain(names);
    ASSERT_TRUE(chain.ok()) << chain.status();
    const ChainAnswer answer = ReplayChain(*chain, *c);
    EXPECT_EQ(answer.code, 0) << names << ": " << answer.line;
  }
}

// One of another layout: Inf, whose scale is byte 255.
TEST(Witnesses, AreNoneOfRightPairsOfOtherLayouts) {
  const auto c =
      ReadCase(std::string(kFolder) + "/dsv4-gather-gather.ue8m0_last.txtpb");
  ASSERT_TRUE(c.ok()) << c.status();
  for (const auto& [names, code] : std::map<std::string, int>{
           {"dsv4-cuda,dsv4-gather,none", 1},
           {"dsv4-triton,flashinfer-unpacker-584,none", 1},
           {"flashinfer-packer-584,dsv4-gather,none", 0},
           {"dsv4-cuda,flashmla-unpacker-584,none", 0}}) {
    const auto chain = ReadChain(names);
    ASSERT_TRUE(chain.ok()) << chain.status();
    const ChainAnswer answer = ReplayChain(*chain, *c);
    EXPECT_EQ(answer.code, code) << names << ": " << answer.line;
  }
}

TEST(ReadChain, SaysWhatIsWrong) {
  EXPECT_EQ(ReadChain("native-raw,none,dsv32").status().message(),
            "--chain: no reader is named \"dsv32\"; nearest: dsv3_2");
  EXPECT_FALSE(ReadChain("native-raw").ok());
  EXPECT_FALSE(ReadChain("native-raw,none,none").ok());
  EXPECT_FALSE(ReadChain("native-raw,upconvert-new,dsv3_2").ok());
  const absl::StatusOr<Chain> other = ReadChain("native-raw,dsv4-gather,none");
  EXPECT_NE(other.status().message().find("row656"), std::string::npos)
      << other.status();
  EXPECT_NE(other.status().message().find("footer584"), std::string::npos)
      << other.status();
}

TEST(MatrixJson, HoldsEveryCell) {
  const nlohmann::ordered_json json = MatrixJson(Named(), kFolder);
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["cells"].size(), Named().cells.size());
  std::map<std::string, std::set<std::string>> names;
  for (const char* role : {"writers", "gathers", "readers"}) {
    for (const auto& party : json[role]) names[role].insert(party["name"]);
  }
  std::set<std::string> witnesses;
  for (const auto& witness : json["witnesses"]) {
    witnesses.insert(witness["name"]);
    EXPECT_TRUE(ParseCaseText(std::string(witness["case"])).ok());
  }
  for (const auto& cell : json["cells"]) {
    EXPECT_EQ(names["writers"].count(cell["writer"]), 1u);
    EXPECT_EQ(names["gathers"].count(cell["gather"]), 1u);
    EXPECT_EQ(names["readers"].count(cell["reader"]), 1u);
    EXPECT_EQ(cell["verdict"] == "disagree",
              witnesses.count(cell["witness"]) == 1u);
  }
}

TEST(MatrixText, HasARowAWriterAndTotals) {
  const std::string text = MatrixText(Named());
  for (const MatrixParty& party : Named().parties) {
    EXPECT_NE(text.find(party.name), std::string::npos) << party.name;
  }
  EXPECT_NE(text.find("qk.scale_rule and v.scale_rule"), std::string::npos);
  EXPECT_NE(text.find("in all "), std::string::npos);
}

}  // namespace
}  // namespace mlafuzz
