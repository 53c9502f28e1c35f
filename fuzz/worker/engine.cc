// The engine binary: libFuzzer's driver around kernels under test. Started by
// the supervisor with a work file in the environment. Modes that do not fuzz
// are done before libFuzzer's loop begins.

#include "fuzz/worker/engine.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "corpus/codec.h"
#include "fuzz/targets/case_bytes.h"
#include "fuzz/worker/ab_mode.h"
#include "fuzz/worker/bench_mode.h"
#include "fuzz/worker/fuzz_mode.h"
#include "fuzz/worker/infer_mode.h"
#include "fuzz/worker/observe_mode.h"
#include "fuzz/worker/rapidcheck_mode.h"
#include "fuzz/worker/reach_mode.h"
#include "fuzz/worker/run_mode.h"
#include "fuzz/worker/settle_mode.h"
#include "fuzz/worker/status.h"
#include "fuzz/worker/worker.pb.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size,
                                        std::size_t max_size);

namespace mlafuzz {
namespace {

struct Worker {
  WorkRequest request;
  std::unique_ptr<StatusMap> status;
  std::unique_ptr<FuzzMode> fuzz;
};
Worker* worker = nullptr;

// Without a word to exit handlers: nobody needs them, and libFuzzer takes
// exit() inside a target for a bug.
[[noreturn]] void Leave(int code) {
  std::fflush(stdout);
  std::fflush(stderr);
  _exit(code);
}

[[noreturn]] void LeaveOn(const absl::Status& status) {
  if (status.ok()) Leave(kWorkerDone);
  std::fprintf(stderr, "mlafuzz-worker: %s\n",
               std::string(status.message()).c_str());
  Leave(kWorkerUsage);
}

[[noreturn]] void EndFuzzing() {
  worker->fuzz->Finish();
  if (!worker->fuzz->error().ok()) LeaveOn(worker->fuzz->error());
  Leave(kWorkerDone);
}

void Start() {
  const char* path = std::getenv(kWorkVariable);
  if (path == nullptr) {
    LeaveOn(absl::FailedPreconditionError(
        "this binary is the engine of mlafuzz; start `mlafuzz campaign`"));
  }
  // No orphans: dies with the supervisor, which may have died already.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const absl::StatusOr<std::string> bytes = ReadFile(path);
  if (!bytes.ok()) LeaveOn(bytes.status());
  worker = new Worker;
  if (!worker->request.ParseFromString(*bytes)) {
    LeaveOn(absl::InvalidArgumentError(absl::StrCat(path, ": no request")));
  }
  if (getppid() != worker->request.supervisor()) Leave(kWorkerDone);
  auto status = StatusMap::Open(worker->request.status());
  if (!status.ok()) LeaveOn(status.status());
  worker->status = *std::move(status);
}

void Begin() {
  Start();
  const WorkRequest& request = worker->request;
  WorkerStatus& status = **worker->status;
  const auto finish = [&status](const absl::Status& s) {
    if (s.ok()) status.done.store(1, std::memory_order_release);
    LeaveOn(s);
  };
  switch (request.mode()) {
    case WorkRequest::RUN:
      finish(RunCases(request, status));
    case WorkRequest::MINIMIZE:
      finish(MinimizeCase(request, status));
    case WorkRequest::SETTLE:
      finish(SettleCause(request, status));
    case WorkRequest::DIFF:
      finish(DiffCases(request, status));
    case WorkRequest::AB:
      finish(RunAb(request, status));
    case WorkRequest::INFER:
      finish(RunInfer(request, status));
    case WorkRequest::BENCH:
      finish(RunBench(request, status));
    case WorkRequest::OBSERVE:
      finish(ObserveCase(request, status));
    case WorkRequest::REACH:
      finish(MeasureReach(request, status));
    default:
      break;
  }
  auto fuzz = FuzzMode::Create(request, status);
  if (!fuzz.ok()) LeaveOn(fuzz.status());
  worker->fuzz = *std::move(fuzz);
  if (request.mutator() == WorkRequest::RAPIDCHECK) {
    FuzzWithRapidCheck(request.seed(), *worker->fuzz);
    if (!worker->fuzz->error().ok()) LeaveOn(worker->fuzz->error());
    EndFuzzing();
  }
}

Choices ChoicesFor(unsigned seed) {
  return Choices(worker->request.seed() * 0x9e3779b97f4a7c15u + seed);
}

}  // namespace
}  // namespace mlafuzz

using mlafuzz::worker;

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  mlafuzz::Begin();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  // Also before: the engine runs the whole corpus before it mutates.
  if (worker->fuzz->ShouldStop()) mlafuzz::EndFuzzing();
  const bool keep = worker->fuzz->OneInput(mlafuzz::BytesView(data, size));
  if (!worker->fuzz->error().ok()) mlafuzz::LeaveOn(worker->fuzz->error());
  if (worker->fuzz->ShouldStop()) mlafuzz::EndFuzzing();
  // -1: not a case, never a corpus entry. Except for the byte mutator, which
  // has nothing to start from otherwise.
  if (keep || worker->request.mutator() == mlafuzz::WorkRequest::BYTES) {
    return 0;
  }
  return -1;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data,
                                               std::size_t size,
                                               std::size_t max_size,
                                               unsigned seed) {
  if (worker->request.mutator() == mlafuzz::WorkRequest::BYTES) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  return mlafuzz::MutateBytes(data, size, max_size, mlafuzz::ChoicesFor(seed),
                              worker->fuzz->generator());
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(
    const std::uint8_t* data1, std::size_t size1, const std::uint8_t* data2,
    std::size_t size2, std::uint8_t* out, std::size_t max_out_size,
    unsigned seed) {
  // 0: libFuzzer picks another mutation; its own byte mutator crosses over by
  // itself.
  if (worker->request.mutator() == mlafuzz::WorkRequest::BYTES) return 0;
  return mlafuzz::CrossOverBytes(
      mlafuzz::BytesView(data1, size1), mlafuzz::BytesView(data2, size2), out,
      max_out_size, mlafuzz::ChoicesFor(seed), worker->fuzz->generator());
}
