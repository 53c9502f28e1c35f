#include "properties/ledger/ledger.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_split.h"
#include "corpus/contracts.h"
#include "oracle/decode/decode.h"
#include "oracle/decode/judge_decode.h"
#include "oracle/decode/observed_rows.h"
#include "oracle/expect.h"
#include "oracle/validity.h"
#include "oracle/verdict.h"
#include "properties/ledger/entries.h"

namespace mlafuzz {
namespace {

constexpr std::int64_t kLatent = 512;

// The contract that the wrong kernel follows, if it is one.
std::optional<Contract> WrongContract(const LedgerEntry& entry) {
  if (entry.field.empty()) return std::nullopt;
  const std::vector<std::string> fields = absl::StrSplit(entry.field, '+');
  const std::vector<std::string> values = absl::StrSplit(entry.value, '+');
  Contract contract = RightContract(entry);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    bool found = false;
    for (const Kernel kernel : entry.kernels) {
      for (Neighbour& n : Neighbours(contract, kernel)) {
        if (found || n.field != fields[i] || n.changed != values[i]) continue;
        contract = std::move(n.contract);
        found = true;
      }
    }
    if (!found) return std::nullopt;
  }
  return contract;
}

// Some slot that "only -1 is skipped" sends outside the pool. A product of the
// very lowest ones wraps around in 64 bits and may land on a row that another
// token writes: which of the two stands is then a matter of order.
bool AddressesOutside(const StepImage& step) {
  const Tensor& slots = *step.Find(TensorId::kSlotMapping);
  for (std::int64_t token = 0; token < slots.shape[0]; ++token) {
    std::int64_t slot;
    std::memcpy(&slot, slots.bytes.data() + 8 * token, 8);
    if (slot < -1 && slot > -(std::int64_t{1} << 40)) return true;
  }
  return false;
}

// Some code is not the high byte of its 16-bit value.
bool CodesAreNotHighBytes(const CaseImage& image, const StepImage& step,
                          const std::vector<std::uint8_t>& pool_after) {
  const Tensor& kv = *step.Find(TensorId::kKvC);
  const Tensor& slots = *step.Find(TensorId::kSlotMapping);
  for (std::int64_t token = 0; token < slots.shape[0]; ++token) {
    std::int64_t slot;
    std::memcpy(&slot, slots.bytes.data() + 8 * token, 8);
    if (slot < 0) continue;
    const std::uint8_t* codes = pool_after.data() + image.pool.RowAt(slot);
    const std::uint8_t* values = kv.bytes.data() + token * kv.strides[0] * 2;
    for (std::int64_t i = 0; i < kLatent; ++i) {
      if (codes[i] != values[2 * i + 1]) return true;
    }
  }
  return false;
}

// What a wrong decode does that no one field says. False: no such thing.
bool WrongDecodeOf(const LedgerEntry& entry, Contract* contract,
                   ExpectOptions* options) {
  if (entry.target == "mutant:missing-rescale") {
    options->no_rescale = true;
    return true;
  }
  if (entry.target == "mutant:split-partial-dropped") {
    options->dropped_split = ExpectOptions::kLastSplit;
    options->empty_splits_count = true;
    return true;
  }
  return false;
}

class Walker {
 public:
  Walker(const LedgerEntry& entry, const CaseImage& image)
      : entry_(entry),
        image_(image),
        right_(RightContract(entry)),
        wrong_(WrongContract(entry)),
        pool_(image.pool) {}

  Reach Run() {
    Reach reach;
    for (int i = 0; i < static_cast<int>(image_.steps.size()); ++i) {
      const StepImage& step = image_.steps[i];
      if (step.is_patch) {
        ApplyPatch(step.step->patch(), pool_);
        continue;
      }
      const Validity validity = Classify(right_, image_, i).validity;
      const bool runs =
          validity == Validity::kValid || validity == Validity::kBoundary;
      const Expectation right =
          runs ? Expect(right_, image_, i, pool_.bytes) : Expectation();
      if (std::find(entry_.kernels.begin(), entry_.kernels.end(),
                    step.kernel) != entry_.kernels.end()) {
        reach.reached |= runs || ReachesRefused();
        reach.triggered |= Triggers(i, runs, right);
        reach.foreign |= runs && ReadsForeignMemory(i);
      }
      if (!right.pool.empty()) pool_.bytes = right.pool;
    }
    return reach;
  }

