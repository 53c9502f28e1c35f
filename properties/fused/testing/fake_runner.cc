#include "properties/fused/testing/fake_runner.h"

#include <stdlib.h>
#include <sys/mman.h>

#include <utility>

#include "gtest/gtest.h"
#include "kernels/call_args.h"
#include "properties/checker.h"

namespace mlafuzz {
namespace {

constexpr std::uint64_t kLent = std::uint64_t{64} << 20;

}  // namespace

FakeRunner::~FakeRunner() {
  if (memory_ != nullptr) munmap(memory_, bytes_);
}

absl::Status FakeRunner::Run(const TargetSet& targets,
                             absl::Span<const CaseImage> images,
                             std::vector<Observation>* observations) {
  return host_->Run(targets, images, observations);
}

const std::array<std::uint64_t, kAllKernels.size()>& FakeRunner::executions()
    const {
  return host_->executions();
}

void FakeRunner::Lend(const LentMemory& memory, int /*device*/) {
  bytes_ = memory.bytes();
  memory_ =
      static_cast<std::uint8_t*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                                      MAP_SHARED, memory.descriptor(), 0));
  ASSERT_NE(memory_, MAP_FAILED);
}

absl::Status FakeRunner::CallLent(const TargetSet& targets,
                                  absl::Span<const LentCall> calls,
                                  std::vector<CallEnd>* ends) {
  ++exchanges;
  ends->clear();
  for (const LentCall& call : calls) {
    const StepImage& step = call.image->steps[call.step];
    std::vector<std::uint8_t*> data;
    for (const LentCall::Place& place : call.tensors) {
      data.push_back(memory_ + place.begin);
    }
    const CallResult result =
        CallArgs(call.image->pool,
                 memory_ + call.pool.begin + call.image->pool.offset, step,
                 data, {kDLCPU, 0})
            .Call(targets.For(step.kernel), {});
    ends->push_back({result.status, result.message});
    if (after != nullptr) after(memory_, call);
  }
  if (end != nullptr) end(calls, memory_, ends);
  return absl::OkStatus();
}

LentOnHost::LentOnHost(const std::string& name) {
  auto set = MakeTargetSet(name);
  EXPECT_TRUE(set.ok()) << set.status();
  targets = *std::move(set);
  setenv("MLAFUZZ_CUDA_LENDER", "properties/fused/testing/host_lender.so", 1);
  auto memory = LentMemory::Create(0, kLent);
  EXPECT_TRUE(memory.ok()) << memory.status();
  runner.Lend(**memory, 0);
  calls = std::make_unique<LentCalls>(targets, runner, *std::move(memory));
  // Small and large ones both ways.
  calls->FillFrom(std::uint64_t{64} << 10);
}

Contracts LentOnHost::contracts() {
  return CaseChecker(targets, runner).contracts();
}

}  // namespace mlafuzz
