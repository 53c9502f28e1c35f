#include "oracle/layouts/page_write.h"

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "oracle/layouts/vllm_conventions.h"

namespace mlafuzz::oracle {
namespace {

using Bytes = std::vector<std::uint8_t>;

// What vLLM's three inserts of DeepSeek-V4 have in common: NaN passes through a
// clamp.
WriterContract Insert() {
  WriterContract w = VllmConventions(/*pow2=*/true);
  w.set_nan(WriterContract::NAN_TO_MINUS_448);
  return w;
}

// fused_deepseek_v4_qnorm_rope_kv_insert_kernel.cu: times 2^-e; every negative
// slot skipped.
WriterContract CudaInsert() {
  WriterContract w = Insert();
  w.set_code_division(WriterContract::CODE_RECIPROCAL);
  w.set_slots(WriterContract::NEGATIVE_SKIPPED);
  return w;
}

// quantize_and_insert_k_kernel (vllm/models/deepseek_v4/common/ops/
// cache_utils.py): divides; only -1 is skipped. What it makes of NaN is not
// known; no test here sends one.
WriterContract TritonInsert() {
  WriterContract w = Insert();
  w.set_code_division(WriterContract::CODE_DIVIDE);
  w.set_slots(WriterContract::MINUS_ONE_SKIPPED);
  return w;
}

// fused_compress_quant_cache.py: amax times 1/448. The rest is taken to be as
// in the other Triton insert.
WriterContract CompressInsert() {
  WriterContract w = TritonInsert();
  w.set_scale_division(WriterContract::TIMES_RECIPROCAL);
  return w;
}

// The same token in every slot given.
struct Result {
  bool written;
  Bytes pool;
};
Result Write(const WriterContract& contract,
             const std::vector<std::uint16_t>& latent,
             const std::vector<std::int64_t>& slots, std::int64_t page_size,
             std::size_t bytes) {
  Result result = {false, Bytes(bytes, 0xa5)};
  const std::vector<std::uint16_t> rope(64, 0x3f80);
  result.written = WritePages(contract,
                              {.layout = &kFooter584,
                               .page_size = page_size,
                               .page_stride = kFooter584.PageBytes(page_size),
                               .input = DType::BF16,
                               .latent = latent,
                               .stride = 448,
                               .rope = rope,
                               .rope_stride = 0,
                               .tokens = static_cast<int>(slots.size()),
                               .slots = slots},
                              absl::MakeSpan(result.pool));
  return result;
}

// The three differ in their arithmetic, not in a byte: every positive finite
// bf16 amax, with values of the eight octaves below it.
TEST(Insert, TheThreeAgreeOnFiniteValues) {
  std::vector<std::uint16_t> latent;
  for (std::uint32_t amax = 1; amax <= 0x7f7f; ++amax) {
    for (std::uint32_t i = 0; i < 64; ++i) {
      // An eighth of an octave apart; every other one negative.
      const std::uint32_t below = i * 17;
      latent.push_back(static_cast<std::uint16_t>(
          (amax > below ? amax - below : 0) | (i & 1) << 15));
    }
  }
  latent.resize((latent.size() + 447) / 448 * 448);
  std::vector<std::int64_t> slots(latent.size() / 448);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    slots[i] = static_cast<std::int64_t>(i);
  }
  const std::int64_t size = static_cast<std::int64_t>(slots.size());
  const std::size_t bytes =
      static_cast<std::size_t>(kFooter584.PageBytes(size));
  const Result cuda = Write(CudaInsert(), latent, slots, size, bytes);
  EXPECT_TRUE(cuda.written);
  EXPECT_EQ(Write(TritonInsert(), latent, slots, size, bytes).pool, cuda.pool);
  EXPECT_EQ(Write(CompressInsert(), latent, slots, size, bytes).pool,
            cuda.pool);
}

TEST(Insert, SlotsThatAreSkipped) {
  const std::vector<std::uint16_t> latent(2 * 448, 0x3f80);
  const std::size_t bytes = static_cast<std::size_t>(kFooter584.PageBytes(4));
  const Bytes untouched(bytes, 0xa5);
  for (const WriterContract& contract : {CudaInsert(), TritonInsert()}) {
    const Result skipped = Write(contract, latent, {-1, -1}, 4, bytes);
    EXPECT_TRUE(skipped.written);
    EXPECT_EQ(skipped.pool, untouched);
  }
  const Result cuda = Write(CudaInsert(), latent, {-2, -1}, 4, bytes);
  EXPECT_TRUE(cuda.written);
  EXPECT_EQ(cuda.pool, untouched);
  // An address in front of the cache: nothing follows.
  const Result triton = Write(TritonInsert(), latent, {3, -2}, 4, bytes);
  EXPECT_FALSE(triton.written);
  EXPECT_EQ(triton.pool, untouched);
}

TEST(Insert, AllZeroAndTheSmallestScale) {
  const std::vector<std::uint16_t> latent(448, 0);
  const Result zero = Write(CudaInsert(), latent, {1}, 4,
                            static_cast<std::size_t>(kFooter584.PageBytes(4)));
  for (int tile = 0; tile < 7; ++tile) {
    EXPECT_EQ(zero.pool[static_cast<std::size_t>(4 * 576 + 8 + tile)], 105);
  }
  EXPECT_EQ(zero.pool[4 * 576 + 15], 0);     // the entry's padding
  EXPECT_EQ(zero.pool[4 * 576 + 16], 0xa5);  // the next one's scale
  EXPECT_EQ(zero.pool[4 * 576 + 32], 0xa5);  // the page's padding
}

TEST(WritePages, ContractsFromWhichNothingFollows) {
  const std::vector<std::uint16_t> latent(448, 0x3f80);
  const std::size_t bytes = static_cast<std::size_t>(kFooter584.PageBytes(4));
  // An exponent alone cannot hold a scale that is no power of two.
  WriterContract raw = CudaInsert();
  raw.set_scale(WriterContract::RAW);
  EXPECT_FALSE(Write(raw, latent, {0}, 4, bytes).written);
  WriterContract unsaid = CudaInsert();
  unsaid.clear_slots();
  EXPECT_FALSE(Write(unsaid, latent, {0}, 4, bytes).written);
}

// A pool that holds no whole page has no slot.
TEST(WritePages, APoolShorterThanAPage) {
  const std::vector<std::uint16_t> latent(448, 0x3f80);
  const std::int64_t page = kFooter584.PageBytes(4);
  for (const std::int64_t bytes :
       {std::int64_t{0}, std::int64_t{100}, page - 1}) {
    EXPECT_FALSE(
        Write(CudaInsert(), latent, {0}, 4, static_cast<std::size_t>(bytes))
            .written)
        << bytes;
  }
  EXPECT_TRUE(
      Write(CudaInsert(), latent, {0}, 4, static_cast<std::size_t>(page))
          .written);
  EXPECT_FALSE(Write(CudaInsert(), latent, {4}, 4,
                     static_cast<std::size_t>(2 * page - 1))
                   .written);
}

}  // namespace
}  // namespace mlafuzz::oracle