 private:
  // No kernels at all, of whatever kind.
  bool IsImpostor() const {
    return entry_.target == "mutant:does-nothing" ||
           entry_.target == "mutant:refuses-all" ||
           entry_.target == "mutant:returns-inputs";
  }

  // An impostor without host checks.
  bool ReachesRefused() const { return entry_.target == "mutant:does-nothing"; }

  bool Triggers(int index, bool runs, const Expectation& right) const {
    const StepImage& step = image_.steps[index];
    if (step.kernel == Kernel::kDecode && !IsImpostor()) {
      return runs && DecodeTriggers(index);
    }
    if (wrong_.has_value()) {
      if (!runs) return false;
      if (entry_.field == "writer.slots") return AddressesOutside(step);
      const Expectation wrong = Expect(*wrong_, image_, index, pool_.bytes);
      return wrong.outside_writes > 0 || wrong.pool != right.pool ||
             wrong.outputs != right.outputs;
    }
    if (entry_.target == "mutant:refuses-all") return runs;
    if (entry_.target == "mutant:does-nothing") {
      // It takes what it should refuse, and leaves what it should write.
      if (!runs) return true;
      return step.kernel == Kernel::kDecode ? NeedsOutput(index)
                                            : Changes(step, right);
    }
    if (!runs) return false;
    if (entry_.target == "mutant:payload-fallthrough") {
      return CodesAreNotHighBytes(
          image_, step, right.pool.empty() ? pool_.bytes : right.pool);
    }
    return false;
  }

  bool ReadsForeignMemory(int index) const {
    return wrong_.has_value() &&
           image_.steps[index].kernel != Kernel::kDecode &&
           !Expect(*wrong_, image_, index, pool_.bytes).unsettled.empty();
  }

  bool DecodeTriggers(int index) const {
    const StepImage& step = image_.steps[index];
    Contract contract = wrong_.has_value() ? *wrong_ : right_;
    ExpectOptions options;
    if (!wrong_.has_value() && !WrongDecodeOf(entry_, &contract, &options)) {
      return false;
    }
    if (!IsUnderCondition(step)) return false;
    if (Classify(contract, image_, index).validity == Validity::kInvalid) {
      return true;  // refuses
    }
    return DecodesApart(
        ExpectDecode(right_, image_, index, pool_.bytes),
        ExpectDecode(contract, image_, index, pool_.bytes, options));
  }

  // Where a wrong decode goes by its rule on one of two ways alone.
  bool IsUnderCondition(const StepImage& step) const {
    const std::int64_t queries = step.Find(TensorId::kQ)->shape[0];
    if (entry_.target == "mutant:length-ignored-above-64") return queries > 64;
    if (entry_.target == "mutant:length-ignored-from-2-queries") {
      return queries >= 2;
    }
    if (entry_.target == "mutant:length-ignored-past-64-lanes") {
      return step.Find(TensorId::kIndices)->shape[1] > 64;
    }
    return true;
  }

  // Whether what a decode's outputs held before is no right result.
  bool NeedsOutput(int index) const {
    const oracle::ObservedRows before(image_.steps[index], {});
    const DecodeExpectation right =
        ExpectDecode(right_, image_, index, pool_.bytes);
    for (std::int64_t row = 0; row < right.rows(); ++row) {
      if (!before.RowMatches(right, row)) return true;
    }
    return false;
  }

  // Whether the step changes anything.
  bool Changes(const StepImage& step, const Expectation& right) const {
    if (!right.pool.empty() && right.pool != pool_.bytes) return true;
    for (std::size_t i = 0; i < step.tensors.size(); ++i) {
      if (step.tensors[i].output && right.outputs[i] != step.tensors[i].bytes) {
        return true;
      }
    }
    return false;
  }

