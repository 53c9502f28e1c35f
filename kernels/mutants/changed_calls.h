// Calls of the exact kernels with something changed on their way: for twins
// whose fault is on the host's side, or that differ in one small policy. Each
// family file holds many of them, so that the kernels' headers are parsed once.
#ifndef MLAFUZZ_KERNELS_MUTANTS_CHANGED_CALLS_H_
#define MLAFUZZ_KERNELS_MUTANTS_CHANGED_CALLS_H_

#include <string>
#include <string_view>
#include <utility>

#include "kernels/kernel_calls.h"

namespace mlafuzz {

// A host check without the one whose complaint holds `words`.
inline std::string Without(std::string why, std::string_view words) {
  return why.find(words) == std::string::npos ? why : std::string();
}

// `change(params)` is made between the host's checks and the launch. A
// complaint of the checks that holds `ignored` is passed over, which builtin
// never does.

// The checks' complaint, or none if it is to be passed over.
inline std::string Unignored(std::string why, const char* ignored) {
  return ignored != nullptr ? Without(std::move(why), ignored) : why;
}

template <class Policy = kernels::WriterPolicy, class Change>
CallResult WriteChanged(const WriteArgs& args, const LaunchContext& context,
                        Change change, const char* ignored = nullptr) {
  return LaunchUnless(Unignored(WhyRefuseWrite(args), ignored), args, context,
                      change, kernels::LaunchWriter<Policy>);
}

template <class Policy = kernels::GatherPolicy, class Change>
CallResult GatherChanged(const GatherArgs& args, const LaunchContext& context,
                         Change change, const char* ignored = nullptr) {
  return LaunchUnless(Unignored(WhyRefuseGather(args), ignored), args, context,
                      change, kernels::LaunchGather<Policy>);
}

template <class Policy = kernels::ConvertPolicy, class Change>
CallResult ConvertChanged(const ConvertArgs& args, const LaunchContext& context,
                          Change change, const char* ignored = nullptr) {
  return LaunchUnless(
      Unignored(WhyRefuseConvert(args, kBuiltinWidthMultiple), ignored), args,
      context, change, kernels::LaunchConvert<Policy>);
}

// A page size that shifts and masks can divide by: the next power of two below.
inline std::int64_t ShiftedPageSize(std::int64_t page_size) {
  std::int64_t power = 1;
  while (2 * power <= page_size) power *= 2;
  return power;
}

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_MUTANTS_CHANGED_CALLS_H_
