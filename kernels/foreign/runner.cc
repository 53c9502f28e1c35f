// The process in which a foreign target runs: loads one shared library and
// makes the calls that it is asked to. Plain C++ without the project's other
// libraries, so that a target meets nothing of the harness in its process.
// Protocol: kernels/foreign/wire.h.
//
//   runner PATH.so

#include <cstdio>
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
  bool Place(const Call&, std::uint64_t scratch_bytes, char* arena,
             CallTensors& tensors, std::string*) override {
    bytes_.resize(scratch_bytes);
    size_ = static_cast<std::int64_t>(scratch_bytes);
    scratch_ = {bytes_.data(), {kDLCPU, 0}, 1, {kDLUInt, 8, 1},
                &size_,        &stride_,    0};
    tensors.views.resize(tensors.wire.size());
    for (std::size_t i = 0; i < tensors.wire.size(); ++i) {
      Tensor& t = tensors.wire[i];
      tensors.views[i] = {
          arena + t.offset, {kDLCPU, 0},      t.ndim, {t.code, t.bits, 1},
          t.shape.data(),   t.strides.data(), 0};
    }
    return true;
  }
  DLTensor* scratch() override { return bytes_.empty() ? nullptr : &scratch_; }
  bool Settle(char*, CallTensors&, bool, std::vector<Stray>*,
              std::string*) override {
    return true;
  }

 private:
  std::vector<char> bytes_;
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
