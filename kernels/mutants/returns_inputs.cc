// Copies bytes of the input to where the output belongs: something is written,
// it depends on the input, and it is nonsense.
#include <algorithm>

#include "kernels/decode/checks.h"
#include "kernels/kernel_calls.h"
#include "kernels/mutants/mutants.h"

namespace mlafuzz {
namespace {

// The first 656 bytes of each kv_c row into its slot.
__global__ void CopyRawRows(kernels::WriterParams params) {
  const std::int64_t slot = params.slots[blockIdx.x];
  if (slot < 0) return;
  const unsigned* from = reinterpret_cast<const unsigned*>(
      params.kv_c + blockIdx.x * params.kv_c_row_stride);
  unsigned* to = reinterpret_cast<unsigned*>(kernels::SlotRow(params, slot));
  for (unsigned i = threadIdx.x; i < kernels::kRowBytes / 4; i += blockDim.x) {
    to[i] = from[i];
  }
}

// Each row's 656 bytes to the front of its workspace row.
__global__ void CopyCacheBytes(kernels::GatherParams params) {
  const kernels::GatherTask task =
      kernels::FindTask<kernels::GatherPolicy>(params, blockIdx.x);
  for (std::int64_t i = 0; i < task.count; ++i) {
    const unsigned* from = reinterpret_cast<const unsigned*>(
        params.cache + task.page * params.page_stride +
        (task.offset + i) * params.row_stride);
    unsigned* to = reinterpret_cast<unsigned*>(
        params.dst + (task.first + i) * params.dst_row_stride);
    for (unsigned k = threadIdx.x; k < kernels::kRowBytes / 4;
         k += blockDim.x) {
      to[k] = from[k];
    }
  }
}

// The token numbers as slots.
__global__ void CopyIndices(kernels::ConvertParams params) {
  for (std::int64_t i = threadIdx.x; i < params.width; i += blockDim.x) {
    params.out[blockIdx.x * params.out_row_stride + i] =
        params.tokens[blockIdx.x * params.tokens_row_stride + i];
  }
}

// The latent part of each query to its output, its first four bytes to the LSE.
__global__ void CopyQueries(kernels::DecodeParams params) {
  const std::int64_t query = blockIdx.x / params.heads;
  const std::int64_t head = blockIdx.x % params.heads;
  const std::uint16_t* from =
      params.q + query * params.q_query_stride + head * params.q_head_stride;
  std::uint16_t* to = params.out + query * params.out_query_stride +
                      head * params.out_head_stride;
  for (int i = static_cast<int>(threadIdx.x); i < kernels::kLatent;
       i += static_cast<int>(blockDim.x)) {
    to[i] = from[i];
  }
  if (threadIdx.x != 0) return;
  const unsigned first = from[0] | static_cast<unsigned>(from[1]) << 16;
  params.lse[query * params.lse_query_stride + head * params.lse_head_stride] =
      __uint_as_float(first);
}

simt::Config GridOf(std::int64_t blocks, const LaunchContext& context) {
  simt::Config config;
  config.grid = dim3(static_cast<unsigned>(blocks));
  config.block = dim3(32);
  config.stream = StreamOf(context);
  config.schedule = {context.schedule};
  return config;
}

CallResult CopyingWrite(const WriteArgs& args, const LaunchContext& context) {
  if (std::string why = WhyRefuseWrite(args); !why.empty()) {
    return CallResult::Refused(std::move(why));
  }
  const kernels::WriterParams params = ToParams(args);
  if (params.tokens == 0) return CallResult::Ok();
  return ToCallResult(
      simt::launch(GridOf(params.tokens, context), CopyRawRows, params));
}

CallResult CopyingGather(const GatherArgs& args, const LaunchContext& context) {
  if (std::string why = WhyRefuseGather(args); !why.empty()) {
    return CallResult::Refused(std::move(why));
  }
  const kernels::GatherParams params = ToParams(args);
  if (params.dst_rows == 0 || params.requests == 0) return CallResult::Ok();
  return ToCallResult(
      simt::launch(GridOf(kernels::GatherPolicy::Blocks(params), context),
                   CopyCacheBytes, params));
}

CallResult CopyingConvert(const ConvertArgs& args,
                          const LaunchContext& context) {
  if (std::string why = WhyRefuseConvert(args, kBuiltinWidthMultiple);
      !why.empty()) {
    return CallResult::Refused(std::move(why));
  }
  const kernels::ConvertParams params = ToParams(args);
  if (params.rows == 0) return CallResult::Ok();
  return ToCallResult(
      simt::launch(GridOf(params.rows, context), CopyIndices, params));
}

CallResult CopyingDecode(const DecodeArgs& args, const LaunchContext& context) {
  if (std::string why = WhyRefuseDecode(args); !why.empty()) {
    return CallResult::Refused(std::move(why));
  }
  const kernels::DecodeParams params = ToParams(args);
  if (params.queries == 0) return CallResult::Ok();
  return ToCallResult(simt::launch(
      GridOf(params.queries * params.heads, context), CopyQueries, params));
}

}  // namespace

CompiledTarget ReturnsInputs() {
  return {"mutant:returns-inputs",
          "all kernels copy bytes of their input to the output",
          {.write = CopyingWrite,
           .gather = CopyingGather,
           .convert = CopyingConvert,
           .decode = CopyingDecode}};
}

}  // namespace mlafuzz
