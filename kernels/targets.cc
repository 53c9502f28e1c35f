#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "kernels/compiled_targets.h"
#include "kernels/foreign/foreign_target.h"
#include "kernels/target_set.h"

namespace mlafuzz {
namespace {

class HostTarget : public Target {
 public:
  HostTarget(const CompiledTarget& compiled, const CompiledKernels& kernels)
      : name_(compiled.name),
        contract_(ContractOf(compiled)),
        kernels_(kernels) {}

  const std::string& name() const override { return name_; }
  const Contract& contract() const override { return contract_; }
  const Arithmetic& arithmetic() const override {
    return contract_.arithmetic();
  }

  bool Implements(Kernel kernel) const override {
    switch (kernel) {
      case Kernel::kWriter:
        return kernels_.write != nullptr;
      case Kernel::kGather:
        return kernels_.gather != nullptr;
      case Kernel::kConvert:
        return kernels_.convert != nullptr;
      case Kernel::kDecode:
        return kernels_.decode != nullptr;
    }
    return false;
  }

  CallResult Write(const WriteArgs& args,
                   const LaunchContext& context) override {
    return kernels_.write != nullptr ? kernels_.write(args, context)
                                     : CallResult::NotImplemented();
  }
  CallResult Gather(const GatherArgs& args,
                    const LaunchContext& context) override {
    return kernels_.gather != nullptr ? kernels_.gather(args, context)
                                      : CallResult::NotImplemented();
  }
  CallResult ConvertIndices(const ConvertArgs& args,
                            const LaunchContext& context) override {
    return kernels_.convert != nullptr ? kernels_.convert(args, context)
                                       : CallResult::NotImplemented();
  }
  CallResult Decode(const DecodeArgs& args,
                    const LaunchContext& context) override {
    return kernels_.decode != nullptr ? kernels_.decode(args, context)
                                      : CallResult::NotImplemented();
  }

 private:
  std::string name_;
  Contract contract_;
  CompiledKernels kernels_;
};

// Letters to insert, delete or replace to get from one to the other.
int EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<int> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

const CompiledTarget* FindTarget(absl::string_view name) {
  for (const CompiledTarget& target : CompiledTargets()) {
    if (name == target.name) return &target;
  }
  return nullptr;
}

absl::Status UnknownTarget(absl::string_view name) {
  const CompiledTarget* nearest = nullptr;
  int least = 0;
  for (const CompiledTarget& target : CompiledTargets()) {
    // A bare "nope-stale-tail" is meant for the mutant of that name.
    const absl::string_view known = target.name;
    int distance =
        std::min(EditDistance(name, known),
                 EditDistance(name, known.substr(known.find(':') + 1)));
    // A name that somebody began to type is near, however much is left of it.
    if (!name.empty() && absl::StartsWith(known, name)) distance = 0;
    if (nearest == nullptr || distance < least) {
      nearest = &target;
      least = distance;
    }
  }
  return absl::NotFoundError(absl::StrCat("no target is named \"", name,
                                          "\"; did you mean \"", nearest->name,
                                          "\"?"));
}

}  // namespace

const std::vector<TargetInfo>& AllTargets() {
  static const auto* const kInfos = [] {
    auto* infos = new std::vector<TargetInfo>;
    for (const CompiledTarget& target : CompiledTargets()) {
      TargetInfo info;
      info.name = target.name;
      info.what = target.what;
      // builtin replaces nothing: it is what the others are measured against.
      if (info.name != "builtin") {
        if (target.kernels.write != nullptr) {
          info.replaces.push_back(Kernel::kWriter);
        }
        if (target.kernels.gather != nullptr) {
          info.replaces.push_back(Kernel::kGather);
        }
        if (target.kernels.convert != nullptr) {
          info.replaces.push_back(Kernel::kConvert);
        }
        if (target.kernels.decode != nullptr) {
          info.replaces.push_back(Kernel::kDecode);
        }
      }
      infos->push_back(std::move(info));
    }
    return infos;
  }();
  return *kInfos;
}

absl::StatusOr<TargetSet> MakeTargetSet(absl::string_view name) {
  const bool on_device = IsOnDevice(name);
  const absl::string_view plain = WithoutDevice(name);
  if (IsForeign(name)) {
    const Backend backend = on_device ? DefaultCudaBackend() : Backend();
    auto library = IsPython(name)
                       ? ForeignTarget::LoadPython(
                             plain.substr(kPythonTarget.size()),
                             DefaultPython(), DefaultRunnerLimits(), backend)
                       : ForeignTarget::Load(plain.substr(4),
                                             DefaultRunnerLimits(), backend);
    if (!library.ok()) return library.status();
    TargetSet set;
    set.targets.fill(*std::move(library));
    return set;
  }
  const CompiledTarget* target = FindTarget(plain);
  if (target == nullptr) return UnknownTarget(plain);
  // Whoever comes first takes a kernel.
  std::vector<std::shared_ptr<Target>> parts;
  for (const CompiledTarget* part :
       {target, FindTarget(target->rest), &CompiledTargets().front()}) {
    if (std::any_of(parts.begin(), parts.end(), [&](const auto& earlier) {
          return earlier->name() == part->name;
        })) {
      continue;
    }
    parts.push_back(std::make_shared<HostTarget>(*part, part->kernels));
  }
  if (on_device) {
    for (std::shared_ptr<Target>& part : parts) {
      auto device = ForeignTarget::Compiled(*part, DefaultRunnerLimits(),
                                            DefaultCudaBackend());
      if (!device.ok()) return device.status();
      part = *std::move(device);
    }
  }
  TargetSet set;
  for (Kernel kernel : kAllKernels) {
    const auto first = std::find_if(
        parts.begin(), parts.end(),
        [&](const auto& part) { return part->Implements(kernel); });
    set.targets[static_cast<std::size_t>(kernel)] =
        first != parts.end() ? *first : parts.back();
  }
  return set;
}

absl::StatusOr<TargetSet> MakeTargetSet(absl::string_view all,
                                        absl::string_view writer,
                                        absl::string_view gather,
                                        absl::string_view convert,
                                        absl::string_view decode) {
  absl::StatusOr<TargetSet> set = MakeTargetSet(all);
  if (!set.ok()) return set;
  const std::pair<Kernel, absl::string_view> overrides[] = {
      {Kernel::kWriter, writer},
      {Kernel::kGather, gather},
      {Kernel::kConvert, convert},
      {Kernel::kDecode, decode}};
  for (const auto& [kernel, name] : overrides) {
    if (name.empty()) continue;
    absl::StatusOr<TargetSet> other = MakeTargetSet(name);
    if (!other.ok()) return other;
    const std::size_t i = static_cast<std::size_t>(kernel);
    set->targets[i] = other->targets[i];
  }
  return set;
}

}  // namespace mlafuzz
