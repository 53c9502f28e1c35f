#include "fuzz/nightly/config.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "corpus/message_checks.h"

namespace mlafuzz {

absl::StatusOr<NightConfig> ParseNightConfig(absl::string_view text) {
  NightConfig config;
  if (absl::Status s = ParseText(text, &config); !s.ok()) return s;
  if (config.state().empty()) {
    return absl::InvalidArgumentError("state: is missing; name a folder");
  }
  if (config.work().empty()) {
    return absl::InvalidArgumentError(
        "work: is missing; a night needs at least one: work { units: 16 cases: "
        "20000 }");
  }
  for (int i = 0; i < config.work_size(); ++i) {
    const Work& work = config.work(i);
    if (work.units() == 0 || work.units() > kSeedsOfANight) {
      return absl::InvalidArgumentError(
          absl::StrCat("work[", i, "].units: needs 1 to ", kSeedsOfANight,
                       ", got ", work.units()));
    }
    if (work.cases() == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("work[", i, "].cases: needs 1 or more"));
    }
  }
  for (int i = 0; i < config.work_size(); ++i) {
    if (config.shared_units() > kSeedsOfANight - config.work(i).units()) {
      return absl::InvalidArgumentError(
          absl::StrCat("shared_units: with the ", config.work(i).units(),
                       " of work[", i, "] a night has at most ", kSeedsOfANight,
                       ", got ", config.shared_units()));
    }
  }
  if (config.red().empty()) {
    for (const Red red : {NEW_CAUSE, REGRESSION, UNINFORMATIVE, GATE}) {
      config.add_red(red);
    }
  }
  return config;
}

std::uint64_t FirstSeed(std::uint64_t night) {
  return night * kSeedsOfANight + 1;
}

std::vector<std::string> WorkFlags(const Work& work) {
  std::vector<std::string> flags;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) flags.push_back(absl::StrCat("--", name, "=", value));
  };
  add("target", work.target());
  add("kernels", absl::StrJoin(work.kernels(), ","));
  add("backend", work.backend());
  add("device", work.device() == 0 ? "" : absl::StrCat(work.device()));
  add("flavour", work.flavour());
  return flags;
}

bool IsRed(const NightConfig& config, Red red) {
  return std::find(config.red().begin(), config.red().end(), red) !=
         config.red().end();
}

}  // namespace mlafuzz
