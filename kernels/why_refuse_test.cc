// Refusals that no case can ask for: callers from outside give any tensors.
#include <array>
#include <functional>

#include "gtest/gtest.h"
#include "kernels/host_checks.h"

namespace mlafuzz {
namespace {

constexpr DLDataType kBf16 = {kDLBfloat, 16, 1};
constexpr DLDataType kF16 = {kDLFloat, 16, 1};
constexpr DLDataType kI32 = {kDLInt, 32, 1};
constexpr DLDataType kI64 = {kDLInt, 64, 1};
constexpr DLDataType kU8 = {kDLUInt, 8, 1};

// A dense tensor on memory that nobody touches.
struct View {
  View(DLDataType type, std::initializer_list<std::int64_t> sizes) {
    tensor = {reinterpret_cast<void*>(0x1000),
              {kDLCPU, 0},
              static_cast<int>(sizes.size()),
              type,
              shape.data(),
              strides.data(),
              0};
    std::copy(sizes.begin(), sizes.end(), shape.begin());
    std::int64_t stride = 1;
    for (int i = tensor.ndim - 1; i >= 0; --i) {
      strides[i] = stride;
      stride *= shape[i];
    }
  }
  View(const View&) = delete;

  DLTensor tensor;
  std::array<std::int64_t, 3> shape{};
  std::array<std::int64_t, 3> strides{};
};

struct ConvertCall {
  View request_ids{kI32, {2}};
  View table{kI32, {3, 4}};
  View tokens{kI32, {2, 128}};
  View out{kI32, {2, 128}};
  View valid_count{kI32, {2}};
  std::int64_t page_size = 64;

  std::string Why(std::int64_t multiple) {
    return WhyRefuseConvert({page_size, &request_ids.tensor, &table.tensor,
                             &tokens.tensor, &out.tensor, &valid_count.tensor},
                            multiple);
  }
};

TEST(WhyRefuse, Convert) {
  EXPECT_EQ(ConvertCall().Why(128), "");
  EXPECT_EQ(ConvertCall().Why(0), "");
  EXPECT_EQ(ConvertCall().Why(96), "width must be a multiple of 96, got 128");
  const auto with = [](std::function<void(ConvertCall&)> change) {
    ConvertCall call;
    change(call);
    return call.Why(1);
  };
  EXPECT_EQ(with([](ConvertCall& c) { c.page_size = 0; }),
            "page size must be at least 1, got 0");
  EXPECT_EQ(with([](ConvertCall& c) { c.out.shape[0] = 3; }),
            "out has 3 rows, token_indices 2");
  EXPECT_EQ(with([](ConvertCall& c) { c.out.shape[1] = 64; }),
            "out is 64 wide, token_indices 128");
  EXPECT_EQ(with([](ConvertCall& c) { c.valid_count.shape[0] = 1; }),
            "valid_count has 1 rows, token_indices 2");
  EXPECT_EQ(with([](ConvertCall& c) { c.tokens.tensor.dtype = kI64; }),
            "token_indices must be i32, got i64");
  EXPECT_EQ(with([](ConvertCall& c) { c.table.tensor.ndim = 1; }),
            "block_table must have 2 dimensions, got 1");
  EXPECT_EQ(with([](ConvertCall& c) { c.tokens.strides[1] = 2; }),
            "token_indices must have stride 1 in its last dimension, got 2");
}

struct WriteCall {
  View kv_c{kBf16, {2, 512}};
  View k_pe{kBf16, {2, 64}};
  View slots{kI64, {2}};
  View cache{kU8, {3, 4, 656}};
  Layout layout = FP8_DS_MLA;

  std::string Why() {
    return WhyRefuseWrite(
        {layout, &kv_c.tensor, &k_pe.tensor, &slots.tensor, &cache.tensor});
  }
};

TEST(WhyRefuse, Write) {
  EXPECT_EQ(WriteCall().Why(), "");
  const auto with = [](std::function<void(WriteCall&)> change) {
    WriteCall call;
    change(call);
    return call.Why();
  };
  EXPECT_EQ(with([](WriteCall& c) { c.layout = LAYOUT_UNSPECIFIED; }),
            "layout must be fp8_ds_mla (1), got 0");
  EXPECT_EQ(with([](WriteCall& c) { c.layout = DSV4_FOOTER_584; }),
            "layout must be fp8_ds_mla (1), got 3 (DSV4_FOOTER_584)");
  EXPECT_EQ(with([](WriteCall& c) { c.k_pe.tensor.dtype = kF16; }),
            "k_pe must be bf16 as kv_c, got f16");
  EXPECT_EQ(with([](WriteCall& c) { c.slots.tensor.dtype = kI32; }),
            "slot_mapping must be i64, got i32");
  EXPECT_EQ(with([](WriteCall& c) { c.cache.tensor.dtype = kI32; }),
            "kv_cache must be u8, got i32");
  EXPECT_EQ(with([](WriteCall& c) { c.k_pe.shape[0] = 1; }),
            "k_pe has 1 rows, slot_mapping 2");
  EXPECT_EQ(with([](WriteCall& c) { c.kv_c.tensor.byte_offset = 2; }),
            "kv_c must be 16-byte aligned, its first row is 2 bytes off");
  // No rope by an empty tensor instead of none.
  EXPECT_EQ(with([](WriteCall& c) { c.k_pe.shape[1] = 0; }), "");
}

TEST(WhyRefuse, GatherWantsSixteenByteRows) {
  View dst{kBf16, {2, 576}};
  View cache{kU8, {3, 4, 656}};
  View table{kI32, {1, 2}};
  View starts{kI32, {1}};
  const GatherArgs args = {FP8_DS_MLA,    &cache.tensor,  &dst.tensor,
                           &table.tensor, &starts.tensor, nullptr,
                           nullptr,       false};
  EXPECT_EQ(WhyRefuseGather(args), "");
  dst.tensor.byte_offset = 8;
  EXPECT_EQ(WhyRefuseGather(args),
            "dst must be 16-byte aligned, its first row is 8 bytes off");
}

}  // namespace
}  // namespace mlafuzz
