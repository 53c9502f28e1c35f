// What a process of its own costs: the same kernel, once called in this process
// and once through a runner, in batches of 1 and of 256 cases.
//
//   bazel run //kernels/foreign:foreign_bench

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "corpus/case.pb.h"
#include "corpus/contracts.h"
#include "kernels/foreign/executor.h"
#include "kernels/foreign/foreign_target.h"
#include "kernels/target.h"
#include "kernels/test_support.h"

namespace mlafuzz {
namespace {

// The library's writer, called in this process.
class InProcess : public Target {
 public:
  explicit InProcess(const MlafuzzTarget* target) : target_(target) {}
  const std::string& name() const override { return name_; }
  const Contract& contract() const override { return contract_; }
  const Arithmetic& arithmetic() const override {
    return contract_.arithmetic();
  }
  bool Implements(Kernel kernel) const override {
    return kernel == Kernel::kWriter;
  }
  CallResult Write(const WriteArgs& args, const LaunchContext&) override {
    char message[256] = "";
    MlafuzzCall call = {};
    call.struct_size = sizeof call;
    call.layout = MLAFUZZ_LAYOUT_FP8_DS_MLA;
    call.message = message;
    call.message_size = sizeof message;
    MlafuzzWrite write = {};
    write.struct_size = sizeof write;
    write.kv_c = const_cast<DLTensor*>(args.kv_c);
    write.k_pe = const_cast<DLTensor*>(args.k_pe);
    write.slot_mapping = const_cast<DLTensor*>(args.slot_mapping);
    write.cache = const_cast<DLTensor*>(args.cache);
    return target_->write(&call, &write) == MLAFUZZ_OK
               ? CallResult::Ok()
               : CallResult::Error(message);
  }

 private:
  const MlafuzzTarget* target_;
  std::string name_ = "in this process";
  Contract contract_ = BuiltinContract();
};

// Nanoseconds a case: the best of several rounds, so that a neighbour's noise
// does not count.
double Measure(Executor& executor, const TargetSet& targets,
               const std::vector<CaseImage>& images, std::size_t batch) {
  using Clock = std::chrono::steady_clock;
  constexpr int kRounds = 15;
  double best = 1e18;
  std::vector<Observation> seen;
  for (int round = 0; round < kRounds; ++round) {
    const auto start = Clock::now();
    for (std::size_t at = 0; at + batch <= images.size(); at += batch) {
      if (!executor.Run(targets, {&images[at], batch}, &seen).ok()) return 0;
    }
    const double seconds =
        std::chrono::duration<double>(Clock::now() - start).count();
    const std::size_t whole = images.size() / batch;
    const auto cases = static_cast<double>(whole * batch);
    best = std::min(best, seconds / cases * 1e9);
  }
  return best;
}

TargetSet All(const std::shared_ptr<Target>& target) {
  TargetSet set;
  set.targets.fill(target);
  return set;
}

int Main(const char* library) {
  void* handle = dlopen(library, RTLD_NOW);
  if (handle == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  const auto get = reinterpret_cast<const MlafuzzTarget* (*)()>(
      dlsym(handle, "mlafuzz_target"));
  auto foreign = ForeignTarget::Load(library, {});
  if (get == nullptr || !foreign.ok()) {
    std::fprintf(stderr, "%s: cannot be attached\n", library);
    return 2;
  }
  const TargetSet here = All(std::make_shared<InProcess>(get()));
  const TargetSet there = All(*foreign);
  const std::unique_ptr<Executor> host = MakeHostExecutor();
  const std::unique_ptr<ForeignExecutor> processes = MakeForeignExecutor();
  std::printf("%-22s %6s %14s %14s %6s\n", "case", "batch", "here ns/case",
              "runner ns/case", "ratio");
  for (const int tokens : {1, 16, 64}) {
    const CaseImage image = test::Image(test::ParseCase(
        "pool { page_size: 64 pages: 1 } steps { write { pe_dim: 64 "
        "kv_c { pattern: NORMAL_RANGE } slots { count: " +
        std::to_string(tokens) + " } } }"));
    const std::vector<CaseImage> images(tokens == 1 ? 4096 : 1024, image);
    for (const std::size_t batch : {1, 256}) {
      const double in = Measure(*host, here, images, batch);
      const double out = Measure(*processes, there, images, batch);
      std::printf("%-2d token writer %6s %6zu %14.0f %14.0f %6.2f\n", tokens,
                  "", batch, in, out, out / in);
    }
  }
  return 0;
}

}  // namespace
}  // namespace mlafuzz

int main(int argc, char** argv) {
  return mlafuzz::Main(argc > 1 ? argv[1] : "examples/libwriter.so");
}
