#include "properties/fused/judge_twice.h"

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "corpus/codec.h"
#include "properties/fused/for_each.h"

namespace mlafuzz {
namespace {

std::string Text(const std::vector<Check>& checks) {
  std::string text;
  for (const Check& check : checks) {
    absl::StrAppend(&text, "  step ", check.step, " ", KernelName(check.kernel),
                    " ", check.property, ": ", VerdictName(check.verdict), " ",
                    check.detail, "\n");
  }
  return text;
}

}  // namespace

absl::Status JudgeTwice(const FusedCase& fused, const Contracts& contracts,
                        const LentCalls::Result& result, int threads) {
  const auto seen = fused.Split(result.together, threads);
  if (!seen.ok()) {
    return absl::InternalError(
        absl::StrCat("the device passed a call of ", fused.members().size(),
                     " cases, the host did not: ", seen.status().message()));
  }
  std::vector<std::string> differs(fused.members().size());
  ForEach(differs.size(), threads, [&](std::size_t m) {
    const std::string device = Text(result.ChecksOf(m));
    const std::string host =
        Text(Judge(contracts, *fused.members()[m], (*seen)[m]));
    if (device != host) {
      differs[m] =
          absl::StrCat("by the device\n", device, "by the host\n", host,
                       FormatCaseText(*fused.members()[m]->source));
    }
  });
  for (std::size_t m = 0; m < differs.size(); ++m) {
    if (differs[m].empty()) continue;
    return absl::InternalError(
        absl::StrCat("verdicts of case ", m, " of ", differs.size(),
                     " in one call differ: ", differs[m]));
  }
  return absl::OkStatus();
}

}  // namespace mlafuzz
