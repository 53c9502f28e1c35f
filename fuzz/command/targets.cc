// mlafuzz targets

#include <cstdio>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "fuzz/command/check_target.h"
#include "fuzz/command/commands.h"
#include "fuzz/command/target_flags.h"
#include "kernels/target_set.h"
#include "properties/ledger/ledger.h"

namespace mlafuzz {
namespace {

int Run(const Arguments& arguments, const std::string&) {
  if (arguments.Has("check")) {
    const auto targets = ReadTarget(arguments.Get("check"), arguments);
    if (!targets.ok()) {
      return UsageError(absl::StrCat("targets: ", targets.status().message()));
    }
    return CheckTarget(*targets);
  }
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const TargetInfo& info : AllTargets()) {
    std::vector<std::string> kernels, properties;
    for (const Kernel k : info.replaces) kernels.push_back(KernelName(k));
    std::string field, value;
    if (const LedgerEntry* entry = FindInLedger(info.name)) {
      properties = entry->properties;
      field = entry->field;
      value = entry->value;
    }
    if (!arguments.Has("json")) {
      std::printf("%-34s %-22s %s\n", info.name.c_str(),
                  kernels.empty() ? "-" : absl::StrJoin(kernels, ",").c_str(),
                  info.what.c_str());
      continue;
    }
    all.push_back({{"name", info.name},
                   {"what", info.what},
                   {"replaces", kernels},
                   {"expected_properties", properties},
                   {"expected_field", field},
                   {"expected_value", value}});
  }
  if (arguments.Has("json")) std::printf("%s\n", all.dump(2).c_str());
  return 0;
}

}  // namespace

Command TargetsCommand() {
  std::vector<Flag> flags = {
      {"check", "NAME", "a dry run of this target, lib: and python: included"},
      {"json", nullptr, "for programs: also the expected properties"}};
  const std::vector<Flag> limits = RunnerLimitFlags();
  flags.insert(flags.end(), limits.begin(), limits.end());
  return {"targets", "", "what can be fuzzed", flags, Run};
}

}  // namespace mlafuzz
