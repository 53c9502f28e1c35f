// Targets that misbehave as no kernel should, to test the supervisor. Each
// behaves until a write has more than one token.
//
//   puzzle:hang   EXPECTED: verdict hang
//   puzzle:crash  EXPECTED: verdict crash: it kills itself each time
//   puzzle:killed EXPECTED: nothing found: killed once, and never again
//   puzzle:exit0  EXPECTED: verdict crash: an exit is not a success
//   puzzle:late   EXPECTED: verdict crash: it takes seconds to exit
//   puzzle:oom    EXPECTED: verdict oom
//   puzzle:overflow EXPECTED: of an engine with UBSan, verdict fail in
//                   memory-safety; each run of the case anew, and minimised
//   puzzle:flaky  EXPECTED: verdict flaky: refuses, but only in a process that
//                 has made a hundred calls

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "corpus/contracts.h"
#include "fuzz/testing/overflow_kernel.h"
#include "fuzz/worker/session.h"
#include "kernels/target_set.h"

namespace mlafuzz {
namespace {

[[noreturn]] void Hang() {
  for (volatile bool forever = true; forever;) {
  }
  std::abort();
}

[[noreturn]] void TakeAllMemory() {
  std::vector<std::unique_ptr<char[]>> blocks;
  for (;;) {
    constexpr std::size_t kBlock = 16 << 20;
    blocks.push_back(std::make_unique<char[]>(kBlock));
    std::memset(blocks.back().get(), 1, kBlock);
  }
}

// The first process that comes here dies as if somebody had killed it.
void KillOnce() {
  const char* mark = std::getenv("MLAFUZZ_PUZZLE_MARK");
  if (mark == nullptr) return;
  const int fd = open(mark, O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd >= 0) raise(SIGKILL);
}

class Puzzle : public Target {
 public:
  explicit Puzzle(std::string name)
      : name_(std::move(name)),
        contract_(BuiltinContract()),
        builtin_(*MakeTargetSet("builtin")) {}

  const std::string& name() const override { return name_; }
  const Contract& contract() const override { return contract_; }
  const Arithmetic& arithmetic() const override {
    return Arithmetic::default_instance();
  }
  bool Implements(Kernel kernel) const override {
    return kernel == Kernel::kWriter;
  }
  CallResult Write(const WriteArgs& args,
                   const LaunchContext& context) override {
    ++calls_;
    if (args.slot_mapping->shape[0] > 1) {
      if (name_ == "puzzle:hang") Hang();
      if (name_ == "puzzle:crash") raise(SIGKILL);
      if (name_ == "puzzle:killed") KillOnce();
      if (name_ == "puzzle:exit0") _exit(0);
      if (name_ == "puzzle:late") {
        sleep(5);
        _exit(0);
      }
      if (name_ == "puzzle:oom") TakeAllMemory();
      if (name_ == "puzzle:overflow") {
        LaunchOverflow(static_cast<int>(
            std::min<std::int64_t>(args.slot_mapping->shape[0], 32)));
      }
      if (name_ == "puzzle:flaky" && calls_ > 100) {
        return CallResult::Refused("not today");
      }
    }
    return builtin_.For(Kernel::kWriter)->Write(args, context);
  }

 private:
  std::string name_;
  Contract contract_;
  TargetSet builtin_;
  int calls_ = 0;
};

const bool kAdded = [] {
  AddTargetMaker([](absl::string_view name) -> std::shared_ptr<Target> {
    if (!absl::StartsWith(name, "puzzle:")) return nullptr;
    return std::make_shared<Puzzle>(std::string(name));
  });
  return true;
}();

}  // namespace
}  // namespace mlafuzz
