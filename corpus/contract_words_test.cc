#include "corpus/contract_words.h"

#include "corpus/contract.pb.h"
#include "google/protobuf/descriptor.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

TEST(ContractWords, AreThoseOfTheFile) {
  EXPECT_EQ(FieldWords("WriterContract", "tail"),
            "What stands in the reserved tail bytes of a row written with "
            "pe_dim 0.");
  EXPECT_EQ(ValueWords("ReaderSide", "scale_rule", "SCALE_POW2_FLOOR"),
            "2^floor(log2 s): the exponent alone (\"pow2_fp32\")");
  EXPECT_EQ(
      ValueWords("WriterContract", "host_checks", "WRITER_CHECK_ROW_BYTES"),
      "cache columns == the layout's token");
  // A comment that goes on in the next line.
  EXPECT_EQ(ValueWords("Arithmetic", "dequantised", "DEQUANTISED_CODES"),
            "the codes enter the product; the scale follows the sum over a "
            "tile");
  EXPECT_EQ(FieldWords("WriterContract", "nothing"), "");
}

// Somebody who reads a contract is told what every field is: by its own
// comment, or by its value's.
TEST(ContractWords, CoverEveryRule) {
  for (const Descriptor* message :
       {WriterContract::descriptor(), GatherContract::descriptor(),
        DecodeContract::descriptor(), ReaderSide::descriptor(),
        Arithmetic::descriptor()}) {
    for (int i = 0; i < message->field_count(); ++i) {
      const FieldDescriptor& field = *message->field(i);
      std::string words = FieldWords(message->name(), field.name());
      if (field.enum_type() != nullptr) {
        for (int k = 1; k < field.enum_type()->value_count(); ++k) {
          words += ValueWords(message->name(), field.name(),
                              field.enum_type()->value(k)->name());
        }
      }
      // Names that say all.
      if (field.name() == "denormals" || field.name() == "partials") continue;
      EXPECT_NE(words, "") << field.full_name();
    }
  }
}

}  // namespace
}  // namespace mlafuzz
