// The writers' conventions that are not those of PageWriterPolicy: amax floored
// at 1e-4, a true division, NaN kept as 0x7F and left out of amax, every
// negative slot skipped.
#ifndef MLAFUZZ_KERNELS_LAYOUTS_CONVENTIONS_CUH_
#define MLAFUZZ_KERNELS_LAYOUTS_CONVENTIONS_CUH_

#include <cstdint>

#include "kernels/layouts/page_writer.cuh"

namespace mlafuzz::kernels {
inline namespace SIMT_BACKEND {

// FlashInfer's GLM53_NOPE row: scales as computed, not below FLT_MIN.
struct NopeRowPolicy : PageWriterPolicy<NopeRow528> {
  static __device__ float Scale(float amax, bool) {
    return MaxIgnoringNan(0x1p-126f, __fdiv_rn(amax, 448.0f));
  }
};

// vLLM's CUDA insert of DeepSeek-V4: values are multiplied by the scale's
// reciprocal and clamped to +-448, in which NaN ends as -448.
struct Dsv4InsertPolicy : PageWriterPolicy<Dsv4Footer584> {
  template <class Input>
  static __device__ unsigned Code(unsigned bits, float scale) {
    const unsigned code =
        FloatToE4m3(__fmul_rn(Input::ToFloat(bits), __fdiv_rn(1.0f, scale)));
    return code == 0x7fu ? 0xfeu : code;
  }
};

// The reference packers of FlashMLA and FlashInfer: the scale is floored at
// 1e-4; NaN is kept; -1 alone marks a token without a slot.
struct Dsv4PackerPolicy : PageWriterPolicy<Dsv4Footer584> {
  static __device__ bool Skips(const WriterParams&, std::int64_t,
                               std::int64_t slot, unsigned, unsigned) {
    return slot == -1;
  }
  static __device__ float Scale(float amax, bool) {
    return CeilToPow2(MaxIgnoringNan(1e-4f, __fdiv_rn(amax, 448.0f)));
  }
};

// FlashInfer's writer of DSV4_1: a NaN spoils its group of 32, an Inf is the
// code of NaN, of equal slots the lowest row wins, slots outside of the pool
// are passed over.
struct Dsv41Policy : PageWriterPolicy<Dsv41Footer528> {
  static __device__ bool Skips(const WriterParams& params, std::int64_t token,
                               std::int64_t slot, unsigned lane,
                               unsigned mask) {
    if (slot < 0 || slot >= params.pool_slots) return true;
    bool earlier = false;
    for (std::int64_t i = lane; i < token; i += 32) {
      earlier |= params.slots[i] == slot;
    }
    return __any_sync(mask, earlier) != 0;
  }
  static __device__ float Max(float running, float value) {
    if (running != running) return running;
    return value != value || value > running ? value : running;
  }
  static __device__ float Scale(float amax, bool pow2) {
    return amax != amax ? amax : PageWriterPolicy::Scale(amax, pow2);
  }
  static __device__ void StoreScale(std::uint8_t* entry, unsigned tile,
                                    float scale) {
    // A NaN's sign is not stored.
    PageWriterPolicy::StoreScale(entry, tile, fabsf(scale));
  }
};

}  // namespace SIMT_BACKEND
}  // namespace mlafuzz::kernels

#endif  // MLAFUZZ_KERNELS_LAYOUTS_CONVENTIONS_CUH_
