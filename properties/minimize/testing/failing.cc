#include "properties/minimize/testing/failing.h"

#include <cstddef>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "corpus/codec.h"
#include "properties/generate.h"

namespace mlafuzz {
namespace {

bool Replaces(const LedgerEntry& entry, Kernel kernel) {
  for (const Kernel k : entry.kernels) {
    if (k == kernel) return true;
  }
  return false;
}

GeneratorOptions OptionsFor(const LedgerEntry& entry) {
  GeneratorOptions options;
  options.decode = Replaces(entry, Kernel::kDecode);
  options.gather = !options.decode && Replaces(entry, Kernel::kGather);
  // A gather may read what was written.
  options.writer = options.gather || Replaces(entry, Kernel::kWriter);
  options.convert = Replaces(entry, Kernel::kConvert);
  options.layout = entry.layout;
  TakeWhat(entry.kernels[0], RightContract(entry), options);
  return options;
}

}  // namespace

Failing FailureOf(const LedgerEntry& entry, Twin& twin) {
  constexpr int kFailures = 5;
  const GeneratorOptions options = OptionsFor(entry);
  const int seeds = options.decode ? 400 : 3000;
  const std::string kernel = absl::StrCat(KernelName(entry.kernels[0]), "/");
  const bool one_field =
      !entry.field.empty() && !absl::StrContains(entry.field, '+');
  const std::string named = absl::StrCat(
      kernel,
      one_field ? absl::StrCat(entry.field, "=", entry.value) : entry.key);
  Failing failing;
  for (const std::string& begins : {named, kernel}) {
    std::size_t size = 0;
    int failures = 0;
    for (int seed = 0; seed < seeds && failures < kFailures; ++seed) {
      Choices choices(seed);
      const Case c = GenerateCase(choices, options);
      const std::string cause = twin.CauseOf(c);
      if (cause.empty()) continue;
      if (failing.cause.empty()) {
        if (!absl::StartsWith(cause, begins)) continue;
        // The second time it need not show within the tensors.
        if (begins == named && absl::StrContains(cause, kOutside)) continue;
        failing.cause = cause;
      }
      if (cause != failing.cause) continue;
      ++failures;
      const std::size_t bytes = CanonicalBinary(c).size();
      if (bytes > size) {
        size = bytes;
        failing.rich = c;
      }
    }
    if (!failing.cause.empty()) break;
  }
  return failing;
}

}  // namespace mlafuzz
