#include "kernels/foreign/isolation.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "corpus/observation.h"

namespace mlafuzz {
namespace {

// A case that kills its runner does so this often, alone in fresh ones.
constexpr int kConfirmations = 3;
// One that does not end in time is given so many times as long, once, alone.
constexpr double kPatience = 4;

using Cases = absl::Span<const CaseRun>;

// A case that kills its runner.
struct Culprit {
  std::size_t place;  // in the list that was run
  bool alone;         // it dies without the others
};

bool AnyStrays(Cases cases) {
  return std::any_of(cases.begin(), cases.end(), [](const CaseRun& run) {
    const auto& steps = run.seen->steps;
    return std::any_of(steps.begin(), steps.end(),
                       [](const auto& step) { return !step.strays.empty(); });
  });
}

class Isolation {
 public:
  explicit Isolation(Attempts& attempts) : attempts_(attempts) {}

  absl::Status Run(std::vector<CaseRun> pending) {
    while (!pending.empty()) {
      auto casualty = Attempt(pending);
      if (!casualty.ok()) return casualty.status();
      if (!casualty->has_value()) break;
      if (pending.size() == 1) return absl::OkStatus();
      auto culprit = Find(pending, **casualty);
      if (!culprit.ok()) return culprit.status();
      pending.erase(pending.begin() +
                    static_cast<std::ptrdiff_t>(culprit->place));
      if (!culprit->alone) return RunHalves(pending);
    }
    if (pending.size() < 2 || !AnyStrays(pending)) return absl::OkStatus();
    return RunEachAlone(pending);
  }

 private:
  // What takes a number of calls may happen to the others again.
  absl::Status RunHalves(Cases pending) {
    const std::size_t half = pending.size() / 2;
    for (const Cases part : {pending.subspan(0, half), pending.subspan(half)}) {
      attempts_.StartAfresh();
      if (absl::Status s = Run({part.begin(), part.end()}); !s.ok()) return s;
    }
    return absl::OkStatus();
  }

  // Somebody wrote where it must not, and perhaps over more than redzones.
  absl::Status RunEachAlone(Cases pending) {
    for (const CaseRun& run : pending) {
      auto alone = Attempt({&run, 1});
      if (!alone.ok()) return alone.status();
      if (!alone->has_value()) continue;
      if (auto deaths = Confirm(run); !deaths.ok()) return deaths.status();
    }
    return absl::OkStatus();
  }

  // Finds the case of `pending` that kills its runner and gives it its
  // observation.
  absl::StatusOr<Culprit> Find(Cases pending, const Casualty& casualty) {
    const std::size_t hinted = casualty.place;
    slow_ = false;
    auto deaths = Confirm(pending[hinted]);
    if (!deaths.ok()) return deaths.status();
    if (*deaths > 0 || slow_) return Culprit{hinted, true};
    // The note was wrong, or an earlier case has left something behind.
    const auto last = LastNeeded(pending.subspan(0, hinted + 1));
    if (!last.ok()) return last.status();
    std::size_t culprit = *last;
    if (culprit != hinted && culprit != 0) {
      deaths = Confirm(pending[culprit]);
      if (!deaths.ok()) return deaths.status();
      if (*deaths > 0) return Culprit{culprit, true};
    }
    bool again = culprit != 0;
    if (!again) {
      // Not tried yet: all of them.
      auto dead = AttemptAfresh(pending.subspan(0, hinted + 1));
      if (!dead.ok()) return dead.status();
      again = dead->has_value();
      if (again && hinted != 0) {
        deaths = Confirm(pending[0]);
        if (!deaths.ok()) return deaths.status();
        if (*deaths > 0) return Culprit{0, true};
      }
    }
    if (!again) culprit = hinted;
    PutDown(casualty, again, hinted - culprit, *pending[culprit].seen);
    return Culprit{culprit, false};
  }

  // The last of `cases` without which the others behind it live on, by halving;
  // 0 also if they do with it.
  absl::StatusOr<std::size_t> LastNeeded(Cases cases) {
    std::size_t low = 0;
    std::size_t high = cases.size() - 1;
    while (low < high) {
      const std::size_t middle = low + (high - low + 1) / 2;
      auto dead = AttemptAfresh(cases.subspan(middle));
      if (!dead.ok()) return dead.status();
      if (dead->has_value()) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }

  // The observation of a case that does not die alone. `again`: it does with
  // the `others` cases after it.
  static void PutDown(const Casualty& casualty, bool again, std::size_t others,
                      Observation& seen) {
    seen.steps.resize(1);
    seen.steps[0] = {};
    seen.steps[0].status = casualty.status;
    seen.steps[0].message =
        again ? absl::StrCat("not alone, but in one process with the ", others,
                             " cases after it: ", casualty.message)
              : absl::StrCat("once, and not again in a fresh process: ",
                             casualty.message);
  }

  // Runs one case alone in fresh runners; how often it died. Three times, but
  // for one that lives through the first.
  absl::StatusOr<int> Confirm(const CaseRun& one) {
    int deaths = 0;
    Observation dead;
    for (int run = 0; run < kConfirmations; ++run) {
      auto casualty = AttemptAfresh({&one, 1});
      if (!casualty.ok()) return casualty.status();
      if (casualty->has_value()) {
        ++deaths;
        dead = *one.seen;
        // It had its second run, which takes longest.
        if ((*casualty)->status == CallStatus::kHang) {
          deaths = kConfirmations;
          break;
        }
      } else if (run == 0) {
        return 0;
      }
    }
    if (deaths < kConfirmations) {
      absl::StrAppend(&dead.steps.back().message, "; alone ", deaths, " of ",
                      kConfirmations, " times");
    }
    *one.seen = std::move(dead);
    return deaths;
  }

  absl::StatusOr<std::optional<Casualty>> AttemptAfresh(Cases cases) {
    attempts_.StartAfresh();
    return Attempt(cases);
  }

  // Runs cases together. A death ends the attempt; of a single case it is the
  // observation. A single case that hangs has hung twice.
  absl::StatusOr<std::optional<Casualty>> Attempt(Cases cases) {
    auto first = attempts_.Run(cases);
    if (cases.size() != 1 || !first.ok() || !first->has_value() ||
        (*first)->status != CallStatus::kHang) {
      return first;
    }
    Observation& seen = *cases[0].seen;
    Observation hung = seen;
    attempts_.SetPatience(kPatience);
    auto second = attempts_.Run(cases);
    const bool overran = attempts_.Overran();
    // Not to be left with other calls.
    attempts_.SetPatience(1);
    if (!second.ok()) return second;
    if (!second->has_value()) {
      // Slow, or something that comes and goes?
      slow_ = overran;
      if (slow_) return second;
      absl::StrAppend(&(*first)->message,
                      "; once, and not again in a fresh process");
      seen = std::move(hung);
      seen.steps.back().message = (*first)->message;
      return first;
    }
    if ((*second)->status == CallStatus::kHang) {
      std::string message = absl::StrCat(
          (*first)->message, "; in a fresh process: ", (*second)->message);
      seen.steps.back().message = message;
      (*second)->message = std::move(message);
    }
    return second;
  }

  Attempts& attempts_;
  bool slow_ = false;  // the last single case ended, but not in its limit
};

}  // namespace

absl::Status RunIsolated(Attempts& attempts, std::vector<CaseRun> cases) {
  return Isolation(attempts).Run(std::move(cases));
}

}  // namespace mlafuzz
