#ifndef MLAFUZZ_FUZZ_WORKER_ENGINE_H_
#define MLAFUZZ_FUZZ_WORKER_ENGINE_H_

namespace mlafuzz {

// The environment variable that names a work file (WorkRequest, binary) and
// turns the engine binary into a worker.
inline constexpr char kWorkVariable[] = "MLAFUZZ_WORK";

// Exit codes of a worker, beside those of libFuzzer and of signals.
inline constexpr int kWorkerDone = 0;
// The request cannot be carried out; the reason is on stderr.
inline constexpr int kWorkerUsage = 92;

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_ENGINE_H_
