#include "properties/minimize/search.h"

#include "corpus/codec.h"
#include "corpus/image.h"
#include "corpus/token_layout.h"
#include "properties/repair.h"

namespace mlafuzz::minimize {
namespace {

// What may stand in a case like this one.
GeneratorOptions AnyOf(const Case& c) {
  GeneratorOptions options = {.decode = true, .small = false};
  options.layout = TokenLayoutOf(c.pool().layout()).layout;
  for (const Step& step : c.steps()) {
    options.workspace |= step.convert().prefill_request_ids_size() > 0;
    if (step.gather().tensor_scale_bits() != 0) {
      options.rows = GatherContract::ROWS_ONE_SCALE;
    }
  }
  return options;
}

bool Changes(const Case& c, const GeneratorOptions& options) {
  Case repaired = c;
  RepairCase(repaired, options);
  return CanonicalBinary(repaired) != CanonicalBinary(c);
}

}  // namespace

Search::Search(const Case& c, const MinimizeOptions& options,
               const std::function<bool(const Case&)>& still_fails,
               const std::function<void(const MinimizeProgress&)>& progress)
    : best_(c),
      options_(options),
      still_fails_(still_fails),
      report_(progress),
      start_(std::chrono::steady_clock::now()) {
  Canonicalise(best_);
  cost_ = CostOf(best_);
  progress_.bytes = CanonicalBinary(best_).size();
  // A case that Repair would change is not forced into its mould. One that
  // names pages and requests past the pool and the table may go on doing so.
  repair_ = AnyOf(best_);
  if (Changes(best_, repair_)) repair_.any_page = repair_.any_request = true;
  repairable_ = !Changes(best_, repair_);
}

bool Search::Exhausted() const {
  return progress_.tries >= options_.max_tries ||
         std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                       start_)
                 .count() >= options_.max_seconds;
}

bool Search::Fails(const Case& c) {
  const std::uint64_t hash = CaseHash(c);
  if (const auto known = asked_.find(hash); known != asked_.end()) {
    return known->second;
  }
  if (Exhausted()) return false;
  ++progress_.tries;
  ++progress_.since_success;
  const bool fails = BuildImage(c).ok() && still_fails_(c);
  asked_.emplace(hash, fails);
  if (fails) progress_.since_success = 0;
  if (report_) report_(progress_);
  return fails;
}

bool Search::Try(Case c) {
  Canonicalise(c);
  if (TryAsIs(c)) return true;
  if (!repairable_) return false;
  // A reduction may leave a slot or a page number out of range.
  Case repaired = c;
  RepairCase(repaired, repair_);
  Canonicalise(repaired);
  return TryAsIs(repaired);
}

bool Search::TryAsIs(const Case& c) {
  const CaseCost cost = CostOf(c);
  if (!(cost < cost_) || !Fails(c)) return false;
  Keep(c, cost);
  return true;
}

void Search::Keep(const Case& c, const CaseCost& cost) {
  best_ = c;
  cost_ = cost;
  progress_.bytes = CanonicalBinary(best_).size();
  if (report_) report_(progress_);
}

}  // namespace mlafuzz::minimize
