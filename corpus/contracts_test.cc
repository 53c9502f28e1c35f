#include "corpus/contracts.h"

#include <set>
#include <string>

#include "absl/strings/match.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

// No rule may be left to chance: a field that somebody adds must get a default.
void ExpectAllSet(const google::protobuf::Message& m) {
  const auto* reflection = m.GetReflection();
  for (int i = 0; i < m.GetDescriptor()->field_count(); ++i) {
    const auto* field = m.GetDescriptor()->field(i);
    if (field->is_repeated()) {
      EXPECT_GT(reflection->FieldSize(m, field), 0) << field->full_name();
    } else if (field->cpp_type() ==
               google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) {
      ExpectAllSet(reflection->GetMessage(m, field));
    } else {
      EXPECT_TRUE(reflection->HasField(m, field)) << field->full_name();
    }
  }
}

TEST(Contracts, EveryFieldIsDeclared) {
  ExpectAllSet(BuiltinContract());
  ExpectAllSet(VllmContract());
}

TEST(Contracts, DefaultsFillWhatIsUnset) {
  absl::StatusOr<Contract> c =
      ParseContractText("writer { scale: POW2_CEIL pe_dims: 64 }");
  ASSERT_TRUE(c.ok()) << c.status();
  // Unknown arithmetic is a declaration of its own.
  EXPECT_FALSE(c->has_arithmetic());
  *c->mutable_arithmetic() = BuiltinContract().arithmetic();
  ExpectAllSet(*c);
  EXPECT_EQ(c->writer().scale(), WriterContract::POW2_CEIL);
  EXPECT_EQ(c->writer().pe_dims_size(), 1);
  EXPECT_EQ(c->writer().tail(), WriterContract::TAIL_ZERO);
}

TEST(Contracts, UnknownWordsAreNamed) {
  absl::StatusOr<Contract> field = ParseContractText("writer { tale: 1 }");
  EXPECT_TRUE(absl::StrContains(field.status().message(), "tale"));
  absl::StatusOr<Contract> value =
      ParseContractText("writer { tail: TAIL_RED }");
  EXPECT_TRUE(absl::StrContains(value.status().message(), "TAIL_RED"));
}

TEST(Contracts, NeighboursDifferInExactlyOneField) {
  for (Kernel kernel : kAllKernels) {
    std::set<std::string> seen;
    for (const Neighbour& n : Neighbours(BuiltinContract(), kernel)) {
      if (kernel != Kernel::kDecode) {
        EXPECT_TRUE(absl::StartsWith(n.field, KernelName(kernel))) << n.field;
      }
      EXPECT_NE(n.declared, n.changed);
      EXPECT_NE(n.contract.SerializeAsString(),
                BuiltinContract().SerializeAsString());
      EXPECT_TRUE(seen.insert(n.field + "=" + n.changed).second);
    }
    EXPECT_GT(seen.size(), 6u) << KernelName(kernel);
  }
}

}  // namespace
}  // namespace mlafuzz
