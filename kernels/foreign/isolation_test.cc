#include "kernels/foreign/isolation.h"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

// Places of cases in the list that a test began with.
using Places = std::vector<std::size_t>;

// Runs no case: a test says who dies.
class Imagined : public Attempts {
 public:
  explicit Imagined(std::size_t cases) : images(cases), seen(cases) {}

  absl::StatusOr<std::optional<Casualty>> Run(
      absl::Span<const CaseRun> cases) override {
    ++runs;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      *cases[i].seen = {};
      StepObservation& step = cases[i].seen->steps.emplace_back();
      history_.push_back(
          static_cast<std::size_t>(cases[i].image - images.data()));
      if (strays && strays(history_.back(), cases.size() == 1)) {
        step.strays.emplace_back();
      }
      const std::optional<CallStatus> status = death(history_);
      if (!status.has_value()) continue;
      history_.clear();
      step.status = *status;
      step.message = absl::StrCat("death ", runs);
      return Casualty{i, step.status, step.message};
    }
    return std::nullopt;
  }
  void StartAfresh() override { history_.clear(); }
  void SetPatience(double times) override {
    StartAfresh();
    patience = times;
  }
  bool Overran() const override { return overran; }

  absl::Status RunAll() {
    std::vector<CaseRun> cases;
    for (std::size_t i = 0; i < images.size(); ++i) {
      cases.push_back({&images[i], &seen[i]});
    }
    return RunIsolated(*this, std::move(cases));
  }

  const StepObservation& step(std::size_t place) const {
    return seen[place].steps.at(0);
  }
  // Cases that did not end well.
  Places Dead() const {
    Places dead;
    for (std::size_t i = 0; i < seen.size(); ++i) {
      if (step(i).status != CallStatus::kOk) dead.push_back(i);
    }
    return dead;
  }

  // How the last of all that one process has run dies of it, if it does.
  std::function<std::optional<CallStatus>(const Places&)> death;
  // Whether a case that runs, alone or not, has damage around it.
  std::function<bool(std::size_t, bool alone)> strays;
  bool overran = false;
  double patience = 1;
  int runs = 0;
  std::vector<CaseImage> images;
  std::vector<Observation> seen;

 private:
  Places history_;  // of the process at hand
};

TEST(RunIsolatedTest, CasesThatLiveRunOnce) {
  Imagined runs(5);
  runs.death = [](const Places&) { return std::nullopt; };
  ASSERT_TRUE(runs.RunAll().ok());
  EXPECT_EQ(runs.runs, 1);
  EXPECT_EQ(runs.Dead(), Places());
}

TEST(RunIsolatedTest, EachOneThatDiesAloneHasItsOwnDeath) {
  Imagined runs(9);
  runs.death = [](const Places& ran) -> std::optional<CallStatus> {
    if (ran.back() % 4 == 2) return CallStatus::kCrash;
    return std::nullopt;
  };
  ASSERT_TRUE(runs.RunAll().ok());
  EXPECT_EQ(runs.Dead(), (Places{2, 6}));
  EXPECT_EQ(runs.step(2).message.find("alone"), std::string::npos);
}

TEST(RunIsolatedTest, OneThatDiesNowAndThenIsSaidTo) {
  Imagined runs(3);
  int alone = 0;
  runs.death = [&](const Places& ran) -> std::optional<CallStatus> {
    if (ran.back() != 1) return std::nullopt;
    if (ran.size() == 1 && ++alone == 2) return std::nullopt;
    return CallStatus::kCrash;
  };
  ASSERT_TRUE(runs.RunAll().ok());
  EXPECT_EQ(runs.Dead(), Places{1});
  EXPECT_NE(runs.step(1).message.find("; alone 2 of 3 times"),
            std::string::npos)
      << runs.step(1).message;
}

// Case `culprit` leaves behind what case `victim` dies of.
std::function<std::optional<CallStatus>(const Places&)> DiesAfter(
    std::size_t culprit, std::size_t victim) {
  return [=](const Places& ran) -> std::optional<CallStatus> {
    if (ran.back() != victim) return std::nullopt;
    for (const std::size_t place : ran) {
      if (place == culprit) return CallStatus::kCrash;
    }
    return std::nullopt;
  };
}

