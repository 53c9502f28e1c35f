#include "kernels/foreign/foreign_target.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "corpus/contract_checks.h"
#include "corpus/contracts.h"
#include "corpus/message_checks.h"
#include "kernels/foreign/program_files.h"
#include "kernels/guarded_memory.h"
#include "kernels/staging.h"

namespace mlafuzz {
namespace {

// The runner sets it aside once; cases need a few MiB.
constexpr std::uint64_t kMostScratch = std::uint64_t{1} << 30;

// Of the program in kernels/device/runner_cuda.cc.
std::vector<std::string> DeviceArguments(const Backend& backend,
                                         const char* kind,
                                         const std::string& name) {
  return {absl::StrCat(backend.device),
          backend.sanitizer.empty() ? backend.guard : "plain", kind, name};
}

absl::StatusOr<std::unique_ptr<RunnerProcess>> StartRunner(
    const RunnerProgram& program, const RunnerLimits& limits) {
  GuardedArena arena(kPatternSeed, GuardedArena::Backing::kShared);
  if (absl::Status s = arena.Map(); !s.ok()) return s;
  return RunnerProcess::Start(program, arena.fd(), limits);
}

bool RunsOn(const TargetDescription& description, bool cuda) {
  if (description.devices().empty()) return !cuda;
  const auto device = cuda ? TargetDescription::CUDA : TargetDescription::HOST;
  return std::find(description.devices().begin(), description.devices().end(),
                   device) != description.devices().end();
}

}  // namespace

absl::StatusOr<TargetDescription> ParseDescription(absl::string_view text) {
  TargetDescription description;
  if (absl::Status s = ParseText(text, &description); !s.ok()) return s;
  if (description.scratch_bytes() > kMostScratch) {
    return absl::InvalidArgumentError(
        absl::StrCat("scratch_bytes: ", description.scratch_bytes(),
                     " is more than the most, ", kMostScratch));
  }
  Contract& contract = *description.mutable_contract();
  if (absl::Status s = CheckContract(contract); !s.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("contract.", std::string(s.message())));
  }
  // Builtin refuses every misuse; nobody else is taken to have promised that.
  const Contract said = contract;
  FillDefaults(contract);
  *contract.mutable_writer()->mutable_host_checks() =
      said.writer().host_checks();
  *contract.mutable_gather()->mutable_host_checks() =
      said.gather().host_checks();
  *contract.mutable_convert()->mutable_host_checks() =
      said.convert().host_checks();
  *contract.mutable_decode()->mutable_host_checks() =
      said.decode().host_checks();
  return description;
}

Backend& DefaultCudaBackend() {
  static Backend backend{.cuda = true};
  return backend;
}

absl::StatusOr<std::string> DescribeDevice(const Backend& backend) {
  static auto* known = new std::map<int, std::string>;
  if (const auto it = known->find(backend.device); it != known->end()) {
    return it->second;
  }
  auto runner = StartRunner(
      {"cuda", true, DeviceArguments(backend, "builtin", "builtin"), {}, ""},
      {});
  if (!runner.ok()) return runner.status();
  return known->try_emplace(backend.device, (*runner)->device()).first->second;
}

absl::StatusOr<std::shared_ptr<ForeignTarget>> ForeignTarget::Load(
    absl::string_view path, const RunnerLimits& limits,
    const Backend& backend) {
  std::shared_ptr<ForeignTarget> target(new ForeignTarget);
  target->name_ = absl::StrCat(backend.cuda ? "cuda:" : "", "lib:", path);
  const auto fail = [&target](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat(target->name_, ": ", why));
  };
  std::error_code error;
  // Absolute: without a slash the loader would search its own folders.
  const std::filesystem::path absolute =
      std::filesystem::absolute(std::string(path), error);
  if (path.empty() || error) return fail("no such file");
  auto file = LookAtLibrary(absolute.string());
  if (!file.ok()) return fail(file.status().message());
  target->file_ = *std::move(file);
  target->program_ = {target->name_, backend.cuda, {absolute.string()}, {}, ""};
  if (backend.cuda) {
    target->program_.arguments =
        DeviceArguments(backend, "lib", absolute.string());
    target->program_.sanitizer = backend.sanitizer;
    if (backend.sanitizer.empty()) target->program_.lent_to = backend.device;
  }
  target->limits_ = limits;
  if (absl::Status s = target->Attach(backend); !s.ok()) return s;
  return target;
}

