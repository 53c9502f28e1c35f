#include "properties/infer/proposal.h"

#include "corpus/contracts.h"
#include "gtest/gtest.h"
#include "kernels/foreign/foreign_target.h"

namespace mlafuzz {
namespace {

// What is printed for pasting is the library's description in full.
TEST(Proposal, KeepsWhatTheLibrarySaysOfItself) {
  TargetDescription head;
  head.set_name("my 'decode'");
  head.set_version("7");
  head.set_scratch_bytes(64);
  Contract found = BuiltinContract();
  found.mutable_writer()->set_floor(WriterContract::FLOOR_NONE);
  found.mutable_writer()->set_floor_bits(0x38d1b717);
  Contract proposal;
  AddToProposal(found, Kernel::kWriter, &proposal);
  const std::string text = ProposalText(head, proposal);
  const auto pasted = ParseDescription(text);
  ASSERT_TRUE(pasted.ok()) << pasted.status() << "\n" << text;
  EXPECT_EQ(pasted->name(), "my 'decode'");
  EXPECT_EQ(pasted->version(), "7");
  EXPECT_EQ(pasted->scratch_bytes(), 64u);
  EXPECT_EQ(pasted->contract().writer().floor(), WriterContract::FLOOR_NONE);
}

}  // namespace
}  // namespace mlafuzz
