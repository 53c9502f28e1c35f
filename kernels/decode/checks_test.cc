#include "kernels/decode/checks.h"

#include <functional>
#include <string>

#include "gtest/gtest.h"
#include "kernels/decode/decode.h"

namespace mlafuzz {
namespace {

// A call whose tensors' shapes can be bent. None is read: the memory is null.
struct Call {
  struct Bent {
    std::int64_t shape[3];
    std::int64_t strides[3];
    DLTensor tensor;
    Bent(DLDataType type, int ndim, std::int64_t a, std::int64_t b = 1,
         std::int64_t c = 1)
        : shape{a, b, c},
          strides{b * c, c, 1},
          tensor{nullptr, {kDLCPU, 0}, ndim, type, shape, strides, 0} {
      if (ndim == 1) strides[0] = 1;
      if (ndim == 2) strides[0] = b, strides[1] = 1;
    }
    Bent(const Bent&) = delete;
  };
  Bent cache{{kDLUInt, 8, 1}, 3, 2, 4, 656};
  Bent q{{kDLBfloat, 16, 1}, 3, 2, 3, 576};
  Bent indices{{kDLInt, 32, 1}, 2, 2, 64};
  Bent lengths{{kDLInt, 32, 1}, 1, 2};
  Bent sinks{{kDLFloat, 32, 1}, 1, 3};
  Bent out{{kDLBfloat, 16, 1}, 3, 2, 3, 512};
  Bent lse{{kDLFloat, 32, 1}, 2, 2, 3};
  DecodeArgs args = {FP8_DS_MLA,
                     &cache.tensor,
                     &q.tensor,
                     &indices.tensor,
                     &lengths.tensor,
                     &sinks.tensor,
                     &out.tensor,
                     &lse.tensor,
                     0.1f,
                     0,
                     0,
                     1};
};

std::string Refusal(const std::function<void(Call&)>& bend) {
  Call call;
  bend(call);
  const std::string why = WhyRefuseDecode(call.args);
  if (!why.empty()) {
    const CallResult result = RunDecode(call.args, {}, {});
    EXPECT_EQ(result.status, CallStatus::kRefused);
    EXPECT_EQ(result.message, why);
  }
  return why;
}

TEST(WhyRefuseDecode, TakesWhatIsRight) {
  EXPECT_EQ(Refusal([](Call&) {}), "");
  EXPECT_EQ(Refusal([](Call& c) {
              c.args.lengths = nullptr;
              c.args.sinks = nullptr;
              c.q.shape[2] = 512;
              c.indices.shape[1] = 0;
            }),
            "");
  // A stride that nothing uses.
  EXPECT_EQ(Refusal([](Call& c) {
              c.cache.shape[0] = 1;
              c.cache.strides[0] = 1;
            }),
            "");
}

TEST(WhyRefuseDecode, Query) {
  EXPECT_EQ(Refusal([](Call& c) { c.q.shape[2] = 544; }),
            "pe_dim must be 0 or 64, got 32");
  EXPECT_EQ(Refusal([](Call& c) { c.q.shape[2] = 256; }),
            "q must have at least 512 columns, got 256");
  EXPECT_EQ(Refusal([](Call& c) { c.q.shape[1] = 0; }),
            "heads must be 1 to 128, got 0");
  EXPECT_EQ(Refusal([](Call& c) { c.q.shape[1] = 129; }),
            "heads must be 1 to 128, got 129");
  EXPECT_EQ(Refusal([](Call& c) { c.q.tensor.dtype = {kDLFloat, 16, 1}; }),
            "q must be bf16, got f16");
  EXPECT_EQ(Refusal([](Call& c) { c.args.q = nullptr; }), "q is missing");
}

TEST(WhyRefuseDecode, Cache) {
  EXPECT_EQ(Refusal([](Call& c) { c.args.layout = LAYOUT_UNSPECIFIED; }),
            "layout must be fp8_ds_mla (1), got 0");
  EXPECT_EQ(Refusal([](Call& c) { c.cache.shape[2] = 584; }),
            "kv_cache row must be 656 bytes, got 584");
  EXPECT_EQ(Refusal([](Call& c) { c.cache.tensor.byte_offset = 8; }),
            "kv_cache must be 16-byte aligned, its first row is 8 bytes off");
  EXPECT_EQ(Refusal([](Call& c) { c.cache.strides[1] = 664; }),
            "kv_cache row stride must be a multiple of 16 bytes, got 664");
  EXPECT_EQ(Refusal([](Call& c) { c.cache.strides[0] = 4000 + 8; }),
            "kv_cache page stride must be a multiple of 16 bytes, got 4008");
}

TEST(WhyRefuseDecode, ShapesThatDisagree) {
  EXPECT_EQ(Refusal([](Call& c) { c.indices.shape[0] = 3; }),
            "indices has 3 rows, q 2");
  EXPECT_EQ(Refusal([](Call& c) { c.lengths.shape[0] = 1; }),
            "lengths has 1 entries, q 2");
  EXPECT_EQ(Refusal([](Call& c) { c.sinks.shape[0] = 4; }),
            "sinks has 4 entries, q heads 3");
  EXPECT_EQ(Refusal([](Call& c) { c.out.shape[2] = 576; }),
            "out has 576 columns, the latent 512");
  EXPECT_EQ(Refusal([](Call& c) { c.lse.shape[1] = 2; }),
            "lse has 2 heads, q 3");
  EXPECT_EQ(Refusal([](Call& c) { c.args.splits = -1; }),
            "splits must not be negative, got -1");
}

}  // namespace
}  // namespace mlafuzz
