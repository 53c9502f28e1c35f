#include "properties/checker.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "corpus/codec.h"
#include "corpus/contracts.h"
#include "corpus/value_generator.h"
#include "oracle/diagnosis_parts.h"
#include "oracle/expect.h"
#include "oracle/validity.h"
#include "properties/check_filter.h"
#include "properties/combined_executor.h"
#include "properties/fused/for_each.h"
#include "properties/relations.h"

namespace mlafuzz {
namespace {

CheckFilter check_filter = nullptr;

// Cases that a thread judges at a time.
constexpr std::size_t kPiece = 8;

// What an unspecified step of a case that was not sent looks like.
std::vector<Check> UnspecifiedChecks(const Contracts& contracts,
                                     const CaseImage& image) {
  std::vector<Check> checks;
  for (int i = 0; i < static_cast<int>(image.steps.size()); ++i) {
    const StepImage& step = image.steps[i];
    if (step.is_patch) continue;
    const StepValidity v =
        Classify(*contracts[static_cast<std::size_t>(step.kernel)], image, i);
    if (v.validity != Validity::kUnspecified) continue;
    checks.push_back({.step = i,
                      .kernel = step.kernel,
                      .property = property::kRefusal,
                      .verdict = Verdict::kUnspecified,
                      .detail = absl::StrCat(v.rule, ": ", v.reason)});
  }
  return checks;
}

// Whether a step reads bytes of the pool under `other` that it does not under
// `contract`.
bool ReadsMore(const Contract& other, const Contract& contract,
               const CaseImage& image, int step) {
  const std::vector<std::uint8_t> more = PoolReadSet(other, image, step);
  const std::vector<std::uint8_t> reads = PoolReadSet(contract, image, step);
  for (std::size_t i = 0; i < more.size(); ++i) {
    if (more[i] > reads[i]) return true;
  }
  return false;
}

absl::Status RunRelations(const TargetSet& targets, Executor& executor,
                          const Contracts& contracts,
                          const CheckOptions& options, CaseResult& result) {
  // The draw depends on the case alone, not on its place in a batch.
  const ValueGenerator words = ValueGenerator(options.relation_seed)
                                   .Stream(CaseHash(*result.image.source));
  std::vector<const Relation*> chosen;
  for (const Relation& r : AllRelations()) {
    if (r.only_asked && !options.all_relations) continue;
    if (r.applies(targets, contracts, result.image)) chosen.push_back(&r);
  }
  if (!options.all_relations) {
    // The first few of a random order.
    const std::size_t wanted = std::min(
        chosen.size(),
        static_cast<std::size_t>(std::max(options.relations_per_case, 0)));
    for (std::size_t i = 0; i < wanted; ++i) {
      const std::size_t j =
          i + words.Below(i, static_cast<std::uint32_t>(chosen.size() - i));
      std::swap(chosen[i], chosen[j]);
    }
    chosen.resize(wanted);
  }
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    // Each relation draws from a stream of its own, whichever others run.
    const std::uint64_t seed =
        words.Stream(1 + (chosen[i] - &AllRelations()[0])).Word(0);
    if (absl::Status s =
            chosen[i]->run(targets, executor, contracts, result.image,
                           result.observation, seed, &result.checks);
        !s.ok()) {
      return s;
    }
  }
  return absl::OkStatus();
}

}  // namespace

void SetCheckFilter(CheckFilter filter) { check_filter = filter; }

Contracts CaseChecker::contracts() const {
  static const Contract* const kBuiltin = new Contract(BuiltinContract());
  Contracts contracts;
  for (const Kernel kernel : kAllKernels) {
    const Target* target = targets_.For(kernel);
    // Who has no such kernel answers kNotImplemented; any contract will do.
    contracts[static_cast<std::size_t>(kernel)] =
        target != nullptr ? &target->contract() : kBuiltin;
  }
  return contracts;
}

absl::Status CaseChecker::CheckCases(absl::Span<const Case* const> cases,
                                     const CheckOptions& options,
                                     std::vector<CaseResult>* results) {
  results->clear();
  std::vector<CaseImage> images;
  images.reserve(cases.size());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    absl::StatusOr<CaseImage> image = BuildImage(*cases[i]);
    if (!image.ok()) {
      return absl::Status(
          image.status().code(),
          cases.size() == 1
              ? std::string(image.status().message())
              : absl::StrCat("case ", i, ": ", image.status().message()));
    }
    images.push_back(*std::move(image));
  }
  return CheckImages(std::move(images),
                     std::vector<CheckOptions>(cases.size(), options), results);
}

