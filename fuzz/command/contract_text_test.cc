#include "fuzz/command/contract_text.h"

#include <algorithm>
#include <string>
#include <vector>

#include "corpus/contracts.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

TEST(ContractText, OneLineADifference) {
  Contract contract = BuiltinContract();
  EXPECT_TRUE(ContractDifferences(BuiltinContract(), contract).empty());
  contract.mutable_writer()->set_tail(WriterContract::TAIL_UNCHANGED);
  contract.mutable_writer()->set_floor_bits(0x38d1b717);
  contract.mutable_convert()->clear_host_checks();
  contract.mutable_decode()->clear_pe_dims();
  contract.mutable_decode()->add_pe_dims(0);
  contract.clear_arithmetic();
  contract.mutable_arithmetic()->set_block(128);
  const std::vector<std::string> lines =
      ContractDifferences(BuiltinContract(), contract);
  const std::vector<std::string> first(
      lines.begin(), lines.begin() + std::min<std::size_t>(lines.size(), 5));
  EXPECT_EQ(
      first,
      (std::vector<std::string>{
          "writer.floor_bits: 0x38d1b717 (builtin: 0x00800000)",
          "writer.tail: TAIL_UNCHANGED (builtin: TAIL_ZERO)",
          "convert.host_checks: none (builtin: CONVERT_CHECK_WIDTH, "
          "CONVERT_CHECK_TOKENS)",
          "decode.pe_dims: 0 (builtin: 64, 0)",
          "arithmetic.dequantised: unknown (builtin: DEQUANTISED_BF16)"}));
  EXPECT_NE(std::find(lines.begin(), lines.end(),
                      "arithmetic.block: 128 (builtin: 64)"),
            lines.end());
}

TEST(ContractFields, HaveValuesAndMeanings) {
  const std::vector<ContractField> fields =
      ContractFields(BuiltinContract(), {"qk", "writer"});
  EXPECT_EQ(fields[0].name, "qk.scale_rule");
  EXPECT_EQ(fields[0].value, "SCALE_RAW");
  EXPECT_EQ(fields[0].meaning, "as stored (\"arbitrary_fp32\")");
  EXPECT_EQ(fields[1].name, "writer.scale");
  EXPECT_EQ(fields[1].meaning,
            "What becomes of amax/448 (after the floor) before it is stored "
            "and used. Here: stored as computed (vLLM before its power-of-two "
            "change)");
}

}  // namespace
}  // namespace mlafuzz