TEST(RunIsolatedTest, TheCulpritIsFoundWhereverItIs) {
  constexpr std::size_t kCases = 12;
  for (std::size_t victim = 1; victim < kCases; ++victim) {
    for (std::size_t culprit = 0; culprit < victim; ++culprit) {
      SCOPED_TRACE(absl::StrCat(culprit, " before ", victim));
      Imagined runs(kCases);
      runs.death = DiesAfter(culprit, victim);
      ASSERT_TRUE(runs.RunAll().ok());
      EXPECT_EQ(runs.Dead(), Places{culprit});
      EXPECT_NE(runs.step(culprit).message.find(
                    absl::StrCat("not alone, but in one process with the ",
                                 victim - culprit, " cases after it: ")),
                std::string::npos)
          << runs.step(culprit).message;
    }
  }
}

TEST(RunIsolatedTest, ADeathThatDoesNotComeAgainIsKept) {
  Imagined runs(6);
  int deaths = 0;
  runs.death = [&](const Places& ran) -> std::optional<CallStatus> {
    if (ran.back() != 3 || deaths > 0) return std::nullopt;
    ++deaths;
    return CallStatus::kCrash;
  };
  ASSERT_TRUE(runs.RunAll().ok());
  EXPECT_EQ(runs.Dead(), Places{3});
  EXPECT_EQ(runs.step(3).message,
            "once, and not again in a fresh process: death 1");
}

TEST(RunIsolatedTest, AHangIsOneWithPatienceToo) {
  Imagined runs(3);
  runs.death = [&](const Places& ran) -> std::optional<CallStatus> {
    if (ran.back() == 1) return CallStatus::kHang;
    return std::nullopt;
  };
  ASSERT_TRUE(runs.RunAll().ok());
  EXPECT_EQ(runs.Dead(), Places{1});
  EXPECT_EQ(runs.step(1).message, "death 2; in a fresh process: death 3");
  EXPECT_EQ(runs.patience, 1);
}

TEST(RunIsolatedTest, ASlowCaseIsNoFault) {
  Imagined runs(3);
  runs.overran = true;
  runs.death = [&](const Places& ran) -> std::optional<CallStatus> {
    if (ran.back() == 1 && runs.patience == 1) return CallStatus::kHang;
    return std::nullopt;
  };
  ASSERT_TRUE(runs.RunAll().ok());
  EXPECT_EQ(runs.Dead(), Places());
}

TEST(RunIsolatedTest, AHangThatComesAndGoesIsKept) {
  Imagined runs(1);
  runs.death = [&](const Places&) -> std::optional<CallStatus> {
    if (runs.patience == 1) return CallStatus::kHang;
    return std::nullopt;
  };
  ASSERT_TRUE(runs.RunAll().ok());
  EXPECT_EQ(runs.step(0).status, CallStatus::kHang);
  EXPECT_EQ(runs.step(0).message,
            "death 1; once, and not again in a fresh process");
}

TEST(RunIsolatedTest, NobodyPaysForANeighboursStrays) {
  Imagined runs(4);
  runs.death = [](const Places&) { return std::nullopt; };
  // Case 1 writes over its neighbour's redzones as well as over its own.
  runs.strays = [](std::size_t place, bool alone) {
    return place == 1 || (place == 2 && !alone);
  };
  ASSERT_TRUE(runs.RunAll().ok());
  EXPECT_EQ(runs.runs, 5);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(runs.step(i).strays.empty(), i != 1) << i;
  }
}

TEST(RunIsolatedTest, FailsAsTheRunsDo) {
  class Broken : public Imagined {
   public:
    using Imagined::Imagined;
    absl::StatusOr<std::optional<Casualty>> Run(
        absl::Span<const CaseRun>) override {
      return absl::ResourceExhaustedError("no memory");
    }
  };
  EXPECT_EQ(Broken(2).RunAll().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace mlafuzz
