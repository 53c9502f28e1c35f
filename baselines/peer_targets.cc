// The writers that are compiled in, for a program in Python (peer_writer.py):
// called in its process, on its memory, as a test in torch calls an operator.
#include <cstring>
#include <map>
#include <string>

#include "corpus/image.h"
#include "dlpack/dlpack.h"
#include "kernels/target_set.h"

namespace mlafuzz {
namespace {

Target* Writer(const std::string& name) {
  static auto* const sets = new std::map<std::string, TargetSet>;
  auto it = sets->find(name);
  if (it == sets->end()) {
    auto set = MakeTargetSet(name);
    if (!set.ok()) return nullptr;
    it = sets->try_emplace(name, *std::move(set)).first;
  }
  return it->second.For(Kernel::kWriter);
}

}  // namespace
}  // namespace mlafuzz

extern "C" {

// Names of targets with a writer of their own, a line each.
__attribute__((visibility("default"))) const char* PeerTargets() {
  static const auto* const names = [] {
    auto* text = new std::string;
    for (const mlafuzz::TargetInfo& info : mlafuzz::AllTargets()) {
      for (const mlafuzz::Kernel kernel : info.replaces) {
        if (kernel == mlafuzz::Kernel::kWriter) *text += info.name + "\n";
      }
    }
    return text;
  }();
  return names->c_str();
}

// Tensors as in kernels/target.h. 0: it was done.
__attribute__((visibility("default"))) int PeerWrite(
    const char* target, const DLTensor* kv_c, const DLTensor* k_pe,
    const DLTensor* slot_mapping, const DLTensor* cache) {
  mlafuzz::Target* const writer = mlafuzz::Writer(target);
  if (writer == nullptr) return -1;
  const mlafuzz::CallResult result =
      writer->Write({mlafuzz::FP8_DS_MLA, kv_c, k_pe, slot_mapping, cache}, {});
  return static_cast<int>(result.status);
}
}
