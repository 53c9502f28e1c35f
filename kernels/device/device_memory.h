#ifndef MLAFUZZ_KERNELS_DEVICE_DEVICE_MEMORY_H_
#define MLAFUZZ_KERNELS_DEVICE_DEVICE_MEMORY_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/device/copy_rates.h"
#include "kernels/device/guarded_slots.h"
#include "kernels/device/shared_arena.h"
#include "kernels/device/transfer.h"
#include "kernels/foreign/call_memory.h"

namespace mlafuzz::device {

// Calls on a GPU. How one goes:
//
//   1. Each tensor's buffer gets a slot of its own, next to one end: which one
//      follows from the case's schedule, so that an access before it and one
//      behind it are each an illegal address in some runs. In half of them it
//      is flush with that end, as far as its alignment allows (at most 16
//      bytes, what 128-bit loads ask); in the others, and always where a host
//      check may refuse it, it is no better aligned than the case promises.
//      Slack holds a pattern.
//   2. Bytes travel through pinned memory, on the call's stream; for one
//      schedule in eight that stream is busy before, so that kernels which run
//      on another one see old bytes.
//   3. After the call buffers are copied back on its stream and the slack is
//      compared, that far from buffers at the end of a batch. Then the whole
//      device is waited for: what fails late, or on another stream, fails in
//      this call.
class DeviceMemory : public wire::CallMemory {
 public:
  enum class Side { kBySchedule, kBefore, kBehind };  // guard next to a buffer

  // On GPU number `device`, which is then current. Null, and why, if there is
  // none, or it does not pass a known-answer test.
  static std::unique_ptr<DeviceMemory> Create(int device, Side side,
                                              std::string* why);

  // Takes the memory that the harness lends; calls with launch kLent have their
  // tensors there, and of 1 to 3 above only the scratch's slack and the wait
  // are left. False, and why, if it cannot.
  bool TakeLent(int fd, std::uint64_t bytes, std::string* why);

  std::string device() const override { return device_; }
  bool TakesLentMemory() const override { return lent_ != nullptr; }
  bool Place(const wire::Call& call, std::uint64_t scratch_bytes, char* arena,
             wire::CallTensors& tensors, std::string* why) override;
  bool Lost(std::string* why) override {
    return Failed(cudaDeviceSynchronize(), why);
  }
  void* stream() override { return stream_; }
  DLTensor* scratch() override {
    return scratch_size_ == 0 ? nullptr : &scratch_;
  }
  void* TakeScratch(std::size_t bytes) override;
  bool BeginCapture(std::string* why) override;
  bool Replay(std::string* why) override;
  bool Settle(char* arena, wire::CallTensors& tensors, bool last,
              std::vector<wire::Stray>* strays, std::string* why) override;
  void Tell(volatile wire::Control* control) override;

 private:
  // The last one.
  static constexpr int kScratch = kMostBuffers - 1;

  DeviceMemory() = default;
  bool ViewLent(wire::CallTensors& tensors, std::string* why);
  bool PassesProbe(std::string* why);
  bool Prepare(int slot, std::uint64_t bytes, std::string* why);
  bool ReservePinned(std::size_t bytes, std::string* why);
  char* Address(int slot, std::uint64_t begin, std::uint64_t size, bool behind,
                bool flush);
  bool Failed(cudaError_t error, std::string* why);
  void ReadDamage(const wire::CallTensors& tensors,
                  std::vector<wire::Stray>* strays);

  bool PrepareTimes(std::string* why);
  void Mark(int event);

  std::string device_;
  int number_ = 0;
  // Null unless stage times are asked for: before and after what comes in,
  // before and after what goes out.
  cudaEvent_t events_[4] = {};
  std::uint64_t host_in_ = 0;  // nanoseconds, of the placed call
  std::uint64_t host_out_ = 0;
  CopyRates rates_;
  Side side_ = Side::kBySchedule;
  std::unique_ptr<GuardedSlots> slots_;
  std::unique_ptr<SharedArena> lent_;
  cudaStream_t stream_ = nullptr;
  char* pinned_ = nullptr;
  std::size_t pinned_size_ = 0;
  Damage* damage_ = nullptr;  // device memory, kMostBuffers
  int* damaged_ = nullptr;    // pinned
  // Of the placed call; behind its tensors comes the scratch, if it has any.
  Placements placements_;
  // By slot: what may not hold the pattern.
  std::vector<char*> stale_begin_;
  std::vector<char*> stale_end_;
  int tensors_ = 0;  // of the placed call, in slots
  std::uint64_t scratch_taken_ = 0;
  std::uint64_t scratch_size_ = 0;
  std::int64_t scratch_shape_ = 0;
  std::int64_t scratch_stride_ = 1;
  DLTensor scratch_ = {};
};

}  // namespace mlafuzz::device

#endif  // MLAFUZZ_KERNELS_DEVICE_DEVICE_MEMORY_H_
