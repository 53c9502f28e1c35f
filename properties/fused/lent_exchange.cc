// Several calls on lent memory in one exchange with the runner.

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "properties/fused/for_each.h"
#include "properties/fused/lent_calls.h"
#include "properties/fused/lent_run.h"
#include "properties/fused/scoped_seconds.h"

namespace mlafuzz {

std::string LentCalls::HowNot(absl::Span<const CallEnd> ends) {
  for (const CallEnd& end : ends) {
    if (end.status == CallStatus::kOk) continue;
    return absl::StrCat("the call ended in ", CallStatusName(end.status), ": ",
                        end.message);
  }
  return "";
}

// Goes on as long as all is as expected. `bytes`: where the last of them ends;
// what lies between them is nobody's.
absl::StatusOr<LentCalls::Together> LentCalls::RunTogether(
    absl::Span<LentRun* const> calls, std::uint64_t bytes, int threads) {
  Together end;
  const auto lost = [&](const absl::Status& device) {
    lost_ = std::string(device.message());
    end.why_not = lost_;
    return end;
  };
  ahead_.Forget();
  auto inputs = memory_->Inputs(bytes);
  if (!inputs.ok()) return lost(inputs.status());
  // As large as all of them will ask for: a larger one loses what it held.
  const auto any = [&](bool (LentRun::*is)() const) {
    return std::any_of(calls.begin(), calls.end(),
                       [is](const LentRun* call) { return (call->*is)(); });
  };
  if (any(&LentRun::IsReferredTo)) {
    auto expected = memory_->Expected(bytes);
    if (!expected.ok()) return lost(expected.status());
  }
  if (any(&LentRun::IsLookedAt)) {
    auto results = memory_->Results(bytes);
    if (!results.ok()) return lost(results.status());
  }
  {
    ScopedSeconds timer(times_.lay);
    ForEach(
        calls.size(), threads,
        [&](std::size_t i) { calls[i]->layout().Lay(*inputs, 1); }, 1);
  }
  std::vector<MlafuzzRange> laid;
  for (const LentRun* const call : calls) call->layout().AddLaid(&laid);
  for (const auto& [begin, end] : laid) {
    if (absl::Status s = memory_->Bring(begin, end); !s.ok()) return lost(s);
    copied_bytes_ += end - begin;
  }
  for (LentRun* const call : calls) {
    if (absl::Status s = call->Fill(); !s.ok()) return lost(s);
  }
  if (absl::Status s = memory_->Lend(0, bytes); !s.ok()) return lost(s);
  std::size_t steps = 0;
  for (LentRun* const call : calls) steps = std::max(steps, call->steps());
  for (std::size_t step = 0; step < steps; ++step) {
    // A runner each.
    std::map<std::string, std::vector<LentCall>> made;
    for (LentRun* const call : calls) {
      if (step >= call->steps()) continue;
      made[call->TargetOf(step)->name()].push_back(call->Describe(step));
      ScopedSeconds timer(times_.expect);
      if (absl::Status s = call->Begin(step); !s.ok()) return lost(s);
    }
    ScopedSeconds timer(times_.wait);
    if (absl::Status s = memory_->Settle(); !s.ok()) return lost(s);
    for (const auto& [target, exchange] : made) {
      std::vector<CallEnd> ends;
      absl::Status s = executor_.CallLent(targets_, exchange, &ends);
      if (!s.ok() && !absl::IsFailedPrecondition(s)) return s;
      end.why_not = s.ok() ? HowNot(ends) : std::string(s.message());
      if (end.why_not.empty()) continue;
      end.told = std::any_of(ends.begin(), ends.end(), [](const CallEnd& e) {
        return e.status == CallStatus::kError || e.status == CallStatus::kFault;
      });
      return end;
    }
    std::vector<MlafuzzRange> ranges;
    for (LentRun* const call : calls) call->AddRanges(step, &ranges);
    auto differences = memory_->Compare(ranges);
    if (!differences.ok()) return lost(differences.status());
    if (differences->unsettled != 0) {
      end.why_not = "bytes of one do not follow from its contract alone";
      return end;
    }
    for (std::size_t i = 0; i < calls.size(); ++i) {
      bool same = true;
      if (differences->bytes != 0) {
        ranges.clear();
        calls[i]->AddRanges(step, &ranges);
        auto own = memory_->Compare(ranges);
        if (!own.ok()) return lost(own.status());
        same = own->bytes == 0;
      }
      if (same && step < calls[i]->steps()) {
        auto whole = calls[i]->Look(step);
        if (!whole.ok()) return lost(whole.status());
        same = *whole;
      }
      if (!same) end.odd.push_back(i);
    }
    if (!end.odd.empty()) return end;
  }
  times_.Add(memory_->TakeTimes());
  end.as_expected = true;
  return end;
}

absl::StatusOr<std::vector<LentCalls::Result>> LentCalls::RunAll(
    absl::Span<const std::unique_ptr<FusedCase>> calls,
    const Contracts& contracts, int threads,
    const std::function<void()>& progress) {
  std::vector<Result> results(calls.size());
  std::vector<std::size_t> alone;
  for (std::size_t begin = 0; begin < calls.size();) {
    progress();
    // Those that fit into the memory at once.
    std::vector<std::size_t> fits;
    std::vector<std::unique_ptr<LentRun>> runs;
    std::uint64_t bytes = 0;
    std::uint64_t plans = 0;
    std::size_t end = begin;
    for (; end < calls.size(); ++end) {
      // What is kept of a call is brought back by itself.
      if (keep_all_ || !WhyNot(*calls[end]).empty()) {
        alone.push_back(end);
        continue;
      }
      auto run = Open(*calls[end], contracts, threads, bytes);
      if (run->end() > memory_->bytes()) {
        if (bytes > 0) break;
        alone.push_back(end);
        continue;
      }
      bytes = run->end();
      plans += run->plan_bytes();
      fits.push_back(end);
      runs.push_back(std::move(run));
    }
    begin = end;
    if (plans > 0) {
      auto rows = memory_->Rows(plans);
      if (!rows.ok()) {
        lost_ = std::string(rows.status().message());
        alone.insert(alone.end(), fits.begin(), fits.end());
        continue;
      }
      std::uint64_t at = 0;
      for (const auto& run : runs) {
        run->PlanAt(*rows, at);
        at += run->plan_bytes();
      }
    }
    std::vector<char> settled(fits.size(), 0);
    {
      ScopedSeconds timer(times_.expect);
      ForEach(
          fits.size(), threads,
          [&](std::size_t i) { settled[i] = runs[i]->Plan(threads); }, 1);
    }
    std::vector<LentRun*> together;
    std::vector<std::size_t> which;
    for (std::size_t i = 0; i < fits.size(); ++i) {
      if (settled[i] == 0) {
        alone.push_back(fits[i]);
        continue;
      }
      together.push_back(runs[i].get());
      which.push_back(fits[i]);
    }
    if (together.empty()) continue;
    auto seen = RunTogether(together, bytes, threads);
    if (!seen.ok()) return seen.status();
    if (seen->as_expected) {
      ScopedSeconds timer(times_.judge);
      ForEach(
          which.size(), threads,
          [&](std::size_t i) { results[which[i]] = together[i]->AsExpected(); },
          1);
      continue;
    }
    runs.clear();
    bool all_well = true;
    for (const std::size_t i : which) {
      progress();
      auto own = Run(*calls[i], contracts, threads);
      if (!own.ok()) return own.status();
      results[i] = *std::move(own);
      all_well &= results[i].as_expected;
    }
    if (!all_well || which.size() == 1) continue;
    if (!seen->told && seen->odd.empty()) continue;
    const std::string how = absl::StrCat(
        "in one exchange with ", which.size() - 1,
        " other calls, and not by itself: ",
        seen->why_not.empty() ? "it left bytes that are not as expected"
                              : seen->why_not);
    if (seen->odd.empty()) results[which[0]].unstable = how;
    for (const std::size_t i : seen->odd) results[which[i]].unstable = how;
  }
  for (const std::size_t i : alone) {
    progress();
    auto own = Run(*calls[i], contracts, threads);
    if (!own.ok()) return own.status();
    results[i] = *std::move(own);
  }
  return results;
}

}  // namespace mlafuzz
