// The GPU build of the kernels against the definitions and against the host's.
// Skipped, and says so, where there is no GPU.
#include "kernels/decode/decode_cuda.h"

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/decode/checks.h"
#include "kernels/decode/decode.h"
#include "kernels/decode/test_support.h"

namespace mlafuzz {
namespace {

using test::Answer;
using test::Problem;

// Device copy of host memory, freed with the call.
class DeviceCopies {
 public:
  ~DeviceCopies() {
    for (void* memory : memory_) cudaFree(memory);
  }
  template <class T>
  T* Of(const T* host, std::size_t count) {
    T* device = Room<T>(count);
    if (count > 0) {
      cudaMemcpy(device, host, count * sizeof(T), cudaMemcpyHostToDevice);
    }
    return device;
  }
  template <class T>
  T* Room(std::size_t count) {
    void* device = nullptr;
    EXPECT_EQ(cudaMalloc(&device, count * sizeof(T) + 16), cudaSuccess);
    memory_.push_back(device);
    return static_cast<T*>(device);
  }

 private:
  std::vector<void*> memory_;
};

Answer RunOnGpu(const Problem& problem, const DecodeOptions& options) {
  return test::Run(problem, [&](const DecodeArgs& args, const LaunchContext&) {
    DeviceCopies copies;
    kernels::DecodeParams params = ToParams(args);
    const auto outputs =
        static_cast<std::size_t>(params.queries * params.heads);
    std::uint16_t* const out = params.out;
    float* const lse = params.lse;
    params.cache = copies.Of(params.cache, problem.cache.size());
    params.q = copies.Of(params.q, problem.q.size());
    params.indices = copies.Of(params.indices, problem.indices.size());
    if (params.lengths != nullptr) {
      params.lengths = copies.Of(params.lengths, problem.lengths.size());
    }
    if (params.sinks != nullptr) {
      params.sinks = copies.Of(params.sinks, problem.sinks.size());
    }
    params.out = copies.Of(params.out, outputs * 512);
    params.lse = copies.Of(params.lse, outputs);
    const auto blocks = static_cast<std::size_t>(problem.width / 64 + 1);
    params.partials = copies.Room<float>(outputs * blocks * 512);
    params.partial_lse = copies.Room<float>(outputs * blocks);
    const simt::LaunchResult launch =
        LaunchDecodeOnGpu(params, args.splits, options, nullptr);
    if (!launch.ok()) return CallResult::Error(launch.message);
    if (cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
      return CallResult::Error(cudaGetErrorName(error));
    }
    cudaMemcpy(out, params.out, outputs * 1024, cudaMemcpyDeviceToHost);
    cudaMemcpy(lse, params.lse, outputs * 4, cudaMemcpyDeviceToHost);
    return CallResult::Ok();
  });
}

class DecodeCudaTest : public testing::Test {
 protected:
  void SetUp() override {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
      GTEST_SKIP() << "no GPU here";
    }
  }
};

TEST_F(DecodeCudaTest, AgreesWithTheDefinitionsAndTheHost) {
  const DecodeOptions variants[] = {
      {},
      {.bf16_partials = true},
      {.arithmetic = DecodeArithmetic::kE4m3},
      {.arithmetic = DecodeArithmetic::kE4m3TwoPass},
      {.qk_scale = kernels::ScaleRule::kBf16,
       .v_scale = kernels::ScaleRule::kBf16,
       .lse_base_e = true,
       .sink_in_lse = false,
       .empty_plus_inf = true},
  };
  std::int64_t equal = 0;
  std::int64_t words = 0;
  for (const DecodeOptions& options : variants) {
    for (std::int64_t width : {0, 1, 64, 65, 200, 2176}) {
      for (std::int64_t pe_dim : {0, 64}) {
        SCOPED_TRACE(std::to_string(width) + " keys");
        Problem problem = test::RandomProblem(static_cast<std::uint64_t>(width),
                                              2, 3, width, pe_dim);
        for (std::size_t i = 0; i < problem.indices.size(); i += 5) {
          problem.indices[i] = -3;
        }
        problem.sinks = {0.5f, -INFINITY, 40.0f};
        problem.splits = width / 100;
        const Answer answer = RunOnGpu(problem, options);
        test::ExpectNear(answer, test::Reference(problem, options));
        const Answer host = test::Run(problem, options);
        for (std::size_t i = 0; i < host.out.size(); ++i) {
          equal += host.out[i] == answer.out[i];
        }
        words += static_cast<std::int64_t>(host.out.size());
      }
    }
  }
  // They differ in exp2 and log2 alone, by an ulp or two of fp32, which only
  // matters beside a rounding boundary: 5 of 184,320 words on an H200.
  EXPECT_GE(static_cast<double>(equal), 0.999 * static_cast<double>(words));
  RecordProperty("words", std::to_string(words));
  RecordProperty("equal", std::to_string(equal));
}

TEST_F(DecodeCudaTest, NanAndEmptyRows) {
  Problem problem = test::RandomProblem(1, 1, 1, 100);
  for (std::size_t i = 0; i < 100; ++i) {
    if (problem.indices[i] == 0) problem.indices[i] = -1;
  }
  const Answer before = RunOnGpu(problem, DecodeOptions());
  std::fill_n(problem.Row(0), 656, 0xff);
  EXPECT_TRUE(test::Same(RunOnGpu(problem, DecodeOptions()), before));
  problem.Row(problem.indices[3])[5] = 0x7f;
  const Answer nan = RunOnGpu(problem, DecodeOptions());
  EXPECT_TRUE(std::isnan(nan.lse[0]));
  EXPECT_EQ(nan.out, std::vector<std::uint16_t>(512, 0x7fff));
}

}  // namespace
}  // namespace mlafuzz
