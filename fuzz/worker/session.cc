#include "fuzz/worker/session.h"

#include <algorithm>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/match.h"
#include "corpus/codec.h"
#include "fuzz/worker/foreign.h"
#include "kernels/foreign/executor.h"
#include "kernels/foreign/foreign_target.h"
#include "kernels/foreign/python.h"
#include "kernels/foreign/runner_process.h"

namespace mlafuzz {
namespace {

// Throughput against power: a relation costs one or two reruns of the whole
// case, so one in eight leaves four fifths of the time to new cases.
constexpr std::uint64_t kCasesPerRelation = 8;

std::vector<TargetMaker>& Makers() {
  static auto* makers = new std::vector<TargetMaker>;
  return *makers;
}

}  // namespace

void AddTargetMaker(TargetMaker maker) { Makers().push_back(maker); }

absl::StatusOr<TargetSet> MakeTargets(const Targets& targets) {
  RunnerLimits& limits = DefaultRunnerLimits();
  if (targets.call_seconds() > 0) limits.call_seconds = targets.call_seconds();
  if (targets.start_seconds() > 0) {
    limits.start_seconds = targets.start_seconds();
  }
  if (targets.resident_mib() > 0) {
    limits.resident_bytes = targets.resident_mib() << 20;
  }
  DefaultPython() = {targets.python(), targets.python_folder()};
  DefaultCudaBackend().device = static_cast<int>(targets.device());
  if (!targets.guard().empty()) DefaultCudaBackend().guard = targets.guard();
  DefaultCudaBackend().sanitizer = targets.sanitizer();
  // Under a tool kernels take up to a hundred times as long.
  if (!targets.sanitizer().empty() && targets.call_seconds() == 0) {
    limits.call_seconds = 60;
  }
  for (const TargetMaker maker : Makers()) {
    if (std::shared_ptr<Target> target = maker(targets.all())) {
      TargetSet set;
      set.targets.fill(target);
      return set;
    }
  }
  return MakeTargetSet(targets.all().empty() ? "builtin" : targets.all(),
                       targets.writer(), targets.gather(), targets.convert(),
                       targets.decode());
}

absl::StatusOr<std::unique_ptr<Session>> Session::Create(
    const Targets& targets) {
  absl::StatusOr<TargetSet> set = MakeTargets(targets);
  if (!set.ok()) return set.status();
  // After it was loaded: what was is what this process has.
  if (const std::string change = LibraryChange(targets); !change.empty()) {
    return absl::FailedPreconditionError(change);
  }
  std::unique_ptr<Executor> executor = MakeExecutor(*set);
  return absl::WrapUnique(new Session(*std::move(set), std::move(executor)));
}

CheckOptions Session::CampaignOptions(const Case& c) {
  CheckOptions options;
  options.relation_seed = CaseHash(c);
  // Upper bits: the checker draws the relation from the lower ones.
  if ((options.relation_seed >> 40) % kCasesPerRelation == 0) {
    options.relations_per_case = 1;
  }
  return options;
}

CheckOptions Session::ReplayOptions(const Case& c) {
  CheckOptions options;
  options.relation_seed = CaseHash(c);
  options.all_relations = true;
  return options;
}

std::vector<Kernel> KernelsUnderTest(const Targets& targets) {
  const std::vector<Kernel> all = {Kernel::kWriter, Kernel::kGather,
                                   Kernel::kConvert, Kernel::kDecode};
  std::vector<Kernel> kernels;
  const auto add = [&kernels](Kernel kernel) {
    if (std::find(kernels.begin(), kernels.end(), kernel) == kernels.end()) {
      kernels.push_back(kernel);
    }
  };
  bool any_replaced = false;
  const auto replaced = [&](absl::string_view name,
                            absl::Span<const Kernel> only) {
    if (IsForeign(name)) {
      // One that cannot be loaded is reported by whoever runs it.
      const auto set = MakeTargetSet(name);
      for (const Kernel kernel : only) {
        if (set.ok() && !set->For(kernel)->Implements(kernel)) continue;
        any_replaced = true;
        add(kernel);
      }
      return;
    }
    for (const TargetInfo& info : AllTargets()) {
      if (info.name != WithoutDevice(name)) continue;
      for (const Kernel kernel : info.replaces) {
        if (std::find(only.begin(), only.end(), kernel) == only.end()) continue;
        any_replaced = true;
        add(kernel);
      }
    }
  };
  replaced(targets.all(), all);
  replaced(targets.writer(), {Kernel::kWriter});
  replaced(targets.gather(), {Kernel::kGather});
  replaced(targets.convert(), {Kernel::kConvert});
  replaced(targets.decode(), {Kernel::kDecode});
  if (!any_replaced) return all;
  std::sort(kernels.begin(), kernels.end());
  return kernels;
}

GeneratorOptions GeneratorFor(absl::Span<const std::string> kernels,
                              Layout layout) {
  GeneratorOptions options;
  options.layout = layout;
  const auto has = [kernels](const char* name) {
    return std::find(kernels.begin(), kernels.end(), name) != kernels.end();
  };
  options.writer = has("writer");
  options.gather = has("gather");
  options.convert = has("convert");
  options.decode = has("decode");
  return options;
}

GeneratorOptions GeneratorFor(absl::Span<const std::string> kernels,
                              const TargetSet& targets,
                              absl::Span<const Kernel> tested) {
  GeneratorOptions options = GeneratorFor(kernels, LayoutOf(targets, tested));
  for (const Kernel kernel : tested) {
    if (const Target* target = targets.For(kernel); target != nullptr) {
      TakeWhat(kernel, target->contract(), options);
    }
  }
  return options;
}

Layout LayoutOf(const TargetSet& targets, absl::Span<const Kernel> kernels) {
  for (const Kernel kernel : kernels) {
    const Target* target = targets.For(kernel);
    if (kernel == Kernel::kConvert || target == nullptr) continue;
    const Layout layout = target->contract().layout();
    return layout == LAYOUT_UNSPECIFIED ? FP8_DS_MLA : layout;
  }
  return FP8_DS_MLA;
}

std::string BuiltinFor(Layout layout) {
  for (const TargetInfo& info : AllTargets()) {
    if (!absl::StartsWith(info.name, "builtin")) continue;
    const auto set = MakeTargetSet(info.name);
    if (set.ok() && LayoutOf(*set, {Kernel::kWriter}) == layout) {
      return info.name;
    }
  }
  return "builtin";
}

}  // namespace mlafuzz
