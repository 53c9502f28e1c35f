#include "properties/infer/infer.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "corpus/contracts.h"
#include "corpus/observation.h"
#include "kernels/foreign/foreign_target.h"
#include "properties/fields.h"
#include "properties/infer/arithmetic.h"
#include "properties/infer/host_checks.h"
#include "properties/infer/probes.h"
#include "properties/infer/proposal.h"
#include "properties/infer/search.h"

namespace mlafuzz {
namespace {

constexpr int kArithmeticProbes = 32;
// Of unexplained fields, how many get a sentence: a diagnosis is slow.
constexpr int kSentences = 3;

// Field and declared value of all rules of a kernel, in their order.
std::map<std::string, std::string> ValuesOf(const Contract& contract,
                                            Kernel kernel) {
  std::map<std::string, std::string> values;
  std::vector<Neighbour> neighbours = Neighbours(contract, kernel);
  if (kernel == Kernel::kDecode) {
    for (Neighbour& n : ArithmeticNeighbours(contract)) {
      neighbours.push_back(std::move(n));
    }
  }
  for (Neighbour& n : neighbours) values[n.field] = n.declared;
  return values;
}

// Whether a call hung, or in brief most calls took their process with them:
// more of the kind are not worth the time.
bool EndsBadly(absl::Span<const Probe> probes, bool brief) {
  std::size_t died = 0;
  for (const Probe& probe : probes) {
    for (const StepObservation& step : probe.observation.steps) {
      switch (step.status) {
        case CallStatus::kHang:
          return true;
        case CallStatus::kCrash:
        case CallStatus::kOutOfMemory:
        case CallStatus::kProtocol:
          ++died;
          break;
        default:
          break;
      }
    }
  }
  return brief && 2 * died > probes.size();
}

class Inference {
 public:
  Inference(Kernel kernel, const Contract& declared, const TargetSet& targets,
            Executor& executor, const InferOptions& options)
      : kernel_(kernel),
        declared_(declared),
        targets_(targets),
        executor_(executor),
        options_(options),
        said_(ValuesOf(declared, kernel)) {}

  absl::StatusOr<InferredKernel> Run() {
    const auto before = executor_.executions();
    if (absl::Status s = Ask(); !s.ok()) return s;
    found_ = SearchContract(
        kernel_, declared_, probes_,
        {.pairs = !options_.brief, .progress = options_.progress});
    DropExcuses();
    result_.set_kernel(KernelName(kernel_));
    result_.set_target(targets_.For(kernel_)->name());
    result_.set_probes(static_cast<std::uint32_t>(probes_.size()));
    result_.set_explained_as_declared(
        static_cast<std::uint32_t>(found_.as_declared.explained));
    result_.set_explained(static_cast<std::uint32_t>(found_.tally.explained));
    std::uint32_t not_judged = 0;
    for (const Probe& probe : probes_) {
      const Fit fit = FitOf(found_.contract, probe);
      not_judged += fit == Fit::kNotJudged ? 1 : 0;
      if (fit == Fit::kContradicted && result_.unexplained().empty()) {
        result_.set_unexplained(Damage(found_.contract, probe));
      }
    }
    result_.set_not_judged(not_judged);
    sharp_ = found_.contract;
    if (kernel_ == Kernel::kDecode) {
      if (absl::Status s = AskForArithmetic(); !s.ok()) return s;
    }
    for (const auto& [number, range] : ranges_) ReportField(number, range);
    if (!options_.brief) {
      if (absl::Status s = AskForChecks(); !s.ok()) return s;
    }
    *result_.mutable_contract() = sharp_;
    const std::size_t k = static_cast<std::size_t>(kernel_);
    result_.set_executions(
        static_cast<std::uint32_t>(executor_.executions()[k] - before[k]));
    return std::move(result_);
  }

 private:
  // The probes of a field: [first, end) of all.
  struct Range {
    std::size_t first = 0, end = 0;
  };

