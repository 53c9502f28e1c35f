#include "properties/fused/fused_checker.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "corpus/codec.h"
#include "oracle/judge.h"
#include "properties/fused/for_each.h"
#include "properties/fused/judge_twice.h"
#include "properties/fused/scoped_seconds.h"
#include "properties/relations.h"

namespace mlafuzz {
namespace {

// Cases that run alone at once, between two signs of life: few at first, since
// each may end its process, a few times over.
constexpr std::size_t kFirstAlone = 8;
constexpr std::size_t kAloneAtOnce = 256;
// After so many of them in one Check() the rest has to wait: each takes a few
// fresh processes to confirm, seconds on a GPU.
constexpr int kMostDeaths = 2;
// The first size at which kernels are known to dispatch otherwise; then its
// doubles.
constexpr std::int64_t kFirstThreshold = 64;
// Of cases that are judged among others, one in so many runs alone at least,
// whatever is drawn.
constexpr std::uint64_t kLeastAlone = 20;
// Cases of a shared call that a thread judges at a time.
constexpr std::size_t kPiece = 16;

bool AnyFails(const std::vector<Check>& checks) {
  return std::any_of(checks.begin(), checks.end(),
                     [](const Check& c) { return IsFailure(c.verdict); });
}

bool EndsProcess(const Observation& observation) {
  return std::any_of(observation.steps.begin(), observation.steps.end(),
                     [](const StepObservation& step) {
                       return step.status == CallStatus::kCrash ||
                              step.status == CallStatus::kHang ||
                              step.status == CallStatus::kOutOfMemory ||
                              step.status == CallStatus::kProtocol;
                     });
}

// Of a case's own calls, relations apart.
bool OwnFails(const std::vector<Check>& checks) {
  return std::any_of(checks.begin(), checks.end(), [](const Check& c) {
    return IsFailure(c.verdict) && !IsRelation(c.property);
  });
}

// One Check() at work.
class Batch {
 public:
  Batch(CaseChecker& checker, const TargetSet& targets, Executor& executor,
        const FusedOptions& options, FusedCounts& counts, FusedDraws& draws,
        std::vector<FusedInput> inputs, std::vector<FusedResult>& results)
      : checker_(checker),
        targets_(targets),
        executor_(executor),
        options_(options),
        counts_(counts),
        draws_(draws),
        contracts_(checker.contracts()),
        inputs_(std::move(inputs)),
        results_(results),
        states_(inputs_.size()) {
    if (options_.lent != nullptr) options_.lent->KeepAll(options_.judge_twice);
    results_.clear();
    results_.resize(inputs_.size());
  }

  absl::Status Run() {
    std::vector<std::size_t> alone;
    if (absl::Status s = RunCalls(Calls(&alone), &alone); !s.ok()) return s;
    // In their own order: what is found first is what came first. Where time is
    // over, what failed among others comes first.
    std::sort(alone.begin(), alone.end());
    if (options_.stop()) {
      std::partition(alone.begin(), alone.end(),
                     [this](std::size_t i) { return states_[i].failed_fused; });
    }
    if (absl::Status s = RunAlone(std::move(alone)); !s.ok()) return s;
    // Who is wrong among others alone may suffer from one of them.
    std::vector<std::size_t> rest;
    for (const Call& call : calls_) {
      if (!IsSuspect(call)) continue;
      for (const std::size_t i : call.members) {
        if (!results_[i].rerun) rest.push_back(i);
      }
    }
    if (absl::Status s = RunAlone(std::move(rest)); !s.ok()) return s;
    for (const Call& call : calls_) {
      if (absl::Status s = Conclude(call); !s.ok()) return s;
    }
    CountCases();
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      // Of what ran alone, the image is there already.
      if (states_[i].ran_alone) continue;
      results_[i].result.image = std::move(inputs_[i].image);
    }
    return absl::OkStatus();
  }

