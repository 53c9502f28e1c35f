#include "fuzz/command/layouts.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "fuzz/worker/session.h"

namespace mlafuzz {
namespace {

constexpr const char* kTargetFlags[] = {"target", "writer", "gather", "convert",
                                        "decode"};

}  // namespace

void UseBuiltinFor(const Arguments& arguments, Layout layout, Targets* targets,
                   std::vector<std::string>* kernels) {
  const bool named =
      std::any_of(std::begin(kTargetFlags), std::end(kTargetFlags),
                  [&](const char* flag) { return arguments.Has(flag); });
  if (named || layout == FP8_DS_MLA) return;
  targets->set_all(absl::StrCat(IsOnDevice(targets->all()) ? kOnDevice : "",
                                BuiltinFor(layout)));
  kernels->clear();
  for (const Kernel kernel : KernelsUnderTest(*targets)) {
    kernels->push_back(KernelName(kernel));
  }
}

std::string OtherLayout(const Targets& targets,
                        const std::vector<std::string>& kernels, Layout pool) {
  const auto set = MakeTargets(targets);
  if (!set.ok()) return "";  // reported by whoever runs it
  std::vector<Kernel> tested;
  for (const Kernel kernel : kAllKernels) {
    if (std::find(kernels.begin(), kernels.end(), KernelName(kernel)) !=
        kernels.end()) {
      tested.push_back(kernel);
    }
  }
  if (tested.empty() || (tested.size() == 1 && tested[0] == Kernel::kConvert)) {
    return "";
  }
  const Layout takes = LayoutOf(*set, tested);
  if (takes == pool) return "";
  return absl::StrCat("nothing of ", absl::StrJoin(kernels, ", "),
                      " was judged: the pool is ", Layout_Name(pool),
                      ", the kernels take ", Layout_Name(takes));
}

}  // namespace mlafuzz
