// Every misuse that a contract says is refused, is refused, with a reason and
// without a trace. The checks are enumerated from the contract's own enums: a
// new one without a case that breaks it fails here.
#include <algorithm>
#include <cstdint>
#include <string>

#include "corpus/contracts.h"
#include "gtest/gtest.h"
#include "oracle/validity.h"
#include "properties/rapidcheck/arbitrary_case.h"
#include "properties/rapidcheck/kernels_under_test.h"
#include "properties/refused.h"
#include "properties/repair.h"
#include "rapidcheck/gtest.h"

namespace mlafuzz {
namespace {

// Breaks `check` of the first step that can; false if there is none.
bool Break(int check, Kernel kernel, Choices& choices, Case& c) {
  for (Step& step : *c.mutable_steps()) {
    if (kernel == Kernel::kWriter && step.has_write() &&
        BreakWriterCheck(static_cast<WriterCheck>(check), choices,
                         *c.mutable_pool(), *step.mutable_write())) {
      return true;
    }
    if (kernel == Kernel::kGather && step.has_gather() &&
        BreakGatherCheck(static_cast<GatherCheck>(check), choices,
                         *c.mutable_pool(), *step.mutable_gather())) {
      return true;
    }
    if (kernel == Kernel::kConvert && step.has_convert() &&
        BreakConvertCheck(static_cast<ConvertCheck>(check), choices,
                          *step.mutable_convert())) {
      return true;
    }
    if (kernel == Kernel::kDecode && step.has_decode() &&
        BreakDecodeCheck(static_cast<DecodeCheck>(check), choices,
                         *c.mutable_pool(), *step.mutable_decode())) {
      return true;
    }
  }
  return false;
}

// The rule that oracle/validity.h names for the check: "writer.pe_dim" for
// WRITER_CHECK_PE_DIM.
std::string RuleOf(const std::string& check) {
  const std::size_t middle = check.find("_CHECK_");
  std::string rule = check.substr(0, middle) + "." +
                     check.substr(middle + sizeof("_CHECK_") - 1);
  for (char& letter : rule) {
    if (letter >= 'A' && letter <= 'Z') letter += 'a' - 'A';
  }
  return rule;
}

// Whether the kernel under test promises to refuse what breaks the check.
bool Promised(const Contract& contract, Kernel kernel, int check) {
  const auto lists = [check](const auto& checks) {
    return std::find(checks.begin(), checks.end(), check) != checks.end();
  };
  switch (kernel) {
    case Kernel::kWriter:
      return lists(contract.writer().host_checks());
    case Kernel::kGather:
      return lists(contract.gather().host_checks());
    case Kernel::kConvert:
      return lists(contract.convert().host_checks());
    case Kernel::kDecode:
      return lists(contract.decode().host_checks());
  }
  return false;
}

void IsRefused(const google::protobuf::EnumDescriptor& checks, Kernel kernel) {
  const Contract& contract = KernelsUnderTest().For(kernel)->contract();
  // Never all of them in one case: `which` is drawn, and every value is tried
  // by the loop below.
  const GeneratorOptions plain = {.writer = kernel == Kernel::kWriter,
                                  .gather = kernel == Kernel::kGather,
                                  .convert = kernel == Kernel::kConvert,
                                  .decode = kernel == Kernel::kDecode,
                                  .invalid = false};
  const std::uint64_t seed = *rc::gen::arbitrary<std::uint64_t>();
  for (int i = 0; i < checks.value_count(); ++i) {
    const int check = checks.value(i)->number();
    // This project's conversion takes every width.
    if (check == 0 || checks.value(i)->name() == "CONVERT_CHECK_WIDTH") {
      continue;
    }
    if (!Promised(contract, kernel, check)) continue;
    Choices choices(seed + static_cast<std::uint64_t>(check));
    bool refused = false;
    for (int tries = 0; tries < 200 && !refused; ++tries) {
      Case c = GenerateCase(choices, plain);
      if (!Break(check, kernel, choices, c)) continue;
      GeneratorOptions broken = plain;
      broken.invalid = true;
      RepairCase(c, broken);
      const CaseResult result = Run(c);
      for (int s = 0; s < c.steps_size(); ++s) {
        if (c.steps(s).has_patch()) continue;
        const StepValidity v = Classify(contract, result.image, s);
        if (v.validity != Validity::kInvalid) continue;
        refused |= v.rule == RuleOf(checks.value(i)->name());
        const StepObservation& seen = result.observation.steps[s];
        RC_LOG() << checks.value(i)->name() << ": " << v.reason << "\n";
        RC_ASSERT(seen.status == CallStatus::kRefused);
        RC_ASSERT(!seen.message.empty());
        RC_ASSERT(!seen.pool.has_value());
        for (const Check& judged : result.checks) {
          RC_ASSERT(judged.step != s || !IsFailure(judged.verdict));
        }
      }
    }
    RC_LOG() << "no case breaks " << checks.value(i)->name() << "\n";
    RC_ASSERT(refused);
  }
}

RC_GTEST_PROP(Refusal, WriterChecks, ()) {
  IsRefused(*WriterCheck_descriptor(), Kernel::kWriter);
}

RC_GTEST_PROP(Refusal, GatherChecks, ()) {
  IsRefused(*GatherCheck_descriptor(), Kernel::kGather);
}

RC_GTEST_PROP(Refusal, ConvertChecks, ()) {
  IsRefused(*ConvertCheck_descriptor(), Kernel::kConvert);
}

RC_GTEST_PROP(Refusal, DecodeChecks, ()) {
  IsRefused(*DecodeCheck_descriptor(), Kernel::kDecode);
}

// A contract that takes multiples of 128 only makes other widths invalid.
RC_GTEST_PROP(Refusal, WidthsOfAnotherContract, ()) {
  Contract contract = BuiltinContract();
  contract.mutable_convert()->set_width_multiple(128);
  const Case c =
      *ArbitraryCase({.writer = false, .gather = false, .invalid = false});
  absl::StatusOr<CaseImage> image = BuildImage(c);
  RC_ASSERT(image.ok());
  for (int s = 0; s < c.steps_size(); ++s) {
    if (!c.steps(s).has_convert()) continue;
    const bool multiple =
        c.steps(s).convert().token_indices().width() % 128 == 0;
    RC_ASSERT((Classify(contract, *image, s).validity == Validity::kInvalid) ==
              !multiple);
  }
}

// What is right is taken, and what is wrong is refused, over all of them.
RC_GTEST_PROP(Refusal, MatchesTheContract, ()) {
  HoldsFor(*ArbitraryCase({}), {property::kRefusal});
}

}  // namespace
}  // namespace mlafuzz
