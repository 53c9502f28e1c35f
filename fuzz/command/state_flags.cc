#include "fuzz/command/state_flags.h"

#include "absl/strings/str_cat.h"
#include "fuzz/command/environment.h"

namespace mlafuzz {
namespace {

constexpr std::uint64_t kMostUnits = 1'000'000;
constexpr std::uint64_t kDefaultCases = 20'000;

}  // namespace

Flag StateFlag() { return {"state", "DIR", "what a fleet knows"}; }

absl::StatusOr<State> ReadState(const Arguments& arguments) {
  if (arguments.Get("state").empty()) {
    return absl::InvalidArgumentError("needs --state=DIR");
  }
  return State::Open(CallersPath(arguments.Get("state")));
}

std::vector<Flag> PlanFlags() {
  return {
      {"units", "N", "units of all shards together"},
      {"cases", "N", "of each unit (default 20000)"},
      {"seed", "S", "of the first unit; the next ones follow (default 1)"},
  };
}

absl::StatusOr<Plan> ReadPlan(const Arguments& arguments) {
  const auto first = arguments.Number("seed", 1);
  if (!first.ok()) return first.status();
  const auto count = arguments.Number("units", 0);
  if (!count.ok()) return count.status();
  const auto cases = arguments.Number("cases", kDefaultCases);
  if (!cases.ok()) return cases.status();
  if (*count == 0 || *count > kMostUnits) {
    return absl::InvalidArgumentError(
        absl::StrCat("--units needs 1 to ", kMostUnits, ", got ", *count));
  }
  if (*cases == 0) {
    return absl::InvalidArgumentError("--cases needs 1 or more");
  }
  return Plan{*first, *count, *cases};
}

}  // namespace mlafuzz
