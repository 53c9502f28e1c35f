#ifndef MLAFUZZ_PROPERTIES_FUSED_TESTING_FAKE_RUNNER_H_
#define MLAFUZZ_PROPERTIES_FUSED_TESTING_FAKE_RUNNER_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/executor.h"
#include "kernels/foreign/executor.h"
#include "kernels/target_set.h"
#include "oracle/judge.h"
#include "properties/fused/lent_calls.h"

namespace mlafuzz {

// Makes calls in this process, on memory that host_lender.cc lends, as a runner
// would on a GPU.
class FakeRunner : public ForeignExecutor {
 public:
  ~FakeRunner() override;

  absl::Status Run(const TargetSet& targets, absl::Span<const CaseImage> images,
                   std::vector<Observation>* observations) override;
  const std::array<std::uint64_t, kAllKernels.size()>& executions()
      const override;
  RunnerCounts counts() const override { return {}; }
  void Lend(const LentMemory& memory, int device) override;
  absl::Status CallLent(const TargetSet& targets,
                        absl::Span<const LentCall> calls,
                        std::vector<CallEnd>* ends) override;

  // What else happens to the lent memory after a call, and after an exchange.
  std::function<void(std::uint8_t*, const LentCall&)> after;
  std::function<void(absl::Span<const LentCall>, std::uint8_t*,
                     std::vector<CallEnd>*)>
      end;
  int exchanges = 0;

 private:
  std::unique_ptr<Executor> host_ = MakeHostExecutor();
  std::uint8_t* memory_ = nullptr;
  std::uint64_t bytes_ = 0;
};

// The targets of a name, and calls on memory that is lent to them.
struct LentOnHost {
  explicit LentOnHost(const std::string& name);
  Contracts contracts();

  TargetSet targets;
  FakeRunner runner;
  std::unique_ptr<LentCalls> calls;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_FUSED_TESTING_FAKE_RUNNER_H_
