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

template <class Policy = kernels::WriterPolicy, class Change>
CallResult WriteChanged(const WriteArgs& args, const LaunchContext& context,
                        Change change, const char* ignored = nullptr) {
  std::string why = WhyRefuseWrite(args);
  if (ignored != nullptr) why = Without(std::move(why), ignored);
  if (!why.empty()) return CallResult::Refused(std::move(why));
  kernels::WriterParams params = ToParams(args);
  change(params);
  if (params.tokens == 0) return CallResult::Ok();
  return ToCallResult(kernels::LaunchWriter<Policy>(params, StreamOf(context),
                                                    {context.schedule}));
}

template <class Policy = kernels::GatherPolicy, class Change>
CallResult GatherChanged(const GatherArgs& args, const LaunchContext& context,
                         Change change, const char* ignored = nullptr) {
  std::string why = WhyRefuseGather(args);
  if (ignored != nullptr) why = Without(std::move(why), ignored);
  if (!why.empty()) return CallResult::Refused(std::move(why));
  kernels::GatherParams params = ToParams(args);
  change(params);
  if (params.dst_rows == 0 || params.requests == 0) return CallResult::Ok();
  return ToCallResult(kernels::LaunchGather<Policy>(params, StreamOf(context),
                                                    {context.schedule}));
}

template <class Policy = kernels::ConvertPolicy, class Change>
CallResult ConvertChanged(const ConvertArgs& args, const LaunchContext& context,
                          Change change, const char* ignored = nullptr) {
  std::string why = WhyRefuseConvert(args, kBuiltinWidthMultiple);
  if (ignored != nullptr) why = Without(std::move(why), ignored);
  if (!why.empty()) return CallResult::Refused(std::move(why));
  kernels::ConvertParams params = ToParams(args);
  change(params);
  if (params.rows == 0) return CallResult::Ok();
  return ToCallResult(kernels::LaunchConvert<Policy>(params, StreamOf(context),
                                                     {context.schedule}));
}

// A page size that shifts and masks can divide by: the next power of two below.
inline std::int64_t ShiftedPageSize(std::int64_t page_size) {
  std::int64_t power = 1;
  while (2 * power <= page_size) power *= 2;
  return power;
}

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_MUTANTS_CHANGED_CALLS_H_
