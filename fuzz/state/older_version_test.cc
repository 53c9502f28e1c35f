// A state that the first version wrote loads, and its cases mean the same
// bytes as then.

#include <cstdlib>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "corpus/codec.h"
#include "corpus/image.h"
#include "fuzz/state/records.h"
#include "fuzz/state/state.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

// Of everything that a case stands for.
std::string ImageId(const CaseImage& image) {
  std::string bytes(image.pool.bytes.begin(), image.pool.bytes.end());
  for (const StepImage& step : image.steps) {
    for (const Tensor& tensor : step.tensors) {
      absl::StrAppend(&bytes, "|", TensorName(tensor.id), "|");
      bytes.append(tensor.bytes.begin(), tensor.bytes.end());
    }
  }
  return ContentId(bytes);
}

TEST(OlderVersionTest, TheFirstOneMeansTheSame) {
  const auto state = State::Open(std::getenv("STATE"));
  ASSERT_TRUE(state.ok()) << state.status();
  const auto epoch = NewestEpoch(*state);
  ASSERT_TRUE(epoch.ok()) << epoch.status();
  ASSERT_TRUE(epoch->has_value());
  EXPECT_EQ((*epoch)->id, "e51bf8184b9ab5c4ffca19102a217b15");
  const std::map<std::string, std::string> images = {
      {"63023f25f25a125187790b15047382cd", "494e0cf2813dbf693fc19072c02ce269"},
      {"6503392b8aab20a90a00270d2e435a2e", "8a497ebef3b530d41f0b1f40eb056b12"},
      {"9ab980905f36b4a76bb281dc9b0c8c29", "db3b92346c6b21fbc315bdf2750a70ee"},
      {"b9b0a5d08d5bc0ff802adf651f681397", "417c6d7a30e70d0a0042ceea2ca7c156"},
  };
  ASSERT_EQ((*epoch)->epoch.cases_size(), static_cast<int>(images.size()));
  for (const std::string& id : (*epoch)->epoch.cases()) {
    const auto bytes = state->Get(Kind::kCase, id);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    const auto c = ParseCaseBinary(*bytes);
    ASSERT_TRUE(c.ok()) << c.status();
    EXPECT_EQ(CaseId(*c), id);
    const auto image = BuildImage(*c);
    ASSERT_TRUE(image.ok()) << image.status();
    const auto wanted = images.find(id);
    EXPECT_EQ(ImageId(*image),
              wanted == images.end() ? "unknown" : wanted->second)
        << id;
  }
}

}  // namespace
}  // namespace mlafuzz