absl::StatusOr<std::shared_ptr<ForeignTarget>> ForeignTarget::LoadPython(
    absl::string_view module, const PythonOptions& python,
    const RunnerLimits& limits, const Backend& backend) {
  std::shared_ptr<ForeignTarget> target(new ForeignTarget);
  target->name_ =
      absl::StrCat(backend.cuda ? kOnDevice : "", kPythonTarget, module);
  const auto fail = [&target](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat(target->name_, ": ", why));
  };
  PythonName name = ParsePythonName(module);
  if (name.module.empty()) return fail("names no module");
  if (IsPath(name)) {
    if (!absl::EndsWith(name.module, ".py")) {
      return fail(absl::StrCat("modules are named by the path of a file, ",
                               name.module, ".py, or with dots"));
    }
    std::error_code error;
    name.module = std::filesystem::absolute(name.module, error).string();
    if (const auto file = LookAtLibrary(name.module); !file.ok()) {
      return fail(file.status().message());
    }
  }
  const auto interpreter = FindInterpreter(python.interpreter);
  if (!interpreter.ok()) return fail(interpreter.status().message());
  const auto runner = FindPythonRunner();
  if (!runner.ok()) return runner.status();
  // -B: nothing is left beside the files of modules.
  target->program_ = {target->name_,
                      backend.cuda,
                      {name.module, name.object, python.folder,
                       backend.cuda ? absl::StrCat(backend.device) : "host"},
                      {*interpreter, "-B", *runner},
                      backend.sanitizer};
  target->limits_ = limits;
  if (absl::Status s = target->Attach(backend); !s.ok()) return s;
  const std::string& source = target->description_.source();
  if (source.empty()) return target;  // built into the interpreter
  auto file = LookAtLibrary(source);
  if (!file.ok()) return fail(file.status().message());
  target->file_ = *std::move(file);
  return target;
}

absl::Status ForeignTarget::Attach(const Backend& backend) {
  const auto fail = [this](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat(name_, ": ", why));
  };
  const auto runner = StartRunner(program_, limits_);
  if (!runner.ok()) return runner.status();
  implements_ = (*runner)->hello().implements;
  if (implements_ == 0) {
    return fail(
        "has none of the four kernels: all functions of its "
        "MlafuzzTarget are null; name those that there are");
  }
  device_ = (*runner)->device();
  auto description = ParseDescription((*runner)->description());
  if (!description.ok()) {
    return fail(
        absl::StrCat("in its description, ", description.status().message()));
  }
  description_ = *std::move(description);
  if (!RunsOn(description_, backend.cuda)) {
    return fail(backend.cuda
                    ? "its description does not list CUDA among its devices; "
                      "add `devices: CUDA` if it takes device memory"
                    : absl::StrCat("its description lists CUDA alone; use "
                                   "--backend=cuda, or ",
                                   kOnDevice, name_));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<ForeignTarget>> ForeignTarget::Compiled(
    const Target& compiled, const RunnerLimits& limits,
    const Backend& backend) {
  auto device = DescribeDevice(backend);
  if (!device.ok()) return device.status();
  std::shared_ptr<ForeignTarget> target(new ForeignTarget);
  target->name_ = absl::StrCat("cuda:", compiled.name());
  target->program_ = {target->name_,
                      true,
                      DeviceArguments(backend, "builtin", compiled.name()),
                      {},
                      backend.sanitizer};
  if (backend.sanitizer.empty()) target->program_.lent_to = backend.device;
  target->device_ = *std::move(device);
  target->limits_ = limits;
  for (const Kernel kernel : kAllKernels) {
    if (compiled.Implements(kernel)) {
      target->implements_ |= 1u << static_cast<int>(kernel);
    }
  }
  *target->description_.mutable_contract() = compiled.contract();
  return target;
}

}  // namespace mlafuzz
