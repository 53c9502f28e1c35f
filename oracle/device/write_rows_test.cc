#include "oracle/device/write_rows.h"

#include <cstdint>
#include <vector>

#include "corpus/contracts.h"
#include "corpus/image.h"
#include "gtest/gtest.h"
#include "oracle/device/write_rules.h"
#include "oracle/expect.h"

namespace mlafuzz::oracle {
namespace {

// The pool after a write, by the code that GPUs run, on tensors laid end to
// end.
std::vector<std::uint8_t> PoolByRows(const WriterContract& contract,
                                     const CaseImage& image,
                                     const WriteRules& rules,
                                     const StandingRows& standing) {
  const StepImage& step = image.steps[0];
  const Tensor& kv_c = *step.Find(TensorId::kKvC);
  const Tensor* const k_pe = step.Find(TensorId::kKPe);
  std::vector<std::uint8_t> memory = image.pool.bytes;
  const std::uint64_t latent = memory.size();
  memory.insert(memory.end(), kv_c.bytes.begin(), kv_c.bytes.end());
  const std::uint64_t rope = memory.size();
  if (k_pe != nullptr) {
    memory.insert(memory.end(), k_pe->bytes.begin(), k_pe->bytes.end());
  }
  WriteCall call = {};
  call.rules = rules;
  call.latent = {latent, 2 * static_cast<std::uint64_t>(kv_c.strides[0])};
  if (k_pe != nullptr) {
    call.rope = {rope, 2 * static_cast<std::uint64_t>(k_pe->strides[0])};
  }
  for (const RowWrite& row : standing.rows) {
    const auto token = static_cast<std::uint64_t>(row.token);
    const WriteRow written = {.at = static_cast<std::uint64_t>(row.at),
                              .behind = static_cast<std::uint64_t>(row.behind)};
    for (int tile = 0; tile < rules.tiles; ++tile) {
      WriteTile(call, memory.data(), token, written, tile);
    }
    WriteRest(call, memory.data(), token, written);
  }
  memory.resize(image.pool.bytes.size());
  return memory;
}

Case Writes(Layout layout, Values::Pattern pattern, DType dtype, bool rope,
            std::uint64_t seed) {
  Case c;
  c.mutable_pool()->set_layout(layout);
  c.mutable_pool()->set_page_size(4);
  c.mutable_pool()->set_pages(3);
  c.mutable_pool()->mutable_fill()->set_kind(Fill::RANDOM_BYTES);
  c.mutable_pool()->mutable_fill()->set_seed(seed);
  Write& write = *c.add_steps()->mutable_write();
  for (const int slot : {3, 10, -1, 5, 3, 0, -7}) {
    write.mutable_slots()->add_values(slot);
  }
  write.set_input(dtype);
  if (rope) write.set_pe_dim(64);
  write.mutable_kv_c()->set_pattern(pattern);
  write.mutable_kv_c()->set_seed(seed);
  write.mutable_k_pe()->set_pattern(Values::RANDOM_BITS);
  write.set_kv_c_row_stride(rope ? 0 : 520);
  return c;
}

// Every rule of a tile with every other, in every layout, is what Expect()
// says, byte for byte.
TEST(WriteRows, IsWhatExpectSays) {
  int compared = 0;
  std::uint64_t seed = 1;
  const Contract right = BuiltinContract();
  const auto each = [&](const WriterContract& writer, Layout layout) {
    ++seed;
    constexpr Values::Pattern kPatterns[] = {
        Values::RANDOM_BITS, Values::SPECIALS, Values::FLOOR_EDGE,
        Values::MIDPOINTS,   Values::MIXED,    Values::OCTAVES};
    Contract contract = right;
    *contract.mutable_writer() = writer;
    const Case c =
        Writes(layout, kPatterns[seed % 6], seed / 6 % 2 == 0 ? BF16 : F16,
               layout == FP8_DS_MLA && seed % 5 != 0, seed);
    const auto image = BuildImage(c);
    ASSERT_TRUE(image.ok()) << image.status();
    const auto rules = WriteRulesOf(writer, image->pool, image->steps[0]);
    const auto standing = StandingRowsOf(writer, image->pool, image->steps[0]);
    if (!rules.has_value() || !standing.has_value()) return;
    const Expectation expected = Expect(contract, *image, 0, image->pool.bytes);
    ASSERT_EQ(standing->written, expected.written);
    ASSERT_EQ(PoolByRows(writer, *image, *rules, *standing),
              expected.pool.empty() ? image->pool.bytes : expected.pool)
        << Layout_Name(layout) << "\n"
        << writer.DebugString();
    ++compared;
  };
  const auto set = [](WriterContract& writer, int field, int value) {
    writer.GetReflection()->SetEnumValue(
        &writer, writer.GetDescriptor()->FindFieldByNumber(field), value);
  };
  for (const Layout layout : {FP8_DS_MLA, INDEXER_132, DSV4_FOOTER_584,
                              DSV4_1_FOOTER_528, NOPE_ROW_528}) {
    for (int bits = 0; bits < 2 * 2 * 3 * 2 * 3 * 3 * 2 * 2 * 2; ++bits) {
      WriterContract writer = right.writer();
      int rest = bits;
      const auto next = [&rest](int values) {
        const int value = rest % values + 1;
        rest /= values;
        return value;
      };
      set(writer, WriterContract::kScaleFieldNumber, next(2));
      set(writer, WriterContract::kScaleDivisionFieldNumber, next(2));
      set(writer, WriterContract::kFloorFieldNumber, next(3));
      set(writer, WriterContract::kCodeDivisionFieldNumber, next(2));
      set(writer, WriterContract::kCodeRoundingFieldNumber, next(3));
      set(writer, WriterContract::kNanFieldNumber, next(3));
      set(writer, WriterContract::kInfFieldNumber, next(2));
      set(writer, WriterContract::kNegativeZeroFieldNumber, next(2));
      set(writer, WriterContract::kFp16AmaxFieldNumber, next(2));
      writer.set_duplicates(bits % 2 == 0 ? WriterContract::LAST_WINS
                                          : WriterContract::FIRST_WINS);
      if (bits % 3 == 0) writer.set_floor_bits(0x38d1b717);  // 1e-4
      each(writer, layout);
    }
  }
  EXPECT_GT(compared, 5000);
}

}  // namespace
}  // namespace mlafuzz::oracle
