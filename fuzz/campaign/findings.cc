#include "fuzz/campaign/findings.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "corpus/codec.h"

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

}  // namespace

Finding* FindingSet::Add(Finding finding) {
  const auto [at, is_new] =
      by_cause_.insert({finding.failure.key(), findings_.size()});
  if (!is_new) {
    ++findings_[at->second].repeats;
    return nullptr;
  }
  finding.id = FindingId(finding.failure.key());
  int same = 1;
  std::string id = finding.id;
  while (std::any_of(findings_.begin(), findings_.end(),
                     [&id](const Finding& f) { return f.id == id; })) {
    id = absl::StrCat(finding.id, "-", ++same);
  }
  finding.id = id;
  findings_.push_back(std::move(finding));
  return &findings_.back();
}

std::vector<std::string> FindingSet::Causes() const {
  std::vector<std::string> causes;
  for (const Finding& f : findings_) causes.push_back(f.failure.key());
  return causes;
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