  absl::Status Ask() {
    const std::vector<Field>& fields = AllFields();
    for (int number = 0; number < static_cast<int>(fields.size()); ++number) {
      const Field& field = fields[static_cast<std::size_t>(number)];
      // Nor a rule that this contract does not have.
      if (field.kernel != kernel_ ||
          !RuleApplies(BuiltinContract(), field.name) ||
          said_.count(field.name) == 0) {
        continue;
      }
      options_.progress();
      std::vector<Probe> own = ProbesFor(number, options_.probes_per_field,
                                         options_.seed, declared_);
      if (absl::Status s = RunProbes(targets_, executor_, absl::MakeSpan(own));
          !s.ok()) {
        return s;
      }
      const std::size_t first = probes_.size();
      std::move(own.begin(), own.end(), std::back_inserter(probes_));
      ranges_.push_back({number, {first, probes_.size()}});
      if (EndsBadly(Of(ranges_.back().second), options_.brief)) {
        return absl::OkStatus();
      }
    }
    std::vector<Probe> others =
        AnyProbes(kernel_, options_.other_probes, options_.seed, declared_);
    if (absl::Status s = RunProbes(targets_, executor_, absl::MakeSpan(others));
        !s.ok()) {
      return s;
    }
    others_.first = probes_.size();
    std::move(others.begin(), others.end(), std::back_inserter(probes_));
    others_.end = probes_.size();
    return absl::OkStatus();
  }

  absl::Span<const Probe> Of(Range range) const {
    return absl::MakeConstSpan(probes_).subspan(range.first,
                                                range.end - range.first);
  }

  static Tally Rate(const Contract& contract,
                    const std::vector<const Probe*>& probes) {
    Tally tally;
    for (const Probe* probe : probes) tally.Add(FitOf(contract, *probe));
    return tally;
  }

  // What a changed field does for the probes.
  struct Worth {
    // Contradicted without the change: explained with it, and left to the
    // caller with it.
    int explained = 0, excused = 0;
    // Left to the caller with it: right without it.
    int kept = 0;
  };
  Worth WorthOf(const Contract& without) const {
    Worth worth;
    for (const Probe& probe : probes_) {
      const Fit with = FitOf(found_.contract, probe);
      if (with == Fit::kContradicted) continue;
      const Fit before = FitOf(without, probe);
      const bool helps = before == Fit::kContradicted;
      if (with == Fit::kExplained) {
        worth.explained += helps ? 1 : 0;
      } else {
        worth.excused += helps ? 1 : 0;
        worth.kept += before == Fit::kExplained ? 1 : 0;
      }
    }
    return worth;
  }

  // Undoes changes to weaker promises that excuse what is no doing of theirs. A
  // change that explains more than it excuses is a rule of the kernel. One that
  // excuses more is only if nothing else is wrong, and the kernel breaks the
  // stronger promise more often than it keeps it: a fault that has nothing to
  // do with it (damage elsewhere, a crash now and then) does not.
  void DropExcuses() {
    for (const auto& [number, range] : ranges_) {
      const std::string& name =
          AllFields()[static_cast<std::size_t>(number)].name;
      if (ValuesOf(found_.contract, kernel_)[name] == said_.at(name)) continue;
      for (Neighbour& n : Neighbours(found_.contract, kernel_)) {
        if (n.field != name || n.changed != said_.at(name)) continue;
        options_.progress();
        const Worth worth = WorthOf(n.contract);
        if (worth.explained > worth.excused) break;
        if (found_.tally.contradicted == 0 && worth.excused > worth.kept) break;
        found_.contract = std::move(n.contract);
        found_.tally = TallyOf(found_.contract, probes_);
        break;
      }
    }
  }

  void ReportField(int number, Range range) {
    options_.progress();
    const std::string& name =
        AllFields()[static_cast<std::size_t>(number)].name;
    InferredField field;
    field.set_field(name);
    field.set_declared(said_.at(name));
    field.set_inferred(ValuesOf(found_.contract, kernel_)[name]);
    std::vector<const Probe*> own;
    for (const Probe& probe : Of(range)) own.push_back(&probe);
    Decide(found_.contract, name, own, &field);
    if (!options_.brief && field.state() == InferredField::UNDECIDED) {
      // What the cases for this field leave open others may tell,
      for (const Probe& probe : Of(others_)) own.push_back(&probe);
      Decide(found_.contract, name, own, &field);
    }
    if (field.state() == InferredField::UNDECIDED &&
        Rate(sharp_, own).contradicted == 0) {
      // or narrower bounds.
      Decide(sharp_, name, own, &field);
    }
    if (field.state() == InferredField::DIFFERS) {
      field.set_note(OthersThatDo(name));
      if (const std::size_t left = own.size() - field.probes(); left > 0) {
        field.set_note(
            absl::StrCat("leaves ", left, " of its probes to the caller",
                         field.note().empty() ? "" : "; ", field.note()));
      }
    } else if (field.state() == InferredField::UNEXPLAINED) {
      for (const Probe* probe : own) {
        if (sentences_ >= kSentences) break;
        if (FitOf(found_.contract, *probe) != Fit::kContradicted) continue;
        ++sentences_;
        field.set_note(Damage(found_.contract, *probe));
        break;
      }
    } else if (options_.brief) {
      return;
    }
    *result_.add_fields() = std::move(field);
  }

