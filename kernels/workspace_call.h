// From a target's call to a launch of the index conversion that knows of a
// prefill workspace.
#ifndef MLAFUZZ_KERNELS_WORKSPACE_CALL_H_
#define MLAFUZZ_KERNELS_WORKSPACE_CALL_H_

#include <string>
#include <utility>

#include "kernels/kernel_calls.h"
#include "kernels/tensor_checks.h"
#include "kernels/workspace.cuh"

namespace mlafuzz {

// Refuses what WhyRefuseConvert() does; one of the workspace's lists without
// the other; prefill request ids that are not int32 [tokens].
inline std::string WhyRefuseWorkspace(const ConvertArgs& args) {
  MLAFUZZ_RETURN_IF_REFUSED(WhyRefuseConvert(args, kBuiltinWidthMultiple));
  if (args.prefill_ids == nullptr && args.prefill_starts == nullptr) return "";
  MLAFUZZ_RETURN_IF_REFUSED(
      WantShape("prefill_request_ids", args.prefill_ids, 1, kInt32));
  MLAFUZZ_RETURN_IF_REFUSED(
      WantDense("prefill_request_ids", *args.prefill_ids));
  MLAFUZZ_RETURN_IF_REFUSED(
      WantShape("prefill_workspace_starts", args.prefill_starts, 1, kInt32));
  MLAFUZZ_RETURN_IF_REFUSED(
      WantDense("prefill_workspace_starts", *args.prefill_starts));
  return WantRows("prefill_request_ids", *args.prefill_ids, "token_indices",
                  args.token_indices->shape[0]);
}

template <class Policy>
CallResult CallWorkspace(const ConvertArgs& args,
                         const LaunchContext& context) {
  if (std::string why = WhyRefuseWorkspace(args); !why.empty()) {
    return CallResult::Refused(std::move(why));
  }
  const kernels::ConvertParams params = ToParams(args);
  if (params.rows == 0) return CallResult::Ok();
  return ToCallResult(kernels::LaunchWorkspace<Policy>(
      params, StreamOf(context), {context.schedule}));
}

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_WORKSPACE_CALL_H_