  const LedgerEntry& entry_;
  const CaseImage& image_;
  const Contract right_;
  const std::optional<Contract> wrong_;
  PoolImage pool_;
};

}  // namespace

LedgerEntry OneRule(Kernel kernel, std::string target,
                    std::vector<std::string> properties, std::string field,
                    std::string value, std::string source) {
  LedgerEntry entry = NoRule(kernel, std::move(target), std::move(properties),
                             field + "=", std::move(source));
  entry.field = std::move(field);
  entry.value = std::move(value);
  return entry;
}

LedgerEntry NoRule(Kernel kernel, std::string target,
                   std::vector<std::string> properties, std::string key,
                   std::string source) {
  LedgerEntry entry;
  entry.target = std::move(target);
  entry.kernels = {kernel};
  entry.properties = std::move(properties);
  entry.key = std::move(key);
  entry.source = std::move(source);
  return entry;
}

const std::vector<LedgerEntry>& Ledger() {
  static const std::vector<LedgerEntry>* const kLedger = [] {
    auto* all = new std::vector<LedgerEntry>;
    for (const auto part :
         {WriterEntries, WriterFamilyEntries, VariantEntries, GatherEntries,
          GatherFamilyEntries, ConvertEntries, ConvertFamilyEntries,
          DecodeEntries, DecodeFamilyEntries, LayoutEntries,
          LayoutDecodeEntries, ImpostorEntries}) {
      for (LedgerEntry& entry : part()) all->push_back(std::move(entry));
    }
    return all;
  }();
  return *kLedger;
}

Contract RightContract(const LedgerEntry& entry) {
  Contract contract = BuiltinContract(entry.layout);
  WriterContract& writer = *contract.mutable_writer();
  if (entry.right == "builtin:indexer-ue8m0") {
    writer.set_scale(WriterContract::POW2_CEIL);
  }
  const bool fp32 = entry.right == "builtin:triton-fp32";
  const bool fused = fp32 || entry.right == "builtin:triton";
  if (entry.right == "builtin:kimi-k3" || fused) {
    writer.clear_pe_dims();
    writer.add_pe_dims(64);
  }
  if (entry.right == "builtin:compacting") {
    contract.mutable_convert()->set_order(ConvertContract::COMPACTED);
    contract.mutable_convert()->set_requests(ConvertContract::REQUESTS_INVALID);
  }
  if (fused) {
    writer.set_scale_division(WriterContract::TIMES_RECIPROCAL);
    writer.clear_inputs();
    writer.add_inputs(fp32 ? F32 : BF16);
  }
  if (entry.right == "builtin:lengths-demanded" ||
      entry.right == "builtin:flashinfer-dsv4") {
    contract.mutable_decode()->set_lengths_demand(
        DecodeContract::LENGTHS_DEMANDED);
  }
  if (entry.right == "builtin:workspace") {
    contract.mutable_convert()->set_workspace(
        ConvertContract::WORKSPACE_WITHIN_TABLE);
    contract.mutable_convert()->set_pages(ConvertContract::PAGES_FITTING);
  }
  if (entry.right == "builtin:byte-gather" ||
      entry.right == "builtin:dsv4-byte-gather") {
    contract.mutable_gather()->set_rows(GatherContract::ROWS_BYTES);
  }
  if (entry.right == "builtin:one-scale-gather") {
    contract.mutable_gather()->set_rows(GatherContract::ROWS_ONE_SCALE);
  }
  return contract;
}

std::vector<LedgerEntry> CoreLedger() {
  std::vector<LedgerEntry> core;
  for (const LedgerEntry& entry : Ledger()) {
    if (entry.core) core.push_back(entry);
  }
  return core;
}

const LedgerEntry* FindInLedger(absl::string_view target) {
  for (const LedgerEntry& entry : Ledger()) {
    if (target == entry.target) return &entry;
  }
  return nullptr;
}

Reach ReachOf(const LedgerEntry& entry, const CaseImage& image) {
  return Walker(entry, image).Run();
}

}  // namespace mlafuzz