absl::Status CaseChecker::CheckImages(std::vector<CaseImage> images,
                                      absl::Span<const CheckOptions> options,
                                      std::vector<CaseResult>* results,
                                      int threads) {
  results->clear();
  results->resize(images.size());
  const Contracts contracts = this->contracts();
  ForEach(
      images.size(), threads,
      [&](std::size_t i) {
        if (options[i].send_unspecified) return;
        (*results)[i].checks = UnspecifiedChecks(contracts, images[i]);
      },
      kPiece);
  std::vector<CaseImage> to_run;
  std::vector<std::size_t> sent;
  to_run.reserve(images.size());
  for (std::size_t i = 0; i < images.size(); ++i) {
    CaseResult& result = (*results)[i];
    if (!result.checks.empty()) {
      result.image = std::move(images[i]);
      continue;
    }
    to_run.push_back(std::move(images[i]));
    sent.push_back(i);
  }
  std::vector<Observation> observations;
  if (absl::Status s = executor_.Run(targets_, to_run, &observations);
      !s.ok()) {
    return s;
  }
  if (observations.size() != to_run.size()) {
    return absl::InternalError(absl::StrCat("the executor observed ",
                                            observations.size(), " of ",
                                            to_run.size(), " cases"));
  }
  ForEach(
      sent.size(), threads,
      [&](std::size_t k) {
        CaseResult& result = (*results)[sent[k]];
        result.image = std::move(to_run[k]);
        result.observation = std::move(observations[k]);
        result.checks = Judge(contracts, result.image, result.observation);
      },
      kPiece);
  if (absl::Status s = RunAllRelations(sent, options, threads, results);
      !s.ok()) {
    return s;
  }
  if (check_filter == nullptr) return absl::OkStatus();
  for (const std::size_t i : sent) {
    CaseResult& result = (*results)[i];
    check_filter(contracts, result.image, result.observation, &result.checks);
  }
  return absl::OkStatus();
}

// On several threads, those that wait for a rerun at a time share a batch.
absl::Status CaseChecker::RunAllRelations(
    absl::Span<const std::size_t> sent, absl::Span<const CheckOptions> options,
    int threads, std::vector<CaseResult>* results) {
  const Contracts contracts = this->contracts();
  std::vector<std::size_t> related;
  for (const std::size_t i : sent) {
    if (options[i].all_relations || options[i].relations_per_case > 0) {
      related.push_back(i);
    }
  }
  if (threads < 2 || related.size() < 2) {
    for (const std::size_t i : related) {
      if (absl::Status s = RunRelations(targets_, executor_, contracts,
                                        options[i], (*results)[i]);
          !s.ok()) {
        return s;
      }
    }
    return absl::OkStatus();
  }
  CombinedExecutor combined(executor_);
  std::vector<absl::Status> ends(related.size());
  ForEach(
      related.size(), threads,
      [&](std::size_t k) {
        const CombinedExecutor::Part part(combined);
        ends[k] = RunRelations(targets_, combined, contracts,
                               options[related[k]], (*results)[related[k]]);
      },
      1);
  for (const absl::Status& end : ends) {
    if (!end.ok()) return end;
  }
  return absl::OkStatus();
}

absl::Status CaseChecker::CheckCase(const Case& c, const CheckOptions& options,
                                    CaseResult* result) {
  const Case* const cases[] = {&c};
  std::vector<CaseResult> results;
  if (absl::Status s = CheckCases(cases, options, &results); !s.ok()) return s;
  *result = std::move(results[0]);
  return absl::OkStatus();
}

Diagnosis CaseChecker::Why(const CaseResult& result, const Check& check) const {
  const Contracts contracts = this->contracts();
  if (!IsRelation(check.property)) {
    return Diagnose(contracts, result.image, result.observation, check);
  }
  // If the plain run of the step is wrong too, that says more.
  for (const Check& other : result.checks) {
    if (other.step == check.step && IsFailure(other.verdict) &&
        !IsRelation(other.property)) {
      return Diagnose(contracts, result.image, result.observation, other);
    }
  }
  if (check.why != nullptr) return *check.why;
  // Of rules that let the relation break, or read what the declared ones do
  // not, one may be the reason.
  std::vector<std::string> possible;
  for (const Relation& r : AllRelations()) {
    if (check.property != r.name || check.kernel != r.kernel) continue;
    const std::size_t kernel = static_cast<std::size_t>(check.kernel);
    for (const Neighbour& n : Neighbours(*contracts[kernel], check.kernel)) {
      Contracts other = contracts;
      other[kernel] = &n.contract;
      if (!r.applies(targets_, other, result.image) ||
          ReadsMore(n.contract, *contracts[kernel], result.image, check.step)) {
        possible.push_back(oracle::KeyOf(n));
      }
    }
  }
  return {.field = "",
          .key = check.property,
          .cause = absl::StrCat(
              "the ", KernelName(check.kernel), " breaks the relation ",
              check.property,
              " on a case that it gets right alone: ", check.detail),
          .possible = std::move(possible)};
}

Kernel BlamedKernel(const Check& check, const Diagnosis& diagnosis) {
  return diagnosis.kernel.value_or(check.kernel);
}

std::string CauseKey(const Check& check, const Diagnosis& diagnosis) {
  const bool says_more = !diagnosis.key.empty() && diagnosis.key != "other";
  return absl::StrCat(KernelName(BlamedKernel(check, diagnosis)), "/",
                      says_more ? diagnosis.key : check.property);
}

}  // namespace mlafuzz
