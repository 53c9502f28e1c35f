#include "fuzz/command/check_target.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "corpus/contracts.h"
#include "fuzz/campaign/options.h"
#include "fuzz/command/commands.h"
#include "fuzz/command/contract_text.h"
#include "fuzz/worker/session.h"
#include "kernels/foreign/foreign_target.h"
#include "kernels/foreign/runner_process.h"
#include "oracle/judge.h"
#include "properties/generate.h"

namespace mlafuzz {
namespace {

// Seeds tried until one gives a case that this kernel must take.
constexpr std::uint64_t kSeeds = 200;

void PrintDescription(const Target& target) {
  std::printf("%s\n", target.name().c_str());
  if (const ForeignTarget* foreign = target.foreign()) {
    const TargetDescription& d = foreign->description();
    std::printf("  calls itself  %s\n",
                d.name().empty() ? "(nothing)" : d.name().c_str());
    if (!d.version().empty()) {
      std::printf("  version       %s\n", d.version().c_str());
    }
    std::printf("  runs in       a process of its own; %s\n",
                RunnerProcess::Mechanism());
    if (!d.tensors().empty()) {
      std::printf("  tensors       %s\n", d.tensors().c_str());
    }
  }
  std::vector<std::string> kernels;
  for (const Kernel kernel : kAllKernels) {
    if (target.Implements(kernel)) kernels.push_back(KernelName(kernel));
  }
  std::printf("  implements    %s\n", absl::StrJoin(kernels, ", ").c_str());
  const std::vector<std::string> differences =
      ContractDifferences(BuiltinContract(), target.contract());
  std::printf("  contract, where it is not builtin's:%s\n",
              differences.empty() ? " nowhere" : "");
  for (const std::string& difference : differences) {
    std::printf("    %s\n", difference.c_str());
  }
}

// One line for the kernel; whether it went well.
bool Try(Session& session, Kernel kernel) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Choices choices(seed);
    GeneratorOptions options =
        GeneratorFor({KernelName(kernel)}, session.targets(), {kernel});
    options.invalid = false;
    const Case c = GenerateCase(choices, options);
    CaseResult result;
    if (!session.checker().CheckCase(c, {}, &result).ok()) continue;
    bool judged = false;
    for (const Check& check : result.checks) {
      if (check.kernel != kernel) continue;
      if (IsFailure(check.verdict)) {
        std::printf("  %-8s %s, %s: %s\n", KernelName(kernel),
                    VerdictName(check.verdict), check.property.c_str(),
                    check.detail.c_str());
        return false;
      }
      judged |= check.verdict == Verdict::kPass;
    }
    if (!judged) continue;
    std::printf("  %-8s takes a valid case and gets it right\n",
                KernelName(kernel));
    return true;
  }
  std::printf("  %-8s no valid case for this contract among %lu\n",
              KernelName(kernel), static_cast<unsigned long>(kSeeds));
  return false;
}

}  // namespace

int CheckTarget(const Targets& targets) {
  auto session = Session::Create(targets);
  if (!session.ok()) {
    return UsageError(absl::StrCat("targets: ", session.status().message()));
  }
  std::vector<const Target*> printed;
  bool well = true;
  for (const Kernel kernel : kAllKernels) {
    const Target* const target = (*session)->targets().For(kernel);
    if (std::find(printed.begin(), printed.end(), target) == printed.end()) {
      PrintDescription(*target);
      printed.push_back(target);
    }
  }
  std::printf("one case each:\n");
  for (const Kernel kernel : kAllKernels) {
    if (!(*session)->targets().For(kernel)->Implements(kernel)) {
      std::printf("  %-8s skipped: not implemented\n", KernelName(kernel));
      continue;
    }
    well &= Try(**session, kernel);
  }
  return well ? kExitNothingFound : kExitFound;
}

}  // namespace mlafuzz
