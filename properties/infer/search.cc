#include "properties/infer/search.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "properties/infer/arithmetic.h"

namespace mlafuzz {
namespace {

constexpr int kRounds = 6;
// Of those that help, how many are judged on all probes.
constexpr std::size_t kFinalists = 4;
// Failing probes by which candidates, and pairs of them, are first compared.
constexpr std::size_t kSample = 24;
constexpr std::size_t kPairSample = 6;

std::vector<const Probe*> SpreadOver(const std::vector<const Probe*>& all,
                                     std::size_t most) {
  if (all.size() <= most) return all;
  std::vector<const Probe*> some;
  for (std::size_t i = 0; i < most; ++i) {
    some.push_back(all[i * all.size() / most]);
  }
  return some;
}

int CountExcused(const Contract& contract,
                 const std::vector<const Probe*>& failing) {
  return static_cast<int>(
      std::count_if(failing.begin(), failing.end(), [&](const Probe* probe) {
        return FitOf(contract, *probe) != Fit::kContradicted;
      }));
}

// A neighbour with how many failing probes of a sample it does not contradict.
struct Candidate {
  Contract contract;
  std::string field;   // of one change
  std::string change;  // "writer.tail=TAIL_UNCHANGED"
  int gain = 0;
  Tally tally;            // on all
  std::size_t order = 0;  // in which it was found
};

void KeepFinalists(std::vector<Candidate>* candidates) {
  for (std::size_t i = 0; i < candidates->size(); ++i) {
    (*candidates)[i].order = i;
  }
  std::sort(candidates->begin(), candidates->end(),
            [](const Candidate& a, const Candidate& b) {
              return a.gain != b.gain ? a.gain > b.gain : a.order < b.order;
            });
  if (candidates->size() <= kFinalists) return;
  // With all that tie with the last.
  std::size_t keep = kFinalists;
  while (keep < candidates->size() && keep < 2 * kFinalists &&
         (*candidates)[keep].gain == (*candidates)[kFinalists - 1].gain) {
    ++keep;
  }
  candidates->resize(keep);
}

class Search {
 public:
  Search(Kernel kernel, absl::Span<const Probe> probes,
         const SearchOptions& options)
      : kernel_(kernel), probes_(probes), options_(options) {}

  SearchResult Run(const Contract& declared) {
    SearchResult result;
    result.contract = declared;
    result.as_declared = TallyOf(declared, probes_);
    result.tally = result.as_declared;
    Climb(&result);
    if (!Failing(result.contract).empty()) {
      TryPairs(declared, &result);
    }
    Undo(declared, &result);
    return result;
  }

 private:
  std::vector<Neighbour> All(const Contract& contract) const {
    std::vector<Neighbour> all = Neighbours(contract, kernel_);
    if (kernel_ == Kernel::kDecode) {
      for (Neighbour& n : ArithmeticNeighbours(contract)) {
        all.push_back(std::move(n));
      }
    }
    return all;
  }

  std::vector<const Probe*> Failing(const Contract& contract) const {
    std::vector<const Probe*> failing;
    for (const Probe& probe : probes_) {
      if (FitOf(contract, probe) == Fit::kContradicted) {
        failing.push_back(&probe);
      }
    }
    return failing;
  }

  // The best change again and again.
  void Climb(SearchResult* result) {
    for (int round = 0; round < kRounds; ++round) {
      const std::vector<const Probe*> failing = Failing(result->contract);
      if (failing.empty()) return;
      const std::vector<const Probe*> sample = SpreadOver(failing, kSample);
      std::vector<Candidate> candidates;
      for (Neighbour& n : All(result->contract)) {
        options_.progress();
        const int gain = CountExcused(n.contract, sample);
        if (gain == 0) continue;
        candidates.push_back({std::move(n.contract), n.field,
                              absl::StrCat(n.field, "=", n.changed), gain});
      }
      KeepFinalists(&candidates);
      if (!Take(candidates, result)) return;
    }
  }

  // The first of the best; false if none is better than what there is.
  bool Take(std::vector<Candidate>& candidates, SearchResult* result) {
    const Candidate* best = nullptr;
    for (Candidate& c : candidates) {
      options_.progress();
      c.tally = TallyOf(c.contract, probes_);
      if (best == nullptr || c.tally.BetterThan(best->tally)) best = &c;
    }
    if (best == nullptr || !best->tally.BetterThan(result->tally)) return false;
    std::vector<std::string>& also = result->also[best->field];
    also.clear();
    for (const Candidate& c : candidates) {
      if (c.field != best->field && !best->tally.BetterThan(c.tally)) {
        also.push_back(c.change);
      }
    }
    result->contract = best->contract;
    result->tally = best->tally;
    return true;
  }

  // A decode has one scale for both sides: who takes it otherwise on one does
  // so on the other, and neither change alone explains anything.
  bool MayPair(const std::string& a, const std::string& b) const {
    return options_.pairs || (a == "qk.scale_rule" && b == "v.scale_rule");
  }

  // Two changes at once, of the declared contract and of what was found.
  void TryPairs(const Contract& declared, SearchResult* result) {
    std::vector<Contract> bases = {declared};
    if (result->contract.SerializeAsString() != declared.SerializeAsString()) {
      bases.push_back(result->contract);
    }
    std::vector<Candidate> candidates;
    for (const Contract& base : bases) {
      const std::vector<const Probe*> sample =
          SpreadOver(Failing(base), kPairSample);
      const std::vector<Neighbour> first = Neighbours(base, kernel_);
      for (const Neighbour& a : first) {
        options_.progress();
        // Each pair of fields once: those after the first's.
        bool after = false, own = false;
        for (Neighbour& b : Neighbours(a.contract, kernel_)) {
          own = b.field == a.field;
          after |= own;
          if (!after || own || !MayPair(a.field, b.field)) continue;
          const int gain = PairGain(b.contract, sample);
          if (gain == 0) continue;
          candidates.push_back({std::move(b.contract), a.field, "", gain});
        }
      }
    }
    KeepFinalists(&candidates);
    if (Take(candidates, result)) Climb(result);
  }

  // 0 if the first two stay contradicted: most pairs do nothing.
  static int PairGain(const Contract& contract,
                      const std::vector<const Probe*>& sample) {
    int gain = 0;
    for (std::size_t i = 0; i < sample.size(); ++i) {
      if (i == 2 && gain == 0) return 0;
      gain += FitOf(contract, *sample[i]) != Fit::kContradicted ? 1 : 0;
    }
    return gain;
  }

  void Undo(const Contract& declared, SearchResult* result) {
    if (result->contract.SerializeAsString() == declared.SerializeAsString()) {
      return;
    }
    std::map<std::string, std::string> values;
    for (const Neighbour& n : All(declared)) values[n.field] = n.declared;
    for (bool undone = true; undone;) {
      undone = false;
      for (Neighbour& n : All(result->contract)) {
        if (n.changed != values[n.field]) continue;
        options_.progress();
        const Tally tally = TallyOf(n.contract, probes_);
        if (result->tally.BetterThan(tally)) continue;
        result->contract = std::move(n.contract);
        result->tally = tally;
        result->also.erase(n.field);
        undone = true;
        break;
      }
    }
  }

  const Kernel kernel_;
  const absl::Span<const Probe> probes_;
  const SearchOptions& options_;
};

}  // namespace

SearchResult SearchContract(Kernel kernel, const Contract& declared,
                            absl::Span<const Probe> probes,
                            const SearchOptions& options) {
  return Search(kernel, probes, options).Run(declared);
}

}  // namespace mlafuzz