  // Compares the values of one of `contract`'s fields on `probes`.
  void Decide(const Contract& contract, const std::string& name,
              const std::vector<const Probe*>& probes,
              InferredField* field) const {
    const Tally found = Rate(contract, probes);
    field->set_probes(
        static_cast<std::uint32_t>(found.explained + found.contradicted));
    field->set_explained(static_cast<std::uint32_t>(found.explained));
    field->clear_equal();
    int next = -1;
    for (const Neighbour& n : Neighbours(contract, kernel_)) {
      if (n.field != name) continue;
      options_.progress();
      const int other = Rate(n.contract, probes).explained;
      if (other == found.explained) field->add_equal(n.changed);
      if (other <= next) continue;
      next = other;
      field->set_next_value(n.changed);
      field->set_next_best(static_cast<std::uint32_t>(other));
    }
    if (field->inferred() != field->declared()) {
      field->set_state(InferredField::DIFFERS);
    } else if (found.explained > next) {
      field->set_state(InferredField::CONFIRMED);
    } else if (found.contradicted == 0) {
      field->set_state(InferredField::UNDECIDED);
    } else {
      field->set_state(InferredField::UNEXPLAINED);
    }
  }

  std::string OthersThatDo(const std::string& name) const {
    const auto also = found_.also.find(name);
    if (also == found_.also.end() || also->second.empty()) return "";
    std::string text = "as well explained by";
    for (const std::string& change : also->second) {
      absl::StrAppend(&text, " ", change);
    }
    return text;
  }

  // What foretells most words; if there is no time, what the search changed.
  absl::Status AskForArithmetic() {
    if (!options_.brief) {
      std::vector<Probe> probes =
          ArithmeticProbes(kArithmeticProbes, options_.seed, declared_);
      if (absl::Status s =
              RunProbes(targets_, executor_, absl::MakeSpan(probes));
          !s.ok()) {
        return s;
      }
      options_.progress();
      for (InferredField& field : FitArithmetic(declared_, probes, &sharp_)) {
        *result_.add_arithmetic() = std::move(field);
      }
      return absl::OkStatus();
    }
    std::map<std::string, std::string> said = said_;
    for (const auto& [name, value] : ValuesOf(found_.contract, kernel_)) {
      if (name.rfind("arithmetic.", 0) != 0 || said[name] == value ||
          found_.tally.contradicted > 0) {
        continue;
      }
      InferredField& field = *result_.add_arithmetic();
      field.set_field(name);
      field.set_declared(said[name]);
      field.set_inferred(value);
      field.set_state(InferredField::DIFFERS);
    }
    return absl::OkStatus();
  }

  absl::Status AskForChecks() {
    auto checks = TryHostChecks(kernel_, declared_, targets_, executor_,
                                options_.seed, options_.progress);
    if (!checks.ok()) return checks.status();
    std::vector<int> refused;
    const std::vector<int> promised = HostChecks(declared_, kernel_);
    int number = 0;
    for (InferredCheck& check : *checks) {
      ++number;
      const bool is_promised =
          std::find(promised.begin(), promised.end(), number) != promised.end();
      if (check.state() == InferredCheck::CONFIRMED ||
          check.state() == InferredCheck::UNDECLARED ||
          (check.state() == InferredCheck::NOT_CHECKED && is_promised)) {
        refused.push_back(number);
      }
      *result_.add_host_checks() = std::move(check);
    }
    SetHostChecks(refused, kernel_, &sharp_);
    return absl::OkStatus();
  }

