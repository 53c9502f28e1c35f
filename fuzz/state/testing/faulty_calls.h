#ifndef MLAFUZZ_FUZZ_STATE_TESTING_FAULTY_CALLS_H_
#define MLAFUZZ_FUZZ_STATE_TESTING_FAULTY_CALLS_H_

#include <array>

#include "fuzz/state/file_calls.h"

namespace mlafuzz {

// What befalls a write.
enum class Fault {
  kNoSpace,      // ENOSPC
  kInputOutput,  // EIO
  kReadOnly,     // EROFS
  kCrossDevice,  // EXDEV, of renames
  kShortWrite,   // half of the bytes, then ENOSPC
  kKilled,       // SIGKILL, before the call
  kKilledAfter,  // SIGKILL, after it
};
inline constexpr std::array kAllFaults = {
    Fault::kNoSpace,     Fault::kInputOutput, Fault::kReadOnly,
    Fault::kCrossDevice, Fault::kShortWrite,  Fault::kKilled,
    Fault::kKilledAfter,
};
const char* FaultName(Fault fault);

// The calls of the system, the `at`th of which meets with `fault`; -1: none
// does.
class FaultyCalls : public FileCalls {
 public:
  FaultyCalls(Fault fault, int at) : fault_(fault), at_(at) {}

  int Open(const char* path, int flags, mode_t mode) override;
  ssize_t Write(int fd, const void* data, std::size_t size) override;
  int Sync(int fd) override;
  int Close(int fd) override;
  int Rename(const char* from, const char* to) override;
  int MakeFolder(const char* path, mode_t mode) override;

  int calls() const { return calls_; }
  bool struck() const { return struck_; }

 private:
  // Whether this call fails; errno is then set.
  bool Strikes(bool is_rename = false);
  template <typename Result>
  Result Ended(Result result);

  Fault fault_;
  int at_;
  int calls_ = 0;
  bool struck_ = false;
  bool dies_ = false;
  bool full_ = false;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_STATE_TESTING_FAULTY_CALLS_H_
