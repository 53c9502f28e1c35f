#include "properties/infer/host_checks.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "corpus/observation.h"
#include "google/protobuf/descriptor.h"
#include "oracle/validity.h"
#include "properties/choices.h"
#include "properties/generate.h"
#include "properties/infer/probes.h"
#include "properties/refused.h"

namespace mlafuzz {
namespace {

using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr int kMisuses = 4;
constexpr int kDraws = 60;

// The message of a kernel's rules, and its list of checks.
Message* Rules(Kernel kernel, Contract* contract) {
  return contract->GetReflection()->MutableMessage(
      contract, contract->GetDescriptor()->FindFieldByName(KernelName(kernel)));
}

const FieldDescriptor* List(const Message& rules) {
  return rules.GetDescriptor()->FindFieldByName("host_checks");
}

std::vector<int> AllChecks(const EnumDescriptor& type) {
  std::vector<int> all;
  for (int i = 0; i < type.value_count(); ++i) {
    if (type.value(i)->number() != 0) all.push_back(type.value(i)->number());
  }
  return all;
}

bool Break(int check, Choices& choices, Pool& pool, Step& step) {
  switch (step.call_case()) {
    case Step::kWrite:
      return BreakWriterCheck(static_cast<WriterCheck>(check), choices, pool,
                              *step.mutable_write());
    case Step::kGather:
      return BreakGatherCheck(static_cast<GatherCheck>(check), choices, pool,
                              *step.mutable_gather());
    case Step::kConvert:
      return BreakConvertCheck(static_cast<ConvertCheck>(check), choices,
                               *step.mutable_convert());
    case Step::kDecode:
      return BreakDecodeCheck(static_cast<DecodeCheck>(check), choices, pool,
                              *step.mutable_decode());
    default:
      return false;
  }
}

// Whether the step is invalid where all checks are promised, and no more where
// all but this one are: the check itself is what refuses it.
bool BreaksAlone(int check, Kernel kernel, const std::vector<int>& all,
                 const Contract& declared, const CaseImage& image) {
  Contract contract = declared;
  SetHostChecks(all, kernel, &contract);
  if (Classify(contract, image, 0).validity != Validity::kInvalid) return false;
  std::vector<int> others = all;
  others.erase(std::find(others.begin(), others.end(), check));
  SetHostChecks(others, kernel, &contract);
  return Classify(contract, image, 0).validity != Validity::kInvalid;
}

std::vector<Probe> Misuses(int check, Kernel kernel,
                           const std::vector<int>& all,
                           const Contract& declared, std::uint64_t seed) {
  std::vector<Probe> misuses;
  Choices choices(seed * 1000 + 500 + static_cast<std::uint64_t>(check));
  const GeneratorOptions options = OnlyKernel(kernel);
  for (int drawn = 0;
       drawn < kDraws && static_cast<int>(misuses.size()) < kMisuses; ++drawn) {
    Probe probe;
    probe.source = std::make_unique<Case>(GenerateCase(choices, options));
    Case& c = *probe.source;
    while (c.steps_size() > 1) c.mutable_steps()->RemoveLast();
    if (c.steps_size() == 0 ||
        !Break(check, choices, *c.mutable_pool(), *c.mutable_steps(0))) {
      continue;
    }
    auto image = BuildImage(c);
    if (!image.ok() || image->steps[0].is_patch ||
        !BreaksAlone(check, kernel, all, declared, *image)) {
      continue;
    }
    probe.image = *std::move(image);
    misuses.push_back(std::move(probe));
  }
  return misuses;
}

// Counts the refusals; what ended otherwise is in the note.
void Count(const std::vector<Probe>& misuses, InferredCheck* check) {
  for (const Probe& misuse : misuses) {
    const StepObservation& observed = misuse.observation.steps[0];
    check->set_tried(check->tried() + 1);
    switch (observed.status) {
      case CallStatus::kRefused:
        check->set_refused(check->refused() + 1);
        break;
      case CallStatus::kOk:
        break;
      default:
        check->set_note(absl::StrCat(CallStatusName(observed.status), ": ",
                                     observed.message));
    }
  }
}

InferredCheck::State StateOf(const InferredCheck& check, bool declared) {
  if (check.tried() == 0) return InferredCheck::NOT_CHECKED;
  if (check.refused() == check.tried()) {
    return declared ? InferredCheck::CONFIRMED : InferredCheck::UNDECLARED;
  }
  if (declared) return InferredCheck::NOT_REFUSED;
  return check.note().empty() ? InferredCheck::ABSENT
                              : InferredCheck::NOT_CHECKED;
}

}  // namespace

std::vector<int> HostChecks(const Contract& contract, Kernel kernel) {
  Contract copy = contract;
  const Message& rules = *Rules(kernel, &copy);
  const FieldDescriptor* list = List(rules);
  std::vector<int> checks;
  for (int i = 0; i < rules.GetReflection()->FieldSize(rules, list); ++i) {
    checks.push_back(
        rules.GetReflection()->GetRepeatedEnumValue(rules, list, i));
  }
  return checks;
}

void SetHostChecks(const std::vector<int>& checks, Kernel kernel,
                   Contract* contract) {
  Message* rules = Rules(kernel, contract);
  const FieldDescriptor* list = List(*rules);
  rules->GetReflection()->ClearField(rules, list);
  for (const int check : checks) {
    rules->GetReflection()->AddEnumValue(rules, list, check);
  }
}

absl::StatusOr<std::vector<InferredCheck>> TryHostChecks(
    Kernel kernel, const Contract& declared, const TargetSet& targets,
    Executor& executor, std::uint64_t seed,
    const std::function<void()>& progress) {
  Contract copy = declared;
  const EnumDescriptor& type = *List(*Rules(kernel, &copy))->enum_type();
  const std::vector<int> all = AllChecks(type);
  const std::vector<int> promised = HostChecks(declared, kernel);
  std::vector<InferredCheck> checks;
  for (const int number : all) {
    progress();
    InferredCheck check;
    check.set_check(type.FindValueByNumber(number)->name());
    const bool is_promised =
        std::find(promised.begin(), promised.end(), number) != promised.end();
    if (!is_promised && targets.For(kernel)->foreign() == nullptr) {
      check.set_note("not promised, and runs in this process");
    } else {
      std::vector<Probe> misuses = Misuses(number, kernel, all, declared, seed);
      if (misuses.empty()) {
        check.set_note("nothing here breaks it");
      } else if (absl::Status s =
                     RunProbes(targets, executor, absl::MakeSpan(misuses));
                 !s.ok()) {
        return s;
      }
      Count(misuses, &check);
    }
    check.set_state(StateOf(check, is_promised));
    checks.push_back(std::move(check));
  }
  return checks;
}

}  // namespace mlafuzz
