#include "fuzz/campaign/findings.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "corpus/codec.h"
#include "properties/relations.h"

namespace mlafuzz {
namespace {

// "" for a patch.
std::string CalledKernel(const Step& step) {
  switch (step.call_case()) {
    case Step::kWrite:
      return "writer";
    case Step::kGather:
      return "gather";
    case Step::kConvert:
      return "convert";
    case Step::kDecode:
      return "decode";
    default:
      return "";
  }
}

// "decode/qk.scale_rule=SCALE_ONE" -> "qk.scale_rule"; "" for a pattern.
std::string FieldOf(absl::string_view key) {
  key.remove_prefix(std::min(key.size(), key.find('/') + 1));
  std::string field;
  while (true) {
    const std::size_t equals = key.find('=');
    if (equals == absl::string_view::npos) return "";
    absl::StrAppend(&field, field.empty() ? "" : "+", key.substr(0, equals));
    const std::size_t plus = key.find('+', equals);
    if (plus == absl::string_view::npos) return field;
    key.remove_prefix(plus + 1);
  }
}

// Of a failure that its own case calls something else, but that other cases of
// its cause rule out, too.
void SetCauses(const CauseKeys& causes, Failure& failure) {
  if (failure.key() != causes[0]) {
    failure.set_cause(absl::StrCat(
        causes[0], " explains all cases of this cause; of this one alone: ",
        failure.cause()));
    failure.set_field(FieldOf(causes[0]));
    failure.set_key(causes[0]);
  }
  failure.mutable_also()->Assign(causes.begin() + 1, causes.end());
  failure.mutable_possible()->Assign(causes.possible.begin(),
                                     causes.possible.end());
}

// Whether the finding's own case shows another fault as well, and `other` does
// not.
bool ShowsTwo(const Failure& failure, const Failure& other) {
  return !failure.beside().empty() && other.beside().empty();
}

// Too many cases fail otherwise for what its own case claims: what was seen is
// left.
void Withdraw(const SettleResult& result, Finding& finding) {
  Failure& failure = finding.failure;
  finding.withdrawn = failure.key();
  failure.set_cause(absl::StrCat(
      "unknown: of further cases that fail ", result.alike(), " may be so by ",
      absl::StrJoin(result.causes(), " or "), ", but ", result.others(),
      " fail otherwise; this one: ", failure.detail()));
  failure.clear_field();
  failure.clear_also();
  failure.clear_possible();
  failure.set_key(absl::StrCat(failure.kernel(), "/", failure.property()));
}

}  // namespace

Finding* FindingSet::Add(Finding finding, std::string* renamed) {
  const KnownCauses::Result result = causes_.Learn(KeysOf(finding.failure));
  const CauseKeys& keys = causes_.all()[result.number];
  if (result.match == KnownCauses::Match::kNew) {
    findings_.emplace_back();
  } else {
    Finding& known = findings_[result.number];
    ++known.repeats;
    if (result.match == KnownCauses::Match::kKnown) return nullptr;
    known.failure.mutable_also()->Assign(keys.begin() + 1, keys.end());
    if (known.failure.key() == keys[0]) return nullptr;
    if (renamed != nullptr) *renamed = known.id;
    finding.executions_to_find = known.executions_to_find;
    finding.cases_to_find = known.cases_to_find;
    finding.seconds_to_find = known.seconds_to_find;
    finding.cpu_seconds_to_find = known.cpu_seconds_to_find;
    finding.repeats = known.repeats;
    known.id.clear();
  }
  SetCauses(keys, finding.failure);
  Name(finding);
  findings_[result.number] = std::move(finding);
  return &findings_[result.number];
}

bool FindingSet::Settle(std::size_t number, const SettleResult& result,
                        std::string* renamed) {
  Finding& finding = findings_[number];
  if (result.causes_size() == 0) return false;
  finding.settled = true;
  finding.heard = result.heard();
  finding.alike = result.alike();
  finding.others = result.others();
  finding.contradicted = result.contradicted();
  if (result.withdrawn()) {
    Withdraw(result, finding);
    *renamed = std::exchange(finding.id, "");
    Name(finding);
    return true;
  }
  const CauseKeys causes(result.causes().begin(), result.causes().end());
  const bool renames = finding.failure.key() != causes[0];
  const bool replaces = !result.case_binary().empty() &&
                        (renames || IsRelation(finding.failure.property()) ||
                         ShowsTwo(finding.failure, result.failure()));
  if (replaces) {
    finding.failure = result.failure();
    finding.case_binary = result.case_binary();
  }
  SetCauses(causes, finding.failure);
  if (result.contradicted() > 0) {
    finding.failure.set_conditional(true);
    absl::StrAppend(finding.failure.mutable_cause(),
                    "; in some calls only: ", result.contradicted(),
                    " further cases in which it should show are right");
  }
  if (renames || replaces) {
    *renamed = std::exchange(finding.id, "");
    Name(finding);
  }
  return renames || replaces;
}

std::vector<std::string> FindingSet::MergeAlike() {
  std::vector<std::string> gone;
  for (std::size_t i = 0; i < findings_.size(); ++i) {
    Finding& first = findings_[i];
    for (std::size_t j = i + 1; j < findings_.size();) {
      if (findings_[j].failure.key() != first.failure.key()) {
        ++j;
        continue;
      }
      first.repeats += findings_[j].repeats + 1;
      gone.push_back(findings_[j].id);
      findings_.erase(findings_.begin() + static_cast<std::ptrdiff_t>(j));
    }
  }
  return gone;
}

// Of a name that is taken, the next that is not.
void FindingSet::Name(Finding& finding) const {
  const std::string stem = FindingId(finding.failure.key());
  int same = 1;
  std::string id = stem;
  while (std::find(taken_.begin(), taken_.end(), id) != taken_.end() ||
         std::any_of(findings_.begin(), findings_.end(),
                     [&id](const Finding& f) { return f.id == id; })) {
    id = absl::StrCat(stem, "-", ++same);
  }
  finding.id = id;
}

std::vector<std::string> FindingSet::Causes() const {
  std::vector<std::string> causes;
  for (const Finding& f : findings_) causes.push_back(f.failure.key());
  return causes;
}

bool FailsAlike(const CaseRun& run, const Finding& finding) {
  return std::any_of(run.failures().begin(), run.failures().end(),
                     [&finding](const Failure& failure) {
                       return Explains(failure, finding.key_of_case());
                     });
}

std::string FindingId(absl::string_view cause_key) {
  // A field's name repeats the kernel that stands before it.
  const std::size_t slash = cause_key.find('/');
  if (slash != absl::string_view::npos) {
    const absl::string_view kernel = cause_key.substr(0, slash);
    const absl::string_view rest = cause_key.substr(slash + 1);
    if (rest.substr(0, kernel.size()) == kernel) cause_key = rest;
  }
  std::string id;
  for (const char c : cause_key) {
    if (absl::ascii_isalnum(c)) {
      id += absl::ascii_tolower(c);
    } else if (!id.empty() && id.back() != '-') {
      id += '-';
    }
  }
  constexpr std::size_t kLongest = 80;
  if (id.size() > kLongest) id.resize(kLongest);
  while (!id.empty() && id.back() == '-') id.pop_back();
  return id.empty() ? "finding" : id;
}

Failure DeathFailure(absl::string_view verdict, absl::string_view case_binary,
                     const std::vector<std::string>& kernels_under_test,
                     const std::string& reason) {
  Failure failure;
  const auto c = ParseCaseBinary(case_binary);
  if (c.ok()) {
    // The process says no more than that it died in this program: blame the
    // first call of a kernel under test, else the first call.
    for (const Step& step : c->steps()) {
      const std::string kernel = CalledKernel(step);
      if (kernel.empty()) continue;
      if (failure.kernel().empty()) failure.set_kernel(kernel);
      if (std::find(kernels_under_test.begin(), kernels_under_test.end(),
                    kernel) != kernels_under_test.end()) {
        failure.set_kernel(kernel);
        break;
      }
    }
  }
  failure.set_verdict(std::string(verdict));
  failure.set_property(verdict == "hang"  ? "terminates"
                       : verdict == "oom" ? "memory-use"
                                          : "memory-safety");
  failure.set_detail(reason);
  // The signal or exit code, not addresses or lines.
  const std::string what = reason.substr(0, reason.find(": "));
  failure.set_key(absl::StrCat(failure.kernel(), "/", verdict,
                               verdict == "crash" ? "/" + what : ""));
  failure.set_cause(absl::StrCat("the process running this case ",
                                 verdict == "hang"  ? "hung"
                                 : verdict == "oom" ? "ran out of memory"
                                                    : "died",
                                 ": ", reason));
  return failure;
}

std::uint64_t CallsOf(absl::string_view case_binary, absl::string_view kernel) {
  const auto c = ParseCaseBinary(case_binary);
  if (!c.ok()) return 0;
  std::uint64_t calls = 0;
  for (const Step& step : c->steps()) calls += CalledKernel(step) == kernel;
  return calls;
}

}  // namespace mlafuzz
