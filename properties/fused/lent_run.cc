#include "properties/fused/lent_run.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "properties/fused/for_each.h"
#include "properties/fused/scoped_seconds.h"

namespace mlafuzz {
namespace {

// Where steps' plans lie in LentMemory::Rows().
constexpr std::uint64_t kPlanAlignment = 256;

// Members that a thread works out or judges at a time: calls differ in size,
// and a decode takes a millisecond.
constexpr std::size_t kPiece = 8;

constexpr char kUnsettled[] = "its bytes do not follow from its contract alone";

std::uint64_t Aligned(std::uint64_t bytes) {
  return (bytes + kPlanAlignment - 1) / kPlanAlignment * kPlanAlignment;
}

}  // namespace

LentRun::LentRun(const Owner& owner, const FusedCase& fused,
                 const Contracts& contracts, int threads, std::uint64_t from)
    : owner_(owner),
      memory_(owner.memory),
      fused_(fused),
      contracts_(contracts),
      threads_(threads),
      image_(fused.shape()),
      size_(fused.members().size()),
      layout_(fused, from, owner.fill_from),
      host_(fused, contracts),
      references_(MakeReferences({.fused = fused,
                                  .contracts = contracts,
                                  .layout = layout_,
                                  .memory = memory_,
                                  .host = host_,
                                  .threads = threads,
                                  .copied_bytes = owner.copied_bytes})),
      tellings_(MakeTellings({.fused = fused,
                              .contracts = contracts,
                              .layout = layout_,
                              .memory = memory_,
                              .host = host_,
                              .threads = threads,
                              .copied_bytes = owner.copied_bytes})) {
  if (layout_.FillsPool()) {
    pools_.emplace(fused, layout_, memory_, owner.copied_bytes);
  }
}

absl::StatusOr<LentCalls::Result> LentRun::Run(const FusedCase* next) {
  next_ = next;
  Result result;
  if (layout_.used() > memory_.bytes()) {
    result.why_not =
        absl::StrCat(layout_.used(), " bytes are more than are lent");
    return result;
  }
  absl::Status device = Prepare();
  if (device.ok() && !settled_) {
    // Bring() may still be under way.
    device = memory_.Settle();
    result.why_not = kUnsettled;
  }
  bool differs = false;
  for (std::size_t step = 0; step < image_.steps.size(); ++step) {
    if (device.ok() && !differs) device = Refer(step);
    if (!device.ok() || !result.why_not.empty()) break;
    if (absl::Status s = Make(step, &result); !s.ok()) return s;
    if (!result.why_not.empty()) break;
    if (!differs) {
      auto same = Compare(step, &result.why_not);
      device = same.status();
      if (!device.ok() || !result.why_not.empty()) break;
      differs = !*same;
      if (differs && !owner_.keep_all) {
        owner_.ahead.Wait();
        host_.ExpectAll(step, threads_);
        for (std::size_t i = 0; i < step; ++i) Remember(i, &result.together);
      }
    }
    if (differs || owner_.keep_all) device = Observe(step, &result.together);
  }
  {
    ScopedSeconds timer(owner_.times.lay);
    owner_.ahead.Wait();
  }
  owner_.times.Add(memory_.TakeTimes());
  if (!device.ok()) {
    owner_.lost = std::string(device.message());
    result.why_not = owner_.lost;
  }
  if (!result.why_not.empty()) {
    result.together = {};
  } else if (!differs) {
    result.as_expected = true;
    ScopedSeconds timer(owner_.times.judge);
    Judge(&result);
  }
  return result;
}

LentRun::Result LentRun::AsExpected() {
  Result result;
  result.made = true;
  result.as_expected = true;
  Judge(&result);
  return result;
}

absl::Status LentRun::Prepare() {
  {
    ScopedSeconds timer(owner_.times.lay);
    const auto laid = owner_.ahead.Take(fused_, layout_, threads_);
    if (!laid.ok()) return laid.status();
    inputs_ = laid->inputs;
    std::vector<MlafuzzRange> ranges;
    layout_.AddLaid(&ranges);
    for (const auto& [begin, end] : ranges) {
      absl::Status s = memory_.Bring(begin, end, laid->which);
      if (!s.ok()) return s;
      owner_.copied_bytes += end - begin;
    }
  }
  ScopedSeconds timer(owner_.times.expect);
  if (const std::uint64_t bytes = plan_bytes(); bytes > 0) {
    auto rows = memory_.Rows(bytes);
    if (!rows.ok()) return rows.status();
    PlanAt(*rows, 0);
  }
  Plan(threads_);
  if (absl::Status s = Fill(); !s.ok()) return s;
  return memory_.Lend(0, layout_.used());
}

std::uint64_t LentRun::plan_bytes() const {
  std::uint64_t bytes = pools_.has_value() ? Aligned(pools_->plan_bytes()) : 0;
  for (const auto& reference : references_) {
    bytes += Aligned(reference->plan_bytes());
  }
  return bytes;
}

void LentRun::PlanAt(std::uint8_t* rows, std::uint64_t offset) {
  if (pools_.has_value()) {
    pools_->PlanAt(rows + offset, offset);
    offset += Aligned(pools_->plan_bytes());
  }
  for (const auto& reference : references_) {
    reference->PlanAt(rows + offset, offset);
    offset += Aligned(reference->plan_bytes());
  }
}

bool LentRun::Plan(int threads) {
  std::atomic<bool> settled{true};
  ForEach(
      size_, threads,
      [&](std::size_t m) {
        if (pools_.has_value()) pools_->Plan(m);
        for (const auto& reference : references_) {
          if (reference->Plan(m)) continue;
          settled = false;
          return;
        }
        for (const auto& telling : tellings_) {
          if (telling != nullptr) telling->Plan(m);
        }
      },
      kPiece);
  settled_ = settled;
  return settled_;
}

absl::Status LentRun::Refer(std::size_t step) {
  {
    ScopedSeconds timer(owner_.times.expect);
    owner_.ahead.Wait();
    if (absl::Status s = references_[step]->Begin(); !s.ok()) return s;
  }
  if (step == 0 && next_ != nullptr) {
    // From here on the device has work, and this process little.
    absl::Status s = owner_.ahead.Begin(
        *next_, LentLayout(*next_, 0, owner_.fill_from), threads_);
    if (!s.ok()) return s;
  }
  ScopedSeconds timer(owner_.times.wait);
  return memory_.Settle();
}

absl::Status LentRun::Make(std::size_t step, Result* result) {
  ScopedSeconds timer(owner_.times.wait);
  std::vector<CallEnd> ends;
  absl::Status s =
      owner_.executor.CallLent(owner_.targets, {Describe(step)}, &ends);
  if (absl::IsFailedPrecondition(s)) {
    result->why_not = std::string(s.message());
    return absl::OkStatus();
  }
  result->made = true;
  if (s.ok()) result->why_not = LentCalls::HowNot(ends);
  return s;
}

LentCall LentRun::Describe(std::size_t step) const {
  return {.image = &image_,
          .step = step,
          .pool = layout_.pool(),
          .tensors = layout_.tensors(step)};
}

bool LentRun::IsLookedAt() const {
  return std::any_of(
      image_.steps.begin(), image_.steps.end(),
      [](const StepImage& step) { return step.kernel == Kernel::kDecode; });
}

bool LentRun::IsReferredTo() const {
  for (std::size_t step = 0; step < references_.size(); ++step) {
    if (!references_[step]->OnDevice() &&
        image_.steps[step].kernel != Kernel::kDecode) {
      return true;
    }
  }
  return false;
}

bool LentRun::IsLooked(std::size_t step, std::size_t t) const {
  return image_.steps[step].kernel == Kernel::kDecode &&
         image_.steps[step].tensors[t].output;
}

void LentRun::AddRanges(std::size_t step,
                        std::vector<MlafuzzRange>* ranges) const {
  // Of one that lies behind the last, all is one stretch.
  if (!ranges->empty() && ranges->back().end == layout_.from()) {
    ranges->back().end = end();
  } else {
    ranges->push_back({layout_.from(), end()});
  }
  for (std::size_t done = 0; done <= step && done < steps(); ++done) {
    for (std::size_t t = 0; t < layout_.tensors(done).size(); ++t) {
      if (!IsLooked(done, t)) continue;
      const Place& place = layout_.tensor(done, t);
      ranges->back().end = place.begin;
      ranges->push_back({place.begin + place.size, end()});
    }
  }
}

absl::StatusOr<bool> LentRun::Compare(std::size_t step, std::string* why_not) {
  ScopedSeconds timer(owner_.times.wait);
  std::vector<MlafuzzRange> ranges;
  AddRanges(step, &ranges);
  auto differences = memory_.Compare(ranges);
  if (!differences.ok()) return differences.status();
  if (differences->unsettled != 0) {
    *why_not = kUnsettled;
    return true;
  }
  if (differences->bytes != 0) return false;
  return Look(step);
}

absl::StatusOr<bool> LentRun::Look(std::size_t step) {
  bool same = true;
  for (std::size_t t = 0; same && t < layout_.tensors(step).size(); ++t) {
    if (!IsLooked(step, t)) continue;
    const Place& place = layout_.tensor(step, t);
    if (absl::Status s = Fetch(place); !s.ok()) return s;
    same = fused_.GapsAreWhole(step, t, results_ + place.begin);
  }
  if (same && tellings_[step] != nullptr) {
    if (absl::Status s = tellings_[step]->Tell(); !s.ok()) return s;
    owner_.decodes_passed += tellings_[step]->count();
  }
  return same;
}

absl::Status LentRun::Fetch(const Place& place) {
  auto results = memory_.Results(layout_.used());
  if (!results.ok()) return results.status();
  results_ = *results;
  owner_.copied_bytes += place.size;
  return memory_.Fetch(place.begin, place.begin + place.size);
}

void LentRun::Judge(Result* result) {
  bool bare = true;  // nothing is known of any member but that it is right
  for (const auto& reference : references_) {
    result->left_out |= reference->OnDevice();
    bare &= reference->OnDevice();
  }
  result->own_checks.resize(size_);
  result->observations.resize(size_);
  std::size_t first = 0;  // plain one
  while (first < size_ && !IsPlain(first)) ++first;
  if (first < size_) result->checks = ChecksOf(first, SeenOf(first));
  ForEach(
      size_, threads_,
      [&](std::size_t m) {
        const bool plain = IsPlain(m);
        if (plain && bare) return;
        Observation seen = SeenOf(m);
        if (!plain) result->own_checks[m] = ChecksOf(m, seen);
        result->observations[m] = std::move(seen);
      },
      kPiece);
}

bool LentRun::IsPlain(std::size_t m) const {
  for (std::size_t step = 0; step < references_.size(); ++step) {
    if (image_.steps[step].kernel == Kernel::kDecode ||
        references_[step]->Written(m) == 0) {
      return false;
    }
  }
  return true;
}

Observation LentRun::SeenOf(std::size_t m) const {
  const CaseImage& member = *fused_.members()[m];
  Observation seen;
  seen.steps.resize(member.steps.size());
  const std::vector<std::uint8_t>* last_pool = &member.pool.bytes;
  for (std::size_t step = 0; step < member.steps.size(); ++step) {
    StepObservation& own = seen.steps[step];
    if (!references_[step]->OnDevice()) {
      const Expectation& expected = host_.of(m, step);
      if (!expected.pool.empty() && expected.pool != *last_pool) {
        own.pool = expected.pool;
        last_pool = &*own.pool;
      }
      own.outputs = expected.outputs;
    }
    own.outputs.resize(member.steps[step].tensors.size());
    for (std::size_t t = 0; t < own.outputs.size(); ++t) {
      if (!IsLooked(step, t)) continue;
      const std::uint8_t* const from = results_ + layout_.RowsOf(step, t, m);
      own.outputs[t].assign(from, from + fused_.RowsOf(step, t, m).size);
    }
  }
  return seen;
}

std::vector<Check> LentRun::ChecksOf(std::size_t m,
                                     const Observation& seen) const {
  std::vector<KnownStep> known;
  for (std::size_t step = 0; step < references_.size(); ++step) {
    known.push_back({.written = references_[step]->Written(m),
                     .decode = tellings_[step] == nullptr
                                   ? std::nullopt
                                   : tellings_[step]->Of(m)});
  }
  return JudgeAsExpected(contracts_, *fused_.members()[m], seen, known);
}

}  // namespace mlafuzz
