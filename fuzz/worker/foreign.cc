#include "fuzz/worker/foreign.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "kernels/foreign/runner_process.h"
#include "kernels/target_set.h"

namespace mlafuzz {

bool AnyForeign(const Targets& targets) {
  for (const std::string* name :
       {&targets.all(), &targets.writer(), &targets.gather(),
        &targets.convert(), &targets.decode()}) {
    if (RunsApart(*name)) return true;
  }
  return false;
}

std::string TierText(const Targets& targets) {
  const std::string& device = targets.device_name();
  if (device.empty()) return "host";
  return absl::StrCat(absl::StrContains(device, "(sm_120)") ? "sm_120: "
                                                            : "other GPU: ",
                      device);
}

double CallSeconds(const Targets& targets) {
  if (targets.call_seconds() > 0) return targets.call_seconds();
  // As session.cc sets it.
  return targets.sanitizer().empty() ? RunnerLimits().call_seconds : 60;
}

double StartSeconds(const Targets& targets) {
  return targets.start_seconds() > 0 ? targets.start_seconds()
                                     : RunnerLimits().start_seconds;
}

}  // namespace mlafuzz