  const Kernel kernel_;
  const Contract& declared_;
  const TargetSet& targets_;
  Executor& executor_;
  const InferOptions& options_;
  // Of `declared_`, by its fields' names.
  const std::map<std::string, std::string> said_;
  std::vector<Probe> probes_;
  std::vector<std::pair<int, Range>> ranges_;
  Range others_;
  SearchResult found_;
  Contract sharp_;  // found_.contract with the arithmetic that fits best
  InferredKernel result_;
  int sentences_ = 0;
};

}  // namespace

InferOptions BriefInference() {
  InferOptions options;
  options.probes_per_field = 8;
  options.other_probes = 48;
  options.brief = true;
  return options;
}

absl::Status CanInfer(Kernel kernel, const Contract& declared) {
  const auto refuse = [&](absl::string_view asked, absl::string_view declares) {
    return absl::InvalidArgumentError(absl::StrCat(
        "its questions to a ", KernelName(kernel), " are of ", asked,
        ", and this one declares ", declares,
        "; `mlafuzz campaign` judges it by its contract, and --kernels names "
        "others beside it"));
  };
  const Layout layout =
      declared.layout() == LAYOUT_UNSPECIFIED ? FP8_DS_MLA : declared.layout();
  // A convert knows slots alone.
  if (layout != FP8_DS_MLA && kernel != Kernel::kConvert) {
    return refuse("fp8_ds_mla", Layout_Name(layout));
  }
  const GatherContract::Rows rows = declared.gather().rows();
  if (kernel == Kernel::kGather && rows != GatherContract::ROWS_UPCONVERTED &&
      rows != GatherContract::ROWS_UNSPECIFIED) {
    return refuse("rows that become bf16",
                  absl::StrCat("rows: ", GatherContract::Rows_Name(rows)));
  }
  return absl::OkStatus();
}

absl::StatusOr<InferredKernel> InferKernel(Kernel kernel,
                                           const Contract& declared,
                                           const TargetSet& targets,
                                           Executor& executor,
                                           const InferOptions& options) {
  if (absl::Status s = CanInfer(kernel, declared); !s.ok()) return s;
  return Inference(kernel, declared, targets, executor, options).Run();
}

namespace {

// What the first library among the targets says of itself beside its contract.
TargetDescription HeadOf(const TargetSet& targets,
                         absl::Span<const Kernel> kernels) {
  TargetDescription head;
  for (const Kernel kernel : kernels) {
    const Target* const target = targets.For(kernel);
    if (target == nullptr || !target->Implements(kernel) ||
        target->foreign() == nullptr) {
      continue;
    }
    head = target->foreign()->description();
    head.clear_contract();
    break;
  }
  return head;
}

}  // namespace

absl::StatusOr<InferResult> Infer(const TargetSet& targets,
                                  absl::Span<const Kernel> kernels,
                                  Executor& executor,
                                  const InferOptions& options) {
  InferResult result;
  result.set_schema_version(1);
  Contract proposal;
  // Before the first of them takes its time.
  for (const Kernel kernel : kernels) {
    const Target& target = *targets.For(kernel);
    if (options.brief || !target.Implements(kernel)) continue;
    if (absl::Status s = CanInfer(kernel, target.contract()); !s.ok()) return s;
  }
  for (const Kernel kernel : kernels) {
    const Target& target = *targets.For(kernel);
    if (!target.Implements(kernel)) continue;
    // A look before a campaign is at what can be seen.
    if (!CanInfer(kernel, target.contract()).ok()) continue;
    auto inferred =
        InferKernel(kernel, target.contract(), targets, executor, options);
    if (!inferred.ok()) return inferred.status();
    AddToProposal(inferred->contract(), kernel, &proposal);
    *result.add_kernels() = *std::move(inferred);
  }
  result.set_description(ProposalText(HeadOf(targets, kernels), proposal));
  return result;
}

bool Contradicted(const InferResult& result) {
  const auto wrong = [](const InferredField& field) {
    return field.state() == InferredField::DIFFERS ||
           field.state() == InferredField::UNEXPLAINED;
  };
  for (const InferredKernel& kernel : result.kernels()) {
    if (!kernel.unexplained().empty() ||
        std::any_of(kernel.fields().begin(), kernel.fields().end(), wrong) ||
        std::any_of(kernel.arithmetic().begin(), kernel.arithmetic().end(),
                    wrong) ||
        std::any_of(kernel.host_checks().begin(), kernel.host_checks().end(),
                    [](const InferredCheck& check) {
                      return check.state() == InferredCheck::NOT_REFUSED;
                    })) {
      return true;
    }
  }
  return false;
}

}  // namespace mlafuzz
