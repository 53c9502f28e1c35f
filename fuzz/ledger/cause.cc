#include "fuzz/ledger/cause.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "oracle/cause_keys.h"
#include "oracle/judge.h"

namespace mlafuzz {
namespace {

absl::string_view WithoutKernel(absl::string_view key) {
  const std::size_t slash = key.find('/');
  return slash == absl::string_view::npos ? key : key.substr(slash + 1);
}

std::vector<std::string> Sorted(std::vector<std::string> parts) {
  std::sort(parts.begin(), parts.end());
  return parts;
}

// "a=X+b=Y" of the fields "a+b" and values "X+Y".
std::vector<std::string> Rules(const LedgerEntry& entry) {
  const std::vector<std::string> fields = absl::StrSplit(entry.field, '+');
  const std::vector<std::string> values = absl::StrSplit(entry.value, '+');
  std::vector<std::string> rules;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    rules.push_back(
        absl::StrCat(fields[i], "=", i < values.size() ? values[i] : ""));
  }
  return Sorted(std::move(rules));
}

bool HasName(const LedgerEntry& entry) {
  return !entry.field.empty() || !entry.key.empty();
}

bool IsTheLedgers(const LedgerEntry& entry, absl::string_view key) {
  key = WithoutKernel(key);
  if (!entry.true_as_well.empty() && key == entry.true_as_well) return true;
  if (!entry.field.empty()) {
    const std::vector<std::string> parts = absl::StrSplit(key, '+');
    return Sorted(parts) == Rules(entry);
  }
  return !entry.key.empty() && absl::StartsWith(key, entry.key);
}

// Whether it says why, and not only what is seen.
bool IsAClaim(absl::string_view key) {
  key = WithoutKernel(key);
  return CanBeRuledOut(key) && key != oracle::kRefusedValid &&
         key != kNothingWritten;
}

}  // namespace

const char* CauseName(CauseVerdict verdict) {
  switch (verdict) {
    case CauseVerdict::kRight:
      return "right";
    case CauseVerdict::kUnknown:
      return "unknown";
    case CauseVerdict::kWrong:
      return "wrong";
  }
  return "unknown";
}

CauseVerdict CauseOf(const LedgerEntry& entry, const Failure& failure) {
  const bool kernel =
      std::any_of(entry.kernels.begin(), entry.kernels.end(),
                  [&](Kernel k) { return failure.kernel() == KernelName(k); });
  if (!kernel) return CauseVerdict::kWrong;
  const bool property =
      std::find(entry.properties.begin(), entry.properties.end(),
                failure.property()) != entry.properties.end();
  std::vector<std::string> causes = {failure.key()};
  causes.insert(causes.end(), failure.also().begin(), failure.also().end());
  const auto is_the_ledgers = [&](const std::string& key) {
    return IsTheLedgers(entry, key);
  };
  if (std::any_of(causes.begin(), causes.end(), is_the_ledgers)) {
    return causes.size() == 1 && property ? CauseVerdict::kRight
                                          : CauseVerdict::kUnknown;
  }
  if (std::any_of(causes.begin(), causes.end(), IsAClaim)) {
    return failure.conditional() ? CauseVerdict::kUnknown
                                 : CauseVerdict::kWrong;
  }
  return !HasName(entry) && property ? CauseVerdict::kRight
                                     : CauseVerdict::kUnknown;
}

CauseVerdict CauseOverSeeds(const std::vector<CauseVerdict>& verdicts) {
  const auto count = [&](CauseVerdict wanted) {
    return 2 * std::count(verdicts.begin(), verdicts.end(), wanted);
  };
  if (count(CauseVerdict::kWrong) > 0) return CauseVerdict::kWrong;
  return count(CauseVerdict::kRight) > std::ssize(verdicts)
             ? CauseVerdict::kRight
             : CauseVerdict::kUnknown;
}

}  // namespace mlafuzz
