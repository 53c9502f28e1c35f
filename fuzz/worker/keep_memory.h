#ifndef MLAFUZZ_FUZZ_WORKER_KEEP_MEMORY_H_
#define MLAFUZZ_FUZZ_WORKER_KEEP_MEMORY_H_

namespace mlafuzz {

// From now on this process keeps what it frees. Fused calls allocate tens of
// MiB each, which malloc would give back each time, and the kernel zero again,
// page by page: on the machine of docs/performance.md most of a case's time.
void KeepFreedMemory();

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_KEEP_MEMORY_H_
