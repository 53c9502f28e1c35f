#include "kernels/foreign/foreign_target.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "corpus/contract_checks.h"
#include "corpus/contracts.h"
#include "corpus/message_checks.h"
#include "kernels/guarded_memory.h"
#include "kernels/staging.h"

namespace mlafuzz {
namespace {

// The runner sets it aside once; cases need a few MiB.
constexpr std::uint64_t kMostScratch = std::uint64_t{1} << 30;

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

absl::StatusOr<std::shared_ptr<ForeignTarget>> ForeignTarget::Load(
    absl::string_view path, const RunnerLimits& limits) {
  std::shared_ptr<ForeignTarget> target(new ForeignTarget);
  target->name_ = absl::StrCat("lib:", path);
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
  target->path_ = absolute.string();
  target->limits_ = limits;
  GuardedArena arena(kPatternSeed, GuardedArena::Backing::kShared);
  if (absl::Status s = arena.Map(); !s.ok()) return s;
  const auto runner = RunnerProcess::Start(target->path_, arena.fd(), limits);
  if (!runner.ok()) return runner.status();
  target->implements_ = (*runner)->hello().implements;
  auto description = ParseDescription((*runner)->description());
  if (!description.ok()) {
    return fail(
        absl::StrCat("in its description, ", description.status().message()));
  }
  target->description_ = *std::move(description);
  return target;
}

}  // namespace mlafuzz
