#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "corpus/contracts.h"
#include "corpus/image.h"
#include "gtest/gtest.h"
#include "oracle/device/convert_rows.h"
#include "oracle/device/convert_rules.h"
#include "oracle/expect.h"
#include "properties/fused/random_rules.h"
#include "properties/generate.h"

namespace mlafuzz {
namespace {

// Tensors of a step end to end in one memory, as on a device.
oracle::Int32s Place(const StepImage& step, TensorId id,
                     std::vector<std::uint8_t>& memory) {
  const Tensor* const tensor = step.Find(id);
  if (tensor == nullptr) return {.begin = 0, .count = 0, .step = 0};
  const std::uint64_t begin = memory.size();
  memory.insert(memory.end(), tensor->bytes.begin(), tensor->bytes.end());
  return {.begin = begin,
          .count = static_cast<std::int64_t>(tensor->bytes.size() / 4),
          .step = tensor->strides[0]};
}

// Every rule, drawn with others: byte for byte what Expect() says, and said to
// be unsettled where something else decides.
TEST(DeviceConvert, IsWhatExpectSays) {
  std::map<std::string, int> compared;  // by rule
  int open = 0;
  Choices choices(7);
  for (int i = 0; i < 4000; ++i) {
    Contract contract = BuiltinContract();
    ConvertContract& rules_of = *contract.mutable_convert();
    const std::vector<std::string> drawn = DrawRules(choices, rules_of);
    GeneratorOptions options = {.writer = false, .gather = false};
    options.any_page = choices.OneIn(4);
    options.any_request = choices.OneIn(4);
    const Case c = GenerateCase(choices, options);
    const auto image = BuildImage(c);
    ASSERT_TRUE(image.ok()) << image.status();
    for (std::size_t number = 0; number < image->steps.size(); ++number) {
      const StepImage& step = image->steps[number];
      if (step.is_patch || step.kernel != Kernel::kConvert) continue;
      const auto rules = oracle::ConvertRulesOf(rules_of, image->pool, step);
      if (!rules.has_value()) continue;
      std::vector<std::uint8_t> memory(3, 0);  // addresses of any alignment
      const Tensor& indices = *step.Find(TensorId::kTokenIndices);
      oracle::ConvertCall call = {
          .rules = *rules,
          .width = indices.shape[1],
          .indices = Place(step, TensorId::kTokenIndices, memory),
          .requests = Place(step, TensorId::kRequestIds, memory),
          .table = Place(step, TensorId::kBlockTable, memory),
          .out = Place(step, TensorId::kOut, memory),
          .counts = Place(step, TensorId::kValidCount, memory)};
      std::int64_t unsettled = 0;
      for (std::int64_t row = 0; row < indices.shape[0]; ++row) {
        unsettled += oracle::ConvertRow(call, memory.data(), row);
      }
      const Expectation expected =
          Expect(contract, *image, static_cast<int>(number), image->pool.bytes);
      ASSERT_EQ(unsettled, static_cast<std::int64_t>(expected.unsettled.size()))
          << rules_of.DebugString() << c.DebugString();
      if (unsettled != 0) ++open;
      for (std::size_t t = 0; t < step.tensors.size(); ++t) {
        const Tensor& tensor = step.tensors[t];
        if (!tensor.output) continue;
        const auto begin =
            memory.begin() +
            static_cast<std::ptrdiff_t>(
                (tensor.id == TensorId::kOut ? call.out : call.counts).begin);
        ASSERT_EQ(std::vector<std::uint8_t>(
                      begin,
                      begin + static_cast<std::ptrdiff_t>(tensor.bytes.size())),
                  expected.outputs[t])
            << TensorName(tensor.id) << "\n"
            << rules_of.DebugString() << c.DebugString();
      }
      if (unsettled == 0) {
        ASSERT_EQ(oracle::ConvertWrites(rules_of, image->pool, step),
                  expected.written != 0)
            << rules_of.DebugString() << c.DebugString();
      }
      if (expected.written == 0) continue;
      for (const std::string& rule : drawn) ++compared[rule];
    }
  }
  EXPECT_GT(open, 10);
  for (const std::string& rule : AllRules(ConvertContract())) {
    EXPECT_GT(compared[rule], 30) << rule;
  }
}

}  // namespace
}  // namespace mlafuzz
