// With two values a lane a tile of 128 needs 64 lanes, but the exchange that
// finds its maximum stays among 32: each half is quantised by its own maximum,
// and the scale of the first is stored.
//
// Source: vllm-project/vllm-xpu-kernels#520, fixed by #521
// (per_token_group_fp8_quant, group_size / VEC above the sub-group).
#include "properties/ledger/foreign/exports.h"
#include "properties/ledger/foreign/right_writer.h"

namespace {

class HalfGroup : public wild::RightWriter {
 protected:
  void Quantise(const float* x, uint8_t* codes, float* scale) override {
    constexpr int kLanes = 32;
    constexpr int kEach = 2;
    for (int from = 0; from < wild::kTile; from += kLanes * kEach) {
      const float own = Scale(x + from, kLanes * kEach);
      if (from == 0) *scale = own;
      for (int i = from; i < from + kLanes * kEach; ++i) {
        codes[i] = wild::ToE4m3(x[i] / own);
      }
    }
  }
};

}  // namespace

WILD_EXPORT_WRITER(HalfGroup);