 private:
  struct State {
    bool ran_alone = false;
    bool told = false;  // a shared call told of it
    bool failed_fused = false;
    std::vector<Check> fused;  // what was said of it among others
  };
  struct Call {
    std::vector<std::size_t> members;
    // Why members could not be told; empty: they were.
    std::string untold;
    bool refused = false;
  };

  // Calls of two cases or more; the others go to `alone`.
  std::vector<std::vector<std::size_t>> Calls(std::vector<std::size_t>* alone) {
    struct Open {
      std::vector<std::size_t> members;
      std::int64_t bytes = 0;
    };
    std::map<std::string, Open> open;
    std::vector<std::vector<std::size_t>> calls;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i].key.empty()) {
        alone->push_back(i);
        continue;
      }
      Open& call = open[inputs_[i].key];
      const std::int64_t bytes = FusedBytes(inputs_[i].image);
      if (!call.members.empty() &&
          (call.members.size() >= options_.most_cases ||
           call.bytes + bytes > options_.most_bytes)) {
        calls.push_back(std::move(call.members));
        call = {};
      }
      call.members.push_back(i);
      call.bytes += bytes;
    }
    for (auto& [key, call] : open) calls.push_back(std::move(call.members));
    const auto single = [](const auto& call) { return call.size() < 2; };
    for (const auto& call : calls) {
      if (single(call)) alone->push_back(call[0]);
    }
    calls.erase(std::remove_if(calls.begin(), calls.end(), single),
                calls.end());
    return calls;
  }

  absl::Status RunCalls(std::vector<std::vector<std::size_t>> calls,
                        std::vector<std::size_t>* alone) {
    for (std::vector<std::size_t>& members : calls) Open(std::move(members));
    std::vector<std::unique_ptr<FusedCase>> fused(calls_.size());
    {
      ScopedSeconds timer(counts_.lay_seconds);
      ForEach(
          fused.size(), options_.threads,
          [&](std::size_t c) {
            std::vector<const CaseImage*> images;
            for (const std::size_t i : calls_[c].members) {
              images.push_back(&inputs_[i].image);
            }
            fused[c] = std::make_unique<FusedCase>(std::move(images));
          },
          1);
    }
    std::vector<LentCalls::Result> lent;
    if (options_.lent != nullptr) {
      ScopedSeconds timer(counts_.run_seconds);
      auto results = options_.lent->RunAll(fused, contracts_, options_.threads,
                                           options_.progress);
      if (!results.ok()) return results.status();
      lent = *std::move(results);
    }
    for (std::size_t c = 0; c < calls_.size(); ++c) {
      options_.progress();
      // A call that ends its process takes seconds, and its cases may, too: the
      // others wait for the next turn. Something is said of every turn.
      const bool needs_call = lent.empty() || !lent[c].why_not.empty();
      if (needs_call && (ended_calls_ > 0 || (c > 0 && options_.stop()))) {
        for (const std::size_t i : calls_[c].members) Postpone(i);
        continue;
      }
      if (absl::Status s = Finish(calls_[c], *fused[c],
                                  lent.empty() ? nullptr : &lent[c], alone);
          !s.ok()) {
        return s;
      }
    }
    return absl::OkStatus();
  }

  void Open(std::vector<std::size_t> members) {
    Call& call = calls_.emplace_back();
    call.members = std::move(members);
    for (const std::size_t i : call.members) {
      results_[i].together = call.members.size();
    }
  }

  // When all is said that will be.
  void CountCases() {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (results_[i].postponed) continue;
      ++(states_[i].told ? counts_.fused : counts_.alone);
      if (results_[i].judged_twice) ++counts_.rerun;
    }
    for (const Call& call : calls_) {
      const auto counts = [this](std::size_t i) {
        return states_[i].told && !results_[i].postponed;
      };
      if (std::any_of(call.members.begin(), call.members.end(), counts)) {
        ++counts_.calls;
      }
    }
  }

  // A call whose members are judged by what it left: calls that were not made,
  // since theirs were made with one.
  void CountShared(const Call& call) {
    for (const StepImage& step : inputs_[call.members[0]].image.steps) {
      counts_.shared[static_cast<std::size_t>(step.kernel)] +=
          call.members.size() - 1;
    }
  }

  void LeaveUntold(Call& call, std::string why,
                   std::vector<std::size_t>* alone) {
    // A refusal is no bad end.
    if (!call.refused) ++counts_.untold;
    options_.log(absl::StrCat("a call of ", call.members.size(),
                              " cases, each of which now runs alone: ", why));
    call.untold = std::move(why);
    alone->insert(alone->end(), call.members.begin(), call.members.end());
  }

  // What is said of a call's members. `lent`: how it went on lent memory; null:
  // it was not made.
  absl::Status Finish(Call& call, const FusedCase& fused,
                      LentCalls::Result* lent,
                      std::vector<std::size_t>* alone) {
    absl::StatusOr<std::vector<Observation>> seen =
        absl::UnknownError("not made");
    bool made = false;
    if (lent != nullptr) {
      made = lent->why_not.empty();
      if (!lent->unstable.empty()) {
        LeaveUntold(call, std::move(lent->unstable), alone);
        return absl::OkStatus();
      }
      if (!made) {
        options_.log(absl::StrCat("a call of ", call.members.size(),
                                  " cases on lent memory: ", lent->why_not));
      }
      if (lent->as_expected) {
        if (options_.judge_twice) {
          absl::Status s =
              JudgeTwice(fused, contracts_, *lent, options_.threads);
          if (!s.ok()) return s;
        }
        for (std::size_t m = 0; m < call.members.size(); ++m) {
          CaseResult& result = results_[call.members[m]].result;
          result.observation = std::move(lent->observations[m]);
          result.observation.steps.resize(fused.shape().steps.size());
          result.checks = lent->ChecksOf(m);
          result.left_out = lent->left_out;
        }
        counts_.lent += call.members.size();
        DrawReruns(call, alone);
        return absl::OkStatus();
      }
      if (made) seen = fused.Split(lent->together, options_.threads);
    }
    if (!made) {
      CaseImage image;
      {
        ScopedSeconds timer(counts_.lay_seconds);
        image = fused.Lay(options_.threads);
      }
      std::vector<Observation> observations;
      {
        ScopedSeconds timer(counts_.run_seconds);
        if (absl::Status s =
                executor_.Run(targets_, {&image, 1}, &observations);
            !s.ok()) {
          return s;
        }
      }
      ScopedSeconds timer(counts_.lay_seconds);
      seen = fused.Split(observations.at(0), options_.threads);
      for (const StepObservation& step : observations[0].steps) {
        call.refused |= step.status == CallStatus::kRefused ||
                        step.status == CallStatus::kNotImplemented;
      }
      if (EndsProcess(observations[0])) ++ended_calls_;
    }
    if (!seen.ok()) {
      LeaveUntold(call, std::string(seen.status().message()), alone);
      return absl::OkStatus();
    }
    {
      ScopedSeconds timer(counts_.judge_seconds);
      ForEach(
          call.members.size(), options_.threads,
          [&](std::size_t m) {
            CaseResult& result = results_[call.members[m]].result;
            result.observation = std::move((*seen)[m]);
            result.checks = Judge(contracts_, inputs_[call.members[m]].image,
                                  result.observation);
          },
          kPiece);
    }
    DrawReruns(call, alone);
    return absl::OkStatus();
  }

  // Who of a judged call runs alone, too.
  void DrawReruns(const Call& call, std::vector<std::size_t>* alone) {
    CountShared(call);
    std::int64_t rows = 0;
    std::int64_t threshold = kFirstThreshold;
    for (const std::size_t i : call.members) {
      rows += FusedRows(inputs_[i].image);
      bool again = rows >= threshold;
      while (rows >= threshold) threshold *= 2;
      // Upper bits: relations are drawn from others.
      again |= (inputs_[i].hash >> 24) % options_.alone_one_in == 0;
      ++draws_.judged;
      again |= draws_.drawn * kLeastAlone < draws_.judged;
      if (again) ++draws_.drawn;
      State& state = states_[i];
      state.told = true;
      state.failed_fused = AnyFails(results_[i].result.checks);
      if (again || state.failed_fused) alone->push_back(i);
    }
  }

  absl::Status RunAlone(std::vector<std::size_t> places) {
    ScopedSeconds timer(counts_.alone_seconds);
    std::size_t end = 0;
    for (std::size_t at = 0; at < places.size(); at = end) {
      options_.progress();
      if (deaths_ >= kMostDeaths || (at >= kFirstAlone && options_.stop())) {
        for (std::size_t k = at; k < places.size(); ++k) Postpone(places[k]);
        return absl::OkStatus();
      }
      const std::size_t size = deaths_ + ended_calls_ > 0
                                   ? 1
                                   : std::min(kAloneAtOnce, kFirstAlone + at);
      end = std::min(places.size(), at + size);
      std::vector<CaseImage> images;
      std::vector<CheckOptions> options;
      for (std::size_t k = at; k < end; ++k) {
        options.push_back(options_.relations(*inputs_[places[k]].image.source));
        images.push_back(std::move(inputs_[places[k]].image));
      }
      std::vector<CaseResult> checked;
      if (absl::Status s = checker_.CheckImages(std::move(images), options,
                                                &checked, options_.threads);
          !s.ok()) {
        return s;
      }
      for (std::size_t k = at; k < end; ++k) {
        FusedResult& result = results_[places[k]];
        State& state = states_[places[k]];
        state.fused = std::move(result.result.checks);
        state.ran_alone = true;
        result.rerun = result.together > 1;
        // A call that told nothing counts once, and not for each.
        result.judged_twice = result.rerun && !state.fused.empty();
        result.result = std::move(checked[k - at]);
        if (EndsProcess(result.result.observation)) ++deaths_;
      }
    }
    return absl::OkStatus();
  }

  // A case that was right among others stays so.
  void Postpone(std::size_t i) {
    if (!states_[i].failed_fused && !results_[i].result.checks.empty()) return;
    results_[i] = FusedResult();
    results_[i].postponed = true;
  }

  bool FailsAlone(std::size_t i) const {
    return results_[i].rerun && OwnFails(results_[i].result.checks);
  }

  // One of its cases is wrong among the others and not alone.
  bool IsSuspect(const Call& call) const {
    return std::any_of(call.members.begin(), call.members.end(),
                       [this](std::size_t i) {
                         return states_[i].failed_fused && !FailsAlone(i);
                       });
  }

  absl::Status Conclude(const Call& call) {
    // Whoever is to blame may be among those that are left.
    if (std::any_of(call.members.begin(), call.members.end(),
                    [this](std::size_t i) { return results_[i].postponed; })) {
      return absl::OkStatus();
    }
    const std::size_t others = call.members.size() - 1;
    const bool culprit =
        std::any_of(call.members.begin(), call.members.end(),
                    [this](std::size_t i) { return FailsAlone(i); });
    if (!call.untold.empty()) {
      if (culprit || call.refused) return absl::OkStatus();
      return Blame(call.members[0], others, call.untold);
    }
    for (const std::size_t i : call.members) {
      if (!results_[i].rerun) continue;
      const bool fails_alone = FailsAlone(i);
      if (states_[i].failed_fused && !fails_alone) {
        if (culprit) continue;
        if (absl::Status s = Blame(i, others, DetailOf(states_[i].fused));
            !s.ok()) {
          return s;
        }
      } else if (!states_[i].failed_fused && fails_alone) {
        ++counts_.only_alone;
        for (Check& check : results_[i].result.checks) {
          if (!IsFailure(check.verdict)) continue;
          absl::StrAppend(&check.detail, "; among ", others,
                          " others in one call it was right");
        }
      } else if (!fails_alone) {
        AddPass(results_[i].result);
      }
    }
    return absl::OkStatus();
  }

  static std::string DetailOf(const std::vector<Check>& checks) {
    for (const Check& check : checks) {
      if (IsFailure(check.verdict)) {
        return absl::StrCat(check.property, ": ", check.detail);
      }
    }
    return "";
  }

  // A finding: right alone, wrong among others. Copies of it show it too, if
  // the batch's shape alone does it; then the case shows it by itself.
  absl::Status Blame(std::size_t i, std::size_t others,
                     const std::string& detail) {
    ++counts_.only_fused;
    CaseResult& result = results_[i].result;
    const std::string seen =
        absl::StrCat("among ", others, " others in one call: ", detail);
    const std::size_t before = result.checks.size();
    for (const Relation& r : AllRelations()) {
      if (r.name != std::string(kFusedRelation) ||
          !r.applies(targets_, contracts_, result.image)) {
        continue;
      }
      if (absl::Status s =
              r.run(targets_, executor_, contracts_, result.image,
                    result.observation, inputs_[i].hash, &result.checks);
          !s.ok()) {
        return s;
      }
    }
    bool shown = false;
    for (std::size_t k = before; k < result.checks.size(); ++k) {
      Check& check = result.checks[k];
      if (!IsFailure(check.verdict)) continue;
      shown = true;
      check.detail = absl::StrCat(seen, "; ", check.detail);
    }
    if (shown) return absl::OkStatus();
    result.checks.resize(before);
    int step = 0;
    for (const Check& check : states_[i].fused) {
      if (IsFailure(check.verdict)) step = check.step;
    }
    result.checks.push_back(
        {step, result.image.steps[static_cast<std::size_t>(step)].kernel,
         kFusedRelation, Verdict::kFail,
         absl::StrCat(seen, "; not among copies of itself"), nullptr});
    return absl::OkStatus();
  }

  static void AddPass(CaseResult& result) {
    for (std::size_t step = 0; step < result.image.steps.size(); ++step) {
      result.checks.push_back({static_cast<int>(step),
                               result.image.steps[step].kernel, kFusedRelation,
                               Verdict::kPass, "", nullptr});
    }
  }

  CaseChecker& checker_;
  const TargetSet& targets_;
  Executor& executor_;
  const FusedOptions& options_;
  FusedCounts& counts_;
  FusedDraws& draws_;
  const Contracts contracts_;
  std::vector<FusedInput> inputs_;
  int deaths_ = 0;
  int ended_calls_ = 0;  // shared ones that ended their process
  std::vector<FusedResult>& results_;
  std::vector<State> states_;
  std::vector<Call> calls_;
};

}  // namespace

absl::Status FusedChecker::Check(std::vector<FusedInput> inputs,
                                 std::vector<FusedResult>* results) {
  return Batch(checker_, targets_, executor_, options_, counts_, draws_,
               std::move(inputs), *results)
      .Run();
}

absl::Status FusedChecker::Check(std::vector<CaseImage> images,
                                 std::vector<FusedResult>* results,
                                 const std::vector<char>& alone) {
  std::vector<FusedInput> inputs(images.size());
  const Contracts contracts = checker_.contracts();
  ForEach(images.size(), options_.threads, [&](std::size_t i) {
    FusedInput& input = inputs[i];
    input.image = std::move(images[i]);
    input.hash = CaseHash(*input.image.source);
    if (i < alone.size() && alone[i] != 0) return;
    auto key = FuseKey(contracts, input.image);
    if (key.ok()) input.key = *std::move(key);
  });
  return Check(std::move(inputs), results);
}

}  // namespace mlafuzz
