#include "fuzz/worker/bench_kills.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "fuzz/mutator/siblings.h"
#include "fuzz/worker/session.h"
#include "kernels/foreign/executor.h"
#include "kernels/target_set.h"
#include "oracle/verdict.h"
#include "properties/fused/fused_checker.h"
#include "properties/fused/lent_calls.h"
#include "properties/generate.h"
#include "properties/ledger/ledger.h"

namespace mlafuzz {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kOfEachKernel = 4;
constexpr std::size_t kAlone = 64;    // cases of a batch
constexpr std::size_t kShared = 256;  // that may share calls
// As in a campaign: a case and its siblings.
constexpr std::size_t kSiblings = 15;
constexpr double kMostSeconds = 2;
constexpr std::uint64_t kSeed = 1;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// A result gives it away, whatever else does.
bool ShowsInResults(const LedgerEntry& entry) {
  const std::array<const char*, 4> exact = {
      property::kWriterRow, property::kGather, property::kConvert,
      property::kDecodeOut};
  return entry.layout == FP8_DS_MLA && entry.right == "builtin" &&
         entry.kernels.size() == 1 &&
         std::any_of(entry.properties.begin(), entry.properties.end(),
                     [&](const std::string& name) {
                       return std::find(exact.begin(), exact.end(), name) !=
                              exact.end();
                     });
}

// Evenly over the ledger's order.
std::vector<std::string> FixedSet() {
  std::vector<std::string> names;
  for (const Kernel kernel : kAllKernels) {
    std::vector<std::string> all;
    for (const LedgerEntry& entry : Ledger()) {
      if (ShowsInResults(entry) && entry.kernels[0] == kernel) {
        all.push_back(entry.target);
      }
    }
    const std::size_t take = std::min(all.size(), kOfEachKernel);
    for (std::size_t i = 0; i < take; ++i) {
      names.push_back(all[i * all.size() / take]);
    }
  }
  return names;
}

bool AnyFails(const std::vector<Check>& checks) {
  return std::any_of(checks.begin(), checks.end(), [](const Check& check) {
    return IsFailure(check.verdict);
  });
}

class Hunt {
 public:
  Hunt(Session& session, LentCalls* lent, const Targets& targets,
       const std::function<void()>& progress)
      : session_(session),
        lent_(lent),
        progress_(progress),
        contracts_(session.checker().contracts()) {
    std::vector<std::string> kernels;
    const std::vector<Kernel> tested = KernelsUnderTest(targets);
    for (const Kernel kernel : tested) kernels.push_back(KernelName(kernel));
    options_ = GeneratorFor(kernels, session.targets(), tested);
  }

  // Starts a runner.
  absl::Status WarmUp() {
    Choices choices(kSeed + 1000003);
    const Case c = GenerateCase(choices, options_);
    CaseResult result;
    return session_.checker().CheckCase(c, CheckOptions(), &result);
  }

  absl::Status Alone(BenchResult::Kill::Way* way) {
    return Until(way, [this](Choices& choices, bool* found) -> absl::Status {
      std::vector<Case> cases;
      std::vector<const Case*> pointers;
      cases.reserve(kAlone);
      for (std::size_t i = 0; i < kAlone; ++i) {
        cases.push_back(GenerateCase(choices, options_));
        pointers.push_back(&cases.back());
      }
      std::vector<CaseResult> results;
      absl::Status s =
          session_.checker().CheckCases(pointers, CheckOptions(), &results);
      for (const CaseResult& result : results)
        *found |= AnyFails(result.checks);
      return s;
    });
  }

  absl::Status Fused(BenchResult::Kill::Way* way) {
    FusedOptions options;
    options.lent = lent_;
    options.most_cases = kShared;
    FusedChecker fused(session_.checker(), session_.targets(),
                       session_.executor(), options);
    return Until(
        way,
        [&](Choices& choices, bool* found) -> absl::Status {
          std::deque<Case> cases;
          std::vector<CaseImage> images;
          const auto add = [&](Case c) {
            cases.push_back(std::move(c));
            auto image = BuildImage(cases.back());
            if (image.ok()) images.push_back(*std::move(image));
          };
          while (images.size() < kShared) {
            Case c = GenerateCase(choices, options_);
            for (Sibling& sibling :
                 MakeSiblings(contracts_, c, kSiblings, choices, options_)) {
              add(std::move(*sibling.c));
            }
            add(std::move(c));
          }
          std::vector<FusedResult> results;
          absl::Status s = fused.Check(std::move(images), &results);
          for (const FusedResult& result : results) {
            *found |= AnyFails(result.result.checks);
          }
          return s;
        },
        [&fused] {
          const auto& shared = fused.counts().shared;
          return std::accumulate(shared.begin(), shared.end(),
                                 std::uint64_t{0});
        });
  }

 private:
  std::uint64_t Executions() const {
    const auto executions = session_.executions();
    return std::accumulate(executions.begin(), executions.end(),
                           std::uint64_t{0});
  }

  // `round` until it finds something. `shared`: calls of which the executor
  // knows nothing.
  absl::Status Until(
      BenchResult::Kill::Way* way,
      const std::function<absl::Status(Choices&, bool*)>& round,
      const std::function<std::uint64_t()>& shared = [] {
        return std::uint64_t{0};
      }) {
    Choices choices(kSeed);
    const std::uint64_t before = Executions();
    const Clock::time_point start = Clock::now();
    bool found = false;
    while (!found && SecondsSince(start) < kMostSeconds) {
      progress_();
      if (absl::Status s = round(choices, &found); !s.ok()) return s;
    }
    way->set_found(found);
    way->set_seconds(SecondsSince(start));
    way->set_calls(Executions() - before + shared());
    return absl::OkStatus();
  }

  Session& session_;
  LentCalls* const lent_;
  const std::function<void()>& progress_;
  const Contracts contracts_;
  GeneratorOptions options_;
};

}  // namespace

absl::Status BenchKills(const Targets& targets,
                        const std::function<void()>& progress,
                        BenchResult& result) {
  for (const std::string& name : FixedSet()) {
    progress();
    Targets wrong = targets;
    wrong.set_all(absl::StrCat(kOnDevice, name));
    auto session = Session::Create(wrong);
    if (!session.ok()) return session.status();
    auto& executor = static_cast<ForeignExecutor&>((*session)->executor());
    const FusedOptions defaults;
    auto lent =
        LentCalls::Create((*session)->targets(), executor,
                          2 * static_cast<std::uint64_t>(defaults.most_bytes));
    Hunt hunt(**session, lent.ok() ? lent->get() : nullptr, wrong, progress);
    if (absl::Status s = hunt.WarmUp(); !s.ok()) return s;
    BenchResult::Kill& kill = *result.add_kills();
    kill.set_target(name);
    if (absl::Status s = hunt.Alone(kill.mutable_alone()); !s.ok()) return s;
    if (absl::Status s = hunt.Fused(kill.mutable_fused()); !s.ok()) return s;
  }
  return absl::OkStatus();
}

}  // namespace mlafuzz
