#include <initializer_list>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "oracle/call_words.h"
#include "oracle/compared_step.h"
#include "oracle/damage.h"
#include "oracle/decode/judge_decode.h"
#include "oracle/diagnosis_parts.h"
#include "oracle/evidence.h"
#include "oracle/expect.h"
#include "oracle/explain_parts.h"
#include "oracle/judge.h"
#include "oracle/part_words.h"
#include "oracle/pool_history.h"
#include "oracle/validity.h"

namespace mlafuzz {
namespace {

using oracle::ComparedStep;
using oracle::Damage;
using oracle::Region;

void FirstWrong(const ComparedStep& compared, const Damage& damage,
                std::string* text) {
  const Region* region = nullptr;
  for (const Region* r :
       {&damage.codes, &damage.scales, &damage.rope, &damage.tail,
        &damage.untouched_rows, &damage.skipped_rows, &damage.values,
        &damage.missing_rows, &damage.gather_rope, &damage.gather_tail,
        &damage.gather_scales, &damage.indices, &damage.counts, &damage.padding,
        &damage.foreign}) {
    if (*r) {
      region = r;
      break;
    }
  }
  if (region == nullptr) return;
  absl::StrAppend(
      text, "first wrong: ",
      oracle::DescribeFirst(compared.image, compared.index, compared.before,
                            compared.expected, compared.after, *region),
      "\n");
  switch (compared.step.kernel) {
    case Kernel::kWriter:
      ExplainSlot(compared, *region, text);
      break;
    case Kernel::kGather:
      ExplainDst(compared, *region, text);
      break;
    case Kernel::kConvert:
      ExplainIndex(compared, *region, text);
      break;
    case Kernel::kDecode:
      break;
  }
}

// How many elements are wrong, by what they are of.
void Counts(const ComparedStep& compared, const Damage& damage,
            std::string* text) {
  absl::StrAppend(text, "wrong: ", damage.wrong_rows, " of ", damage.rows,
                  " rows");
  const oracle::PartWords words =
      oracle::PartWordsOf(compared.contract, compared.layout);
  struct Named {
    const Region* region;
    absl::string_view name;
  };
  for (const Named& named : std::initializer_list<Named>{
           {&damage.codes, "codes"},
           {&damage.scales, "scale bytes"},
           {&damage.padding, "padding bytes"},
           {&damage.rope, "rope bytes"},
           {&damage.tail, words.tail_bytes},
           {&damage.untouched_rows, "rows never written"},
           {&damage.skipped_rows, "skipped rows written"},
           {&damage.values, words.gathered},
           {&damage.gather_rope, "rope values"},
           {&damage.gather_tail, words.tail_values},
           {&damage.missing_rows, "dst rows never written"},
           {&damage.gather_scales, "rows of copied scales"},
           {&damage.indices, "indices"},
           {&damage.counts, "counts"},
           {&damage.foreign, "bytes of nobody's"}}) {
    if (*named.region) {
      absl::StrAppend(text, ", ", named.region->count, " ", named.name);
    }
  }
  absl::StrAppend(text, "\n");
}

// What memory guards and sanitizers saw.
void MemoryLines(const StepObservation& observed, std::string* text) {
  for (const Stray& stray : observed.strays) {
    absl::StrAppend(text, "stray: ", stray.count, " bytes of ",
                    stray.tensor ? TensorName(*stray.tensor) : "the pool",
                    " from ", stray.first, " to ", stray.last, "\n");
  }
  for (const std::string& report : observed.reports) {
    absl::StrAppend(text, "report: ", report, "\n");
  }
}

// Of a step that is no decode.
void ExplainStep(const Contract& contract, const CaseImage& image, int index,
                 const oracle::PoolHistory& history,
                 const StepObservation& observed, std::string* text) {
  const StepImage& step = image.steps[static_cast<std::size_t>(index)];
  const StepValidity validity = Classify(contract, image, index);
  absl::StrAppend(text, oracle::CallWords(validity, observed));
  MemoryLines(observed, text);
  oracle::AfterImage after;
  if (!oracle::AfterImageOf(step, observed, history.after(), &after) ||
      !oracle::IsCompared(validity, observed)) {
    return;
  }
  const absl::Span<const std::uint8_t> before = history.before();
  const Expectation expected = Expect(contract, image, index, before);
  if (oracle::Matches(contract, image, index, before, expected, after)) {
    absl::StrAppend(text, "all bytes are as expected\n");
    return;
  }
  const ComparedStep compared(contract, image, index, before, expected, after);
  const Damage damage =
      oracle::Assess(contract, image, index, before, expected, after);
  FirstWrong(compared, damage, text);
  Counts(compared, damage, text);
}

}  // namespace

std::string Explain(const Contracts& contracts, const CaseImage& image,
                    const Observation& observation, const Check& check) {
  std::string text =
      absl::StrCat("step ", check.step, " (", KernelName(check.kernel), "), ",
                   check.property, ": ", VerdictName(check.verdict));
  if (!check.detail.empty()) absl::StrAppend(&text, ": ", check.detail);
  absl::StrAppend(&text, "\n");
  if (!oracle::IsOfACall(check, image, observation)) return text;
  const std::size_t step = static_cast<std::size_t>(check.step);
  const StepObservation& observed = observation.steps[step];
  const oracle::PoolHistory history =
      oracle::PoolHistory::Before(image, observation, check.step);
  const Contract& contract =
      *contracts[static_cast<std::size_t>(image.steps[step].kernel)];
  if (image.steps[step].kernel == Kernel::kDecode) {
    text = absl::StrCat("step ", check.step, " (decode), ",
                        ExplainDecode(contract, image, check.step,
                                      history.before(), observed, check));
  } else {
    ExplainStep(contract, image, check.step, history, observed, &text);
  }
  if (oracle::IsCompared(Classify(contract, image, check.step), observed)) {
    const std::string evidence = oracle::EvidenceText(
        oracle::WeighEvidence(contract, image, check.step, history, observed));
    if (!evidence.empty()) {
      absl::StrAppend(&text, "evidence: ", evidence, "\n");
    }
  }
  return text;
}

}  // namespace mlafuzz
