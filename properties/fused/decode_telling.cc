#include "properties/fused/decode_telling.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "oracle/device/decode_call.h"
#include "oracle/device/decode_room.h"
#include "properties/fused/for_each.h"

namespace mlafuzz {
namespace {

template <class T>
void Put(const std::vector<T>& entries, std::uint8_t* to) {
  if (!entries.empty()) {
    std::memcpy(to, entries.data(), entries.size() * sizeof(T));
  }
}

// Where a member's entries begin in the call's arrays.
struct Begins {
  std::uint32_t queries = 0;
  std::uint32_t keys = 0;
  std::uint32_t blocks = 0;
  std::uint32_t splits = 0;
};

// The same numbers in 32 bits.
constexpr std::uint64_t kMostEntries = std::uint64_t{1} << 31;

}  // namespace

DecodeTelling::DecodeTelling(const LentContext& context, std::size_t step,
                             const oracle::DecodeRules& rules)
    : context_(context),
      step_(step),
      rules_(rules),
      contract_(*context.contracts[static_cast<std::size_t>(Kernel::kDecode)]),
      plans_(context.fused.members().size()),
      within_(plans_.size()) {
  const StepImage& shape = context.fused.shape().steps[step];
  if (shape.Find(TensorId::kSinks) != nullptr &&
      rules_.result.sink != oracle::ResultRules::Sink::kDropped) {
    rules_.sinks =
        context.layout.RowsOf(step, NumberOf(shape, TensorId::kSinks), 0);
  }
}

void DecodeTelling::Plan(std::size_t m) {
  const CaseImage& member = *context_.fused.members()[m];
  const StepImage& step = member.steps[step_];
  const auto rows = [&](TensorId id) {
    return context_.layout.RowsOf(step_, NumberOf(step, id), m);
  };
  oracle::DecodePlan& plan = plans_[m];
  oracle::DecodeRoom room;
  if (!plan.Add(contract_, rules_, member.pool, step,
                {.pool = context_.layout.PoolOf(m),
                 .q = rows(TensorId::kQ),
                 .q_elements = OwnElements(NumberOf(step, TensorId::kQ), m),
                 .out = rows(TensorId::kAttention),
                 .lse = rows(TensorId::kLse)}) ||
      oracle::LayRoom(plan.Most(rules_), nullptr, &room) > kMostRoom) {
    plan = {};
  }
}

std::int64_t DecodeTelling::OwnElements(std::size_t t, std::size_t m) const {
  const FusedCase& fused = context_.fused;
  const FusedCase::Place own = fused.RowsOf(step_, t, m);
  const std::size_t end = m + 1 < plans_.size()
                              ? fused.RowsOf(step_, t, m + 1).begin
                              : fused.tensor_size(step_, t);
  return static_cast<std::int64_t>(std::min(own.size, end - own.begin) / 2);
}

absl::Status DecodeTelling::Tell() {
  oracle::DecodeCall call = {.rules = rules_,
                             .most = {},
                             .queries = 0,
                             .keys = 0,
                             .blocks = 0,
                             .splits = 0,
                             .with_checksum = false};
  std::vector<Begins> begins;
  begins.reserve(plans_.size());
  std::uint64_t entries = 0;
  for (const oracle::DecodePlan& plan : plans_) {
    begins.push_back({call.queries, call.keys, call.blocks, call.splits});
    entries += plan.queries.size() + plan.keys.size() + plan.blocks.size() +
               plan.splits.size();
    if (entries > kMostEntries) return absl::OkStatus();
    call.queries += static_cast<std::uint32_t>(plan.queries.size());
    call.keys += static_cast<std::uint32_t>(plan.keys.size());
    call.blocks += static_cast<std::uint32_t>(plan.blocks.size());
    call.splits += static_cast<std::uint32_t>(plan.splits.size());
    const oracle::DecodeMost most = plan.Most(rules_);
    call.most.keys = std::max(call.most.keys, most.keys);
    call.most.blocks = std::max(call.most.blocks, most.blocks);
    call.most.splits = std::max(call.most.splits, most.splits);
    call.most.weight_tiles = most.weight_tiles;
  }
  if (call.rows() == 0) return absl::OkStatus();
  auto bytes = context_.memory.Plan(call.plan_bytes());
  if (!bytes.ok()) return bytes.status();
  auto answers = context_.memory.Told(call.rows() * sizeof(oracle::DecodeTold));
  if (!answers.ok()) return answers.status();
  ForEach(plans_.size(), context_.threads, [&](std::size_t m) {
    oracle::DecodePlan& plan = plans_[m];
    const Begins& begin = begins[m];
    for (oracle::DecodeQuery& query : plan.queries) {
      query.first_key += begin.keys;
      query.first_block += begin.blocks;
      query.first_split += begin.splits;
    }
    Put(plan.queries, *bytes + begin.queries * sizeof(oracle::DecodeQuery));
    Put(plan.keys,
        *bytes + call.keys_at() + begin.keys * sizeof(oracle::DecodeKey));
    Put(plan.blocks,
        *bytes + call.blocks_at() + begin.blocks * sizeof(oracle::KeyRange));
    Put(plan.splits,
        *bytes + call.splits_at() + begin.splits * sizeof(oracle::DecodeSplit));
  });
  context_.copied_bytes +=
      call.plan_bytes() + call.rows() * sizeof(oracle::DecodeTold);
  if (absl::Status s = context_.memory.Judge(
          {reinterpret_cast<const std::uint8_t*>(&call), sizeof call});
      !s.ok()) {
    return s;
  }
  const auto heads = static_cast<std::size_t>(rules_.heads);
  for (std::size_t m = 0; m < plans_.size(); ++m) {
    const std::size_t rows = plans_[m].queries.size() * heads;
    if (rows == 0) continue;
    DecodeWithin within;
    bool all = true;
    for (std::size_t row = 0; row < rows; ++row) {
      oracle::DecodeTold told;
      std::memcpy(&told,
                  *answers + (begins[m].queries * heads + row) * sizeof told,
                  sizeof told);
      all &= told.within != 0;
      within.settled_out |= told.settled_out != 0;
      within.settled_lse |= told.settled_lse != 0;
      within.lse_of_bound = std::max(within.lse_of_bound, told.lse_of_bound);
    }
    if (!all) continue;
    within_[m] = within;
    ++count_;
  }
  return absl::OkStatus();
}

std::vector<std::unique_ptr<DecodeTelling>> MakeTellings(
    const LentContext& context) {
  const CaseImage& shape = context.fused.shape();
  std::vector<std::unique_ptr<DecodeTelling>> tellings(shape.steps.size());
  for (std::size_t step = 0; step < shape.steps.size(); ++step) {
    if (shape.steps[step].kernel != Kernel::kDecode) continue;
    const auto rules = oracle::DecodeRulesOf(
        *context.contracts[static_cast<std::size_t>(Kernel::kDecode)],
        shape.pool, shape.steps[step]);
    if (rules.has_value()) {
      tellings[step] = std::make_unique<DecodeTelling>(context, step, *rules);
    }
  }
  return tellings;
}

}  // namespace mlafuzz
