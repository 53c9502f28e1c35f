// A control: the writer with 8 lanes of 16 values for a tile, as another
// fp8_ds_mla writer maps it. Its rows are byte for byte builtin's.
#include "kernels/kernel_calls.h"
#include "kernels/mutants/mutants.h"

namespace mlafuzz {
namespace {

using kernels::WriterParams;
using kernels::WriterPolicy;

// One block a token, 64 lanes: one warp for the latent, one for the tail.
template <class Input>
__global__ void __launch_bounds__(64) WriteRowsBy16(WriterParams params) {
  const std::int64_t token = blockIdx.x;
  const std::int64_t slot = params.slots[token];
  if (WriterPolicy::Skips(slot)) return;
  std::uint8_t* row = kernels::SlotRow(params, slot);
  const unsigned lane = threadIdx.x;
  if (lane >= 32) {
    WriterPolicy::WriteTail(params, token, row, lane - 32);
    return;
  }
  uint4 values[2];
  float amax = 0.0f;
  for (int half = 0; half < 2; ++half) {
    values[half] = reinterpret_cast<const uint4*>(
        params.kv_c + token * params.kv_c_row_stride)[2 * lane + half];
    for (unsigned pair :
         {values[half].x, values[half].y, values[half].z, values[half].w}) {
      amax = kernels::PairMax<WriterPolicy, Input>(amax, pair);
    }
  }
  for (int distance = 4; distance > 0; distance /= 2) {
    amax = kernels::MaxIgnoringNan(
        amax, __shfl_xor_sync(0xffffffffu, amax, distance, 8));
  }
  const float scale =
      WriterPolicy::Scale<WriterPolicy>(amax, params.pow2_scale);
  for (int half = 0; half < 2; ++half) {
    const uint4& v = values[half];
    reinterpret_cast<uint2*>(row)[2 * lane + half] =
        make_uint2(kernels::FourCodes<WriterPolicy, Input>(v.x, v.y, scale),
                   kernels::FourCodes<WriterPolicy, Input>(v.z, v.w, scale));
  }
  if (lane % 8 == 0) {
    reinterpret_cast<float*>(row + kernels::kScaleAt)[lane / 8] = scale;
  }
}

CallResult WriteBy16(const WriteArgs& args, const LaunchContext& context) {
  if (std::string why = WhyRefuseWrite(args); !why.empty()) {
    return CallResult::Refused(std::move(why));
  }
  const WriterParams params = ToParams(args);
  if (params.tokens == 0) return CallResult::Ok();
  simt::Config config;
  config.grid = dim3(static_cast<unsigned>(params.tokens));
  config.block = dim3(64);
  config.stream = StreamOf(context);
  config.schedule = {context.schedule};
  return ToCallResult(
      params.fp16
          ? simt::launch(config, WriteRowsBy16<kernels::Fp16Input>, params)
          : simt::launch(config, WriteRowsBy16<kernels::Bf16Input>, params));
}

}  // namespace

CompiledTarget ThreadMapping() {
  return {"control:thread-mapping",
          "right: the writer with 8 lanes of 16 values for a tile",
          {.write = WriteBy16}};
}

}  // namespace mlafuzz
