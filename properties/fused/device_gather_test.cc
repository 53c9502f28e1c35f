#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "corpus/contracts.h"
#include "corpus/image.h"
#include "gtest/gtest.h"
#include "oracle/device/gather_rows.h"
#include "oracle/device/gather_rules.h"
#include "oracle/expect.h"
#include "properties/fused/random_rules.h"
#include "properties/generate.h"

namespace mlafuzz {
namespace {

// A pool and the outputs of a step end to end in one memory, as on a device.
struct Memory {
  Memory(const PoolImage& pool, const StepImage& step) : bytes(pool.bytes) {
    for (const Tensor& tensor : step.tensors) {
      begins.push_back(bytes.size());
      bytes.insert(bytes.end(), tensor.bytes.begin(), tensor.bytes.end());
    }
  }
  std::vector<std::uint8_t> Of(const StepImage& step, std::size_t t) const {
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(begins[t]);
    return {begin,
            begin + static_cast<std::ptrdiff_t>(step.tensors[t].bytes.size())};
  }
  void Place(const StepImage& step, TensorId id, std::uint64_t* begin,
             std::uint64_t* row_bytes) const {
    const Tensor* const tensor = step.Find(id);
    if (tensor == nullptr) return;
    *begin = begins[static_cast<std::size_t>(tensor - step.tensors.data())];
    *row_bytes = static_cast<std::uint64_t>(tensor->strides[0]) *
                 static_cast<std::uint64_t>(DTypeSize(tensor->dtype));
  }

  std::vector<std::uint8_t> bytes;
  std::vector<std::uint64_t> begins;
};

// Every rule, drawn with others, in every layout: byte for byte what Expect()
// says, and left to it where something else decides.
TEST(DeviceGather, IsWhatExpectSays) {
  std::map<std::string, int> compared;  // by rule
  std::map<Layout, int> of_layout;
  int open = 0;
  for (int l = 1; l < Layout_descriptor()->value_count(); ++l) {
    const auto layout =
        static_cast<Layout>(Layout_descriptor()->value(l)->number());
    Choices choices(static_cast<std::uint64_t>(100 + l));
    for (int i = 0; i < 500; ++i) {
      Contract contract = BuiltinContract(layout);
      GatherContract& rules_of = *contract.mutable_gather();
      const std::vector<std::string> drawn = DrawRules(choices, rules_of);
      GeneratorOptions options = {.writer = false,
                                  .convert = false,
                                  .layout = layout,
                                  .rows = rules_of.rows()};
      const Case c = GenerateCase(choices, options);
      const auto image = BuildImage(c);
      ASSERT_TRUE(image.ok()) << image.status();
      for (std::size_t number = 0; number < image->steps.size(); ++number) {
        const StepImage& step = image->steps[number];
        if (step.is_patch || step.kernel != Kernel::kGather) continue;
        const Expectation expected = Expect(
            contract, *image, static_cast<int>(number), image->pool.bytes);
        const auto rules = oracle::GatherRulesOf(rules_of, image->pool, step);
        if (!rules.has_value()) continue;
        Memory memory(image->pool, step);
        oracle::GatherCall call = {};
        call.rules = *rules;
        memory.Place(step, TensorId::kDst, &call.dst, &call.dst_row_bytes);
        memory.Place(step, TensorId::kDstScales, &call.scales,
                     &call.scales_row_bytes);
        std::vector<oracle::GatherSource> rows(
            static_cast<std::size_t>(step.Find(TensorId::kDst)->shape[0]));
        const auto written = oracle::PlanGather(rules_of, *rules, image->pool,
                                                step, 0, absl::MakeSpan(rows));
        if (!expected.unsettled.empty() || expected.outside_writes != 0) {
          ASSERT_FALSE(written.has_value()) << c.DebugString();
        }
        if (!written.has_value()) {
          ++open;
          continue;
        }
        ASSERT_EQ(*written, expected.written)
            << rules_of.DebugString() << c.DebugString();
        for (std::size_t row = 0; row < rows.size(); ++row) {
          if (rows[row].at == oracle::GatherSource::kNone) continue;
          for (int part = 0; part < oracle::GatherParts(*rules); ++part) {
            oracle::GatherPart(call, memory.bytes.data(), row, rows[row], part);
          }
        }
        for (std::size_t t = 0; t < step.tensors.size(); ++t) {
          ASSERT_EQ(memory.Of(step, t), step.tensors[t].output
                                            ? expected.outputs[t]
                                            : step.tensors[t].bytes)
              << Layout_Name(layout) << " " << TensorName(step.tensors[t].id)
              << "\n"
              << rules_of.DebugString() << c.DebugString();
        }
        if (*written == 0) continue;
        for (const std::string& rule : drawn) ++compared[rule];
        ++of_layout[layout];
      }
    }
    EXPECT_GT(of_layout[layout], 100) << Layout_Name(layout);
  }
  EXPECT_GT(open, 10);
  for (const std::string& rule : AllRules(GatherContract())) {
    // Lies across rows of codes and scales: Expect() alone knows.
    if (rule == "scale_rows=SCALE_ROWS_BY_CODE_STRIDE") continue;
    EXPECT_GT(compared[rule], 30) << rule;
  }
}

}  // namespace
}  // namespace mlafuzz
