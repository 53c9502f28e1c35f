#include "corpus/contract_checks.h"

#include <string>

#include "corpus/contracts.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

// The error; empty if there is none.
std::string Error(const std::string& text) {
  const auto contract = ParseContractText(text);
  return contract.ok() ? "" : std::string(contract.status().message());
}

TEST(ContractChecks, WhatKernelsPromiseIsTaken) {
  EXPECT_TRUE(CheckContract(BuiltinContract()).ok())
      << CheckContract(BuiltinContract());
  EXPECT_TRUE(CheckContract(VllmContract()).ok());
  EXPECT_EQ(Error(""), "");
  EXPECT_EQ(Error("writer { pe_dims: [0, 64] floor_bits: 0x38d1b717 }"), "");
  EXPECT_EQ(Error("writer { floor: FLOOR_NONE }"), "");
  EXPECT_EQ(Error("arithmetic { accumulator: MMA accumulator_bits: 26 }"), "");
}

TEST(ContractChecks, EachFieldHasItsRange) {
  EXPECT_EQ(Error("writer { pe_dims: 63 }"),
            "writer.pe_dims: 63 is none of 0, 64");
  EXPECT_EQ(Error("decode { pe_dims: [64, 1000000] }"),
            "decode.pe_dims: 1000000 is none of 0, 64");
  for (const char* bits : {"0x7fc00000", "0x7f800000", "0x80000001"}) {
    EXPECT_EQ(Error(std::string("writer { floor_bits: ") + bits + " }")
                  .find(std::string("writer.floor_bits: ") + bits),
              0u)
        << bits;
  }
  EXPECT_EQ(Error("convert { width_multiple: 65537 }"),
            "convert.width_multiple: 65537 is out of range; 1 to 65536, or 0: "
            "not said");
  EXPECT_EQ(Error("arithmetic { block: 4000000000 }"),
            "arithmetic.block: 4000000000 is out of range; 1 to 65536, or 0: "
            "not said");
  EXPECT_EQ(Error("arithmetic { accumulator_bits: 65 }"),
            "arithmetic.accumulator_bits: 65 is out of range; 1 to 64, or 0: "
            "unknown");
  for (const char* error : {"nan", "-1e-7", "inf", "1"}) {
    EXPECT_EQ(
        Error(std::string("arithmetic { exp2_relative_error: ") + error + " }")
            .find("arithmetic.exp2_relative_error: "),
        0u)
        << error;
  }
  EXPECT_EQ(Error("writer { inputs: [BF16, I32] }"),
            "writer.inputs: I32 is none of BF16, F16, F32, the inputs of which "
            "a rule is known");
}

TEST(ContractChecks, ValuesHaveNames) {
  EXPECT_NE(Error("writer { tail: 77 }"), "");
  EXPECT_EQ(Error("gather { lengths: LENGTHS_UNSPECIFIED }"),
            "gather.lengths: LENGTHS_UNSPECIFIED is none of FROM_STARTS, "
            "SEQ_LENS");
  EXPECT_EQ(Error("gather { lengths: [SEQ_LENS, SEQ_LENS] }"),
            "gather.lengths: SEQ_LENS stands there twice; once is enough");
  // Parsers may let a number pass that has no name.
  Contract contract;
  contract.mutable_qk()->set_scale_rule(static_cast<ReaderSide::ScaleRule>(99));
  EXPECT_EQ(CheckContract(contract).message(),
            "qk.scale_rule: 99 is none of SCALE_RAW, SCALE_POW2_FLOOR, "
            "SCALE_POW2_CEIL, SCALE_BF16, SCALE_ONE");
}

TEST(ContractChecks, NoTwoFieldsExcludeEachOther) {
  EXPECT_EQ(Error("writer { floor: FLOOR_NONE floor_bits: 0x38d1b717 }"),
            "writer.floor_bits: 0x38d1b717 contradicts floor: FLOOR_NONE; "
            "leave one of them out");
  EXPECT_EQ(
      Error("arithmetic { accumulator: IEEE_FP32 accumulator_bits: 10 }"),
      "arithmetic.accumulator_bits: 10 contradicts accumulator: IEEE_FP32, "
      "which has 24; leave one of them out");
}

}  // namespace
}  // namespace mlafuzz
