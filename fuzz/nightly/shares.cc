#include "fuzz/nightly/shares.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "corpus/codec.h"
#include "corpus/image.h"
#include "corpus/knobs.h"
#include "fuzz/nightly/config.h"
#include "fuzz/state/records.h"

namespace mlafuzz {
namespace {

using Ids = std::set<std::string>;

// Value classes of cases. One of an older version that does not build any more
// exercises none.
absl::StatusOr<std::set<int>> KnobsOf(const State& state, const Ids& cases) {
  std::set<int> knobs;
  for (const std::string& id : cases) {
    const auto binary = state.Get(Kind::kCase, id);
    if (!binary.ok()) return binary.status();
    const auto c = ParseCaseBinary(*binary);
    if (!c.ok()) continue;
    const auto image = BuildImage(*c);
    if (!image.ok()) continue;
    for (const int knob : ExercisedKnobs(*image)) knobs.insert(knob);
  }
  return knobs;
}

}  // namespace

double ExpectedPay(const Yield& yield) {
  if (yield.units == 0) return 0.5;
  if (yield.checks == 0) return 0;
  return static_cast<double>(yield.kept + yield.knobs + 1) /
         static_cast<double>(yield.cases + 2) *
         static_cast<double>(yield.informative) /
         static_cast<double>(yield.checks);
}

std::vector<std::uint64_t> ShareUnits(std::uint64_t units,
                                      const std::vector<Yield>& yields) {
  std::vector<double> pays;
  double all = 0;
  for (const Yield& yield : yields) {
    pays.push_back(ExpectedPay(yield));
    all += pays.back();
  }
  if (all == 0) {
    std::fill(pays.begin(), pays.end(), 1.0);
    all = static_cast<double>(pays.size());
  }
  std::vector<std::uint64_t> shares;
  std::vector<std::pair<double, std::size_t>> rests;
  std::uint64_t given = 0;
  for (std::size_t i = 0; i < pays.size(); ++i) {
    const double exact = static_cast<double>(units) * pays[i] / all;
    shares.push_back(
        std::min(units - given, static_cast<std::uint64_t>(exact)));
    given += shares.back();
    rests.emplace_back(static_cast<double>(shares.back()) - exact, i);
  }
  // The largest rest first, of equals the first work.
  std::sort(rests.begin(), rests.end());
  for (std::size_t k = 0; given < units && !rests.empty();
       k = (k + 1) % rests.size()) {
    ++shares[rests[k].second];
    ++given;
  }
  return shares;
}

absl::StatusOr<std::vector<Yield>> YieldsOf(
    const State& state, std::uint64_t night,
    const std::vector<WorkName>& works) {
  std::vector<Yield> yields(works.size());
  const auto units = ReadUnits(state);
  if (!units.ok()) return units.status();
  std::map<std::string, std::set<int>> epochs;  // and their value classes
  for (std::size_t i = 0; i < works.size(); ++i) {
    std::map<std::string, Ids> kept;  // by epoch
    for (const auto& [bytes, unit] : units->done) {
      const UnitKey& key = unit.key();
      if (key.seed() < FirstSeed(night) || key.seed() >= FirstSeed(night + 1) ||
          key.targets() != works[i].targets ||
          !std::equal(key.kernels().begin(), key.kernels().end(),
                      works[i].kernels.begin(), works[i].kernels.end())) {
        continue;
      }
      ++yields[i].units;
      yields[i].cases += unit.cases();
      yields[i].checks += unit.checks();
      yields[i].informative += unit.informative();
      yields[i].kept += static_cast<std::uint64_t>(unit.kept_size());
      kept[key.epoch()].insert(unit.kept().begin(), unit.kept().end());
    }
    for (const auto& [id, cases] : kept) {
      if (epochs.count(id) == 0) {
        const auto epoch = ReadEpoch(state, id);
        if (!epoch.ok()) return epoch.status();
        auto knobs =
            KnobsOf(state, Ids(epoch->cases().begin(), epoch->cases().end()));
        if (!knobs.ok()) return knobs.status();
        epochs.emplace(id, *std::move(knobs));
      }
      const auto knobs = KnobsOf(state, cases);
      if (!knobs.ok()) return knobs.status();
      for (const int knob : *knobs) {
        yields[i].knobs += epochs.at(id).count(knob) == 0;
      }
    }
  }
  return yields;
}

std::string YieldText(const Yield& yield) {
  if (yield.units == 0) return "has not run yet";
  const auto ratio = [](std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0.0
                      : static_cast<double>(part) / static_cast<double>(whole);
  };
  return absl::StrFormat(
      "%.4f new of a case, %.0f %% informative, %d new value "
      "classes",
      ratio(yield.kept, yield.cases),
      100 * ratio(yield.informative, yield.checks), yield.knobs);
}

}  // namespace mlafuzz
