// An engine whose judge is weakened on purpose, in the way that the environment
// variable MLAFUZZ_WEAKENED names:
//
//   all-pass       every check passes
//   no:PROPERTY,PROPERTY  checks of these properties pass
//   no-tails       what is beyond the rope, or in its place, passes
//   bounds:FACTOR  decodes pass within so many times their bounds; the
//                  relations, which rest on the bounds too, pass
//
//   none           nothing is weakened
//
// It also has faults that only one part of the judge need see:
//
//   puzzle:undeclared-partials  a decode that keeps its partial results in bf16
//                               and promises fp32: tight bounds
//   puzzle:marks-pool           a gather that changes a byte of the pool:
//                               written-set
//   puzzle:marks-input          a gather that changes its block table:
//                               memory-safety
//
// Without the variable, or with another value, it ends at once: a weakening
// that is not there must not look like one that nobody notices.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "fuzz/worker/session.h"
#include "kernels/target_set.h"
#include "oracle/decode/decode.h"
#include "oracle/decode/observed_rows.h"
#include "oracle/pool_history.h"
#include "oracle/verdict.h"
#include "properties/check_filter.h"
#include "properties/relations.h"

namespace mlafuzz {
namespace {

std::string Weakening() {
  const char* name = std::getenv("MLAFUZZ_WEAKENED");
  return name != nullptr ? name : "";
}

bool FactorOf(const std::string& weakening, double* factor) {
  absl::string_view text = weakening;
  return absl::ConsumePrefix(&text, "bounds:") &&
         absl::SimpleAtod(text, factor) && *factor > 1;
}

// Within bounds that are so much wider.
bool PassesWide(double factor, const Contracts& contracts,
                const CaseImage& image, const Observation& observation,
                int step) {
  oracle::PoolHistory history(image, observation);
  for (int i = 0; i < step; ++i) history.Advance();
  const auto s = static_cast<std::size_t>(step);
  DecodeExpectation expected =
      ExpectDecode(*contracts[static_cast<std::size_t>(Kernel::kDecode)], image,
                   step, history.before());
  for (double& bound : expected.out_bound) bound *= factor;
  for (double& bound : expected.lse_bound) bound *= factor;
  const oracle::ObservedRows rows(image.steps[s], observation.steps[s]);
  if (!rows.well_formed()) return false;
  for (std::int64_t row = 0; row < expected.rows(); ++row) {
    if (!rows.RowMatches(expected, row)) return false;
  }
  return true;
}

bool Overlooked(const std::string& weakening, const Contracts& contracts,
                const CaseImage& image, const Observation& observation,
                const Check& check) {
  if (weakening == "all-pass") return true;
  absl::string_view name = weakening;
  if (absl::StartsWith(name, "no:")) {
    const std::vector<std::string> gone = absl::StrSplit(name.substr(3), ',');
    return std::find(gone.begin(), gone.end(), check.property) != gone.end();
  }
  if (weakening == "no-tails") {
    return check.property == property::kNopeTail ||
           check.property == property::kGatherTail ||
           check.property == "nope-tail-through-gather";
  }
  if (check.kernel != Kernel::kDecode) return false;
  if (IsRelation(check.property)) return true;
  double factor = 0;
  return (check.property == property::kDecodeOut ||
          check.property == property::kDecodeLse) &&
         FactorOf(weakening, &factor) &&
         PassesWide(factor, contracts, image, observation, check.step);
}

void Weaken(const Contracts& contracts, const CaseImage& image,
            const Observation& observation, std::vector<Check>* checks) {
  static const std::string* const kWeakening = new std::string(Weakening());
  for (Check& check : *checks) {
    if (IsFailure(check.verdict) &&
        Overlooked(*kWeakening, contracts, image, observation, check)) {
      check.verdict = Verdict::kPass;
      check.detail.clear();
    }
  }
}

class UndeclaredPartials : public Target {
 public:
  UndeclaredPartials()
      : builtin_(*MakeTargetSet("builtin")),
        partials_(*MakeTargetSet("builtin:bf16-partials")) {}
  const std::string& name() const override { return name_; }
  const Contract& contract() const override {
    return builtin_.For(Kernel::kDecode)->contract();
  }
  const Arithmetic& arithmetic() const override {
    return contract().arithmetic();
  }
  bool Implements(Kernel kernel) const override {
    return kernel == Kernel::kDecode;
  }
  CallResult Decode(const DecodeArgs& args,
                    const LaunchContext& context) override {
    return partials_.For(Kernel::kDecode)->Decode(args, context);
  }

 private:
  const std::string name_ = "puzzle:undeclared-partials";
  const TargetSet builtin_;
  const TargetSet partials_;
};

// builtin's gather, and a byte more.
class MarkingGather : public Target {
 public:
  MarkingGather(absl::string_view name, bool pool)
      : name_(name), pool_(pool), builtin_(*MakeTargetSet("builtin")) {}
  const std::string& name() const override { return name_; }
  const Contract& contract() const override {
    return builtin_.For(Kernel::kGather)->contract();
  }
  const Arithmetic& arithmetic() const override {
    return contract().arithmetic();
  }
  bool Implements(Kernel kernel) const override {
    return kernel == Kernel::kGather;
  }
  CallResult Gather(const GatherArgs& args,
                    const LaunchContext& context) override {
    CallResult result = builtin_.For(Kernel::kGather)->Gather(args, context);
    const DLTensor& marked = pool_ ? *args.cache : *args.block_table;
    for (int i = 0; i < marked.ndim; ++i) {
      if (marked.shape[i] == 0) return result;
    }
    if (result.status == CallStatus::kOk) {
      static_cast<std::uint8_t*>(marked.data)[marked.byte_offset] ^= 1;
    }
    return result;
  }

 private:
  const std::string name_;
  const bool pool_;
  const TargetSet builtin_;
};

std::shared_ptr<Target> MakePuzzle(absl::string_view name) {
  if (name == "puzzle:undeclared-partials") {
    return std::make_shared<UndeclaredPartials>();
  }
  if (name == "puzzle:marks-pool" || name == "puzzle:marks-input") {
    return std::make_shared<MarkingGather>(name, name == "puzzle:marks-pool");
  }
  return nullptr;
}

[[maybe_unused]] const bool kWeakened = [] {
  const std::string name = Weakening();
  double factor = 0;
  if (name != "none" && name != "all-pass" && name != "no-tails" &&
      !absl::StartsWith(name, "no:") && !FactorOf(name, &factor)) {
    std::fprintf(stderr, "mlafuzz-worker: MLAFUZZ_WEAKENED is \"%s\"\n",
                 name.c_str());
    std::_Exit(1);
  }
  if (name != "none") SetCheckFilter(Weaken);
  AddTargetMaker(MakePuzzle);
  return true;
}();

}  // namespace
}  // namespace mlafuzz
