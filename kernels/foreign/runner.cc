// The process in which a foreign target runs: loads one shared library and
// makes the calls that it is asked to. Plain C++ without the project's other
// libraries, so that a target meets nothing of the harness in its process.
// Protocol: kernels/foreign/wire.h.
//
//   runner PATH.so

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "kernels/foreign/library_callee.h"
#include "kernels/foreign/runner_loop.h"

namespace mlafuzz::wire {
namespace {

// Calls work on the arena itself.
class ArenaMemory : public CallMemory {
 public:
  bool Place(const Call& call, std::uint64_t scratch_bytes, char* arena,
             CallTensors& tensors, std::string*) override {
    PlaceScratch(call.schedule, scratch_bytes);
    tensors.views.resize(tensors.wire.size());
    for (std::size_t i = 0; i < tensors.wire.size(); ++i) {
      Tensor& t = tensors.wire[i];
      tensors.views[i] = {
          arena + t.offset, {kDLCPU, 0},      t.ndim, {t.code, t.bits, 1},
          t.shape.data(),   t.strides.data(), 0};
    }
    return true;
  }
  DLTensor* scratch() override { return size_ == 0 ? nullptr : &scratch_; }
  bool Settle(char*, CallTensors&, bool, std::vector<Stray>* strays,
              std::string*) override {
    if (size_ != 0) CheckScratch(strays);
    return true;
  }

 private:
  static constexpr std::int64_t kRedzone = 4096;
  // Of the scratch, what is filled anew for each call.
  static constexpr std::int64_t kPoisoned = std::int64_t{1} << 20;

  // Whatever was there before, a call must not rely on it.
  void PlaceScratch(std::uint64_t schedule, std::uint64_t scratch_bytes) {
    if (scratch_bytes == 0) return;
    if (size_ == 0) {
      size_ = static_cast<std::int64_t>(scratch_bytes);
      bytes_.resize(scratch_bytes + 2 * kRedzone + kAlignment);
      const auto at = reinterpret_cast<std::uintptr_t>(bytes_.data());
      begin_ = bytes_.data() + kRedzone + (0 - at) % kAlignment;
      FillRedzones();
      scratch_ = {begin_, {kDLCPU, 0}, 1, {kDLUInt, 8, 1}, &size_, &stride_, 0};
    }
    // Not zero, and not the same each time.
    std::memset(begin_, static_cast<int>(0x5a ^ (schedule * 37 & 0xff)) | 1,
                static_cast<std::size_t>(std::min(size_, kPoisoned)));
  }
  static char Pattern(std::int64_t at) {
    return static_cast<char>(0xc3 ^ (at * 29));
  }
  void FillRedzones() {
    for (std::int64_t i = 1; i <= kRedzone; ++i) {
      begin_[-i] = Pattern(-i);
      begin_[size_ + i - 1] = Pattern(i);
    }
  }
  void CheckScratch(std::vector<Stray>* strays) {
    Stray stray;
    stray.id = kScratch;
    const auto look = [&](std::int64_t at, char pattern) {
      if (begin_[at] == pattern) return;
      if (stray.count++ == 0) stray.first = at;
      stray.last = at;
    };
    for (std::int64_t i = kRedzone; i >= 1; --i) look(-i, Pattern(-i));
    for (std::int64_t i = 1; i <= kRedzone; ++i) {
      look(size_ + i - 1, Pattern(i));
    }
    if (stray.count == 0) return;
    strays->push_back(stray);
    FillRedzones();
  }

  static constexpr std::uintptr_t kAlignment = 256;
  std::vector<char> bytes_;
  char* begin_ = nullptr;
  std::int64_t size_ = 0;
  std::int64_t stride_ = 1;
  DLTensor scratch_ = {};
};

}  // namespace
}  // namespace mlafuzz::wire

int main(int argc, char** argv) {
  using namespace mlafuzz::wire;
  if (argc != 2 || !Enter()) {
    std::fprintf(stderr, "usage: runner PATH.so (started by mlafuzz)\n");
    return 2;
  }
  std::string why;
  // For what constructors do; and again later, for they may install others.
  InstallFaultHandlers();
  const std::unique_ptr<Callee> library = LoadLibrary(argv[1], &why);
  if (library == nullptr) {
    SayLoadFailed(why);
    return 0;
  }
  static ArenaMemory memory;
  ServeCalls(*library, memory);
}
