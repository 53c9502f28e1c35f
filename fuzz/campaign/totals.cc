#include "fuzz/campaign/totals.h"

#include <algorithm>
#include <cstddef>

namespace mlafuzz {
namespace {

template <std::size_t N>
void AddAll(std::array<std::uint64_t, N>& to,
            const std::array<WorkerStatus::Counter, N>& from) {
  for (std::size_t i = 0; i < N; ++i) to[i] += from[i];
}

}  // namespace

void Totals::Add(const WorkerStatus& status) {
  inputs += status.inputs;
  cases += status.cases;
  rejected += status.rejected;
  AddAll(cases_of, status.cases_of);
  AddAll(distinct, status.distinct);
  AddAll(executions, status.executions);
  AddAll(not_implemented, status.not_implemented);
  checks += status.checks;
  AddAll(verdicts, status.verdicts);
  informative += status.informative;
  failures += status.failures;
  undiagnosed += status.undiagnosed;
  fused += status.fused;
  fused_alone += status.fused_alone;
  fused_calls += status.fused_calls;
  fused_lent += status.fused_lent;
  fused_rerun += status.fused_rerun;
  fused_untold += status.fused_untold;
  only_fused += status.only_fused;
  only_alone += status.only_alone;
  AddAll(knobs, status.knobs);
  AddAll(relations, status.relations);
  power_samples += status.power_samples;
  AddAll(power_steps, status.power_steps);
  AddAll(power, status.power);
  AddAll(made_for, status.made_for);
  AddAll(made_sampled, status.made_sampled);
  AddAll(made_informative, status.made_informative);
  for (std::size_t i = 0; i < decode_ulps.size(); ++i) {
    AddAll(decode_ulps[i], status.decode_ulps[i]);
    decode_most_ulps[i] =
        std::max(decode_most_ulps[i], status.decode_most_ulps[i].load());
  }
  compared += status.compared;
  not_compared += status.not_compared;
  AddAll(not_taken, status.not_taken);
  for (std::size_t i = 0; i < why_not_taken.size(); ++i) {
    if (why_not_taken[i].empty()) why_not_taken[i] = status.WhyNotTaken(i);
  }
  cpu_nanoseconds += status.cpu_nanoseconds;
}

}  // namespace mlafuzz
