#include "properties/infer/probes.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "oracle/judge.h"
#include "oracle/validity.h"
#include "properties/choices.h"
#include "properties/fields.h"
#include "properties/generate_for.h"
#include "properties/repair.h"

namespace mlafuzz {
namespace {

// Cases drawn for one that is wanted, where a contract leaves many to the
// caller.
constexpr int kDrawsPerProbe = 4;

Contracts ForAll(const Contract& contract) {
  Contracts contracts;
  contracts.fill(&contract);
  return contracts;
}

// More blocks than a split of any candidate has.
constexpr std::uint32_t kWideLanes = 1100;

}  // namespace

GeneratorOptions OnlyKernel(Kernel kernel) {
  GeneratorOptions options;
  options.writer = kernel == Kernel::kWriter;
  options.gather = kernel == Kernel::kGather;
  options.convert = kernel == Kernel::kConvert;
  options.decode = kernel == Kernel::kDecode;
  options.invalid = false;
  return options;
}

bool AddProbe(const Contract& declared, const Case& c,
              std::vector<Probe>* probes) {
  Probe probe;
  probe.source = std::make_unique<Case>(c);
  auto image = BuildImage(*probe.source);
  if (!image.ok()) return false;
  for (int i = 0; i < static_cast<int>(image->steps.size()); ++i) {
    if (image->steps[static_cast<std::size_t>(i)].is_patch) continue;
    const Validity validity = Classify(declared, *image, i).validity;
    if (validity == Validity::kInvalid || validity == Validity::kUnspecified) {
      return false;
    }
  }
  probe.image = *std::move(image);
  probes->push_back(std::move(probe));
  return true;
}

std::vector<Probe> ProbesFor(int field, int count, std::uint64_t seed,
                             const Contract& declared) {
  std::vector<Probe> probes;
  if (!CanGenerateFor(field)) return probes;
  const GeneratorOptions options =
      OnlyKernel(AllFields()[static_cast<std::size_t>(field)].kernel);
  Choices choices(seed * 1000 + static_cast<std::uint64_t>(field));
  for (int drawn = 0; drawn < kDrawsPerProbe * count &&
                      static_cast<int>(probes.size()) < count;
       ++drawn) {
    AddProbe(declared, GenerateFor(field, choices, options), &probes);
  }
  return probes;
}

std::vector<Probe> AnyProbes(Kernel kernel, int count, std::uint64_t seed,
                             const Contract& declared) {
  std::vector<Probe> probes;
  const GeneratorOptions options = OnlyKernel(kernel);
  Choices choices(seed * 1000 + 900 + static_cast<std::uint64_t>(kernel));
  for (int drawn = 0; drawn < kDrawsPerProbe * count &&
                      static_cast<int>(probes.size()) < count;
       ++drawn) {
    AddProbe(declared, GenerateCase(choices, options), &probes);
  }
  return probes;
}

std::vector<Probe> ArithmeticProbes(int count, std::uint64_t seed,
                                    const Contract& declared) {
  std::vector<Probe> probes;
  GeneratorOptions options = OnlyKernel(Kernel::kDecode);
  Choices choices(seed * 1000 + 999);
  const int qk = FieldNumber("qk.scale_rule"), v = FieldNumber("v.scale_rule");
  for (int drawn = 0; drawn < kDrawsPerProbe * count &&
                      static_cast<int>(probes.size()) < count;
       ++drawn) {
    Case c = GenerateFor(choices.OneIn(2) ? qk : v, choices, options);
    if (static_cast<int>(probes.size()) % 2 == 1) {
      Decode& decode = *c.mutable_steps(0)->mutable_decode();
      Indices& indices = *decode.mutable_indices();
      indices.clear_set();
      indices.clear_row_stride();
      indices.set_rows(1);
      indices.set_width(kWideLanes + choices.Below(200));
      indices.set_valid(indices.width());
      decode.set_queries(1);
      decode.clear_query_length();
      decode.set_heads(1 + choices.Below(2));
      decode.clear_sink_bits();
      decode.clear_lengths();
      decode.clear_declared_topk();
      decode.set_splits(0);
      options.small = false;
      RepairCase(c, options);
      options.small = true;
    }
    AddProbe(declared, c, &probes);
  }
  return probes;
}

absl::Status RunProbes(const TargetSet& targets, Executor& executor,
                       absl::Span<Probe> probes) {
  std::vector<CaseImage> images;
  for (const Probe& probe : probes) images.push_back(probe.image);
  std::vector<Observation> observations;
  if (absl::Status s = executor.Run(targets, images, &observations); !s.ok()) {
    return s;
  }
  for (std::size_t i = 0; i < probes.size(); ++i) {
    probes[i].observation = std::move(observations[i]);
  }
  return absl::OkStatus();
}

Fit FitOf(const Contract& contract, const Probe& probe) {
  Fit fit = Fit::kExplained;
  // Where anything is right as output and LSE of each decode.
  bool foretells = false, decodes = false;
  for (const Check& check :
       Judge(ForAll(contract), probe.image, probe.observation)) {
    if (IsFailure(check.verdict)) return Fit::kContradicted;
    if (check.verdict == Verdict::kUnspecified ||
        check.verdict == Verdict::kSkipped) {
      fit = Fit::kNotJudged;
    }
    if (check.property != property::kDecodeOut &&
        check.property != property::kDecodeLse) {
      continue;
    }
    decodes = true;
    foretells |= check.verdict == Verdict::kPass;
  }
  return decodes && !foretells ? Fit::kNotJudged : fit;
}

Tally TallyOf(const Contract& contract, absl::Span<const Probe> probes) {
  Tally tally;
  for (const Probe& probe : probes) tally.Add(FitOf(contract, probe));
  return tally;
}

std::string Damage(const Contract& contract, const Probe& probe) {
  const Contracts contracts = ForAll(contract);
  for (const Check& check : Judge(contracts, probe.image, probe.observation)) {
    if (!IsFailure(check.verdict)) continue;
    const Diagnosis diagnosis =
        Diagnose(contracts, probe.image, probe.observation, check);
    return absl::StrCat(
        VerdictName(check.verdict), ", ", check.property, ": ",
        diagnosis.cause.empty() ? check.detail : diagnosis.cause);
  }
  return "";
}

}  // namespace mlafuzz
