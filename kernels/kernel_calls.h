// From a target's call to a launch, on either backend: what all compiled-in
// kernels have in common.
#ifndef MLAFUZZ_KERNELS_KERNEL_CALLS_H_
#define MLAFUZZ_KERNELS_KERNEL_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <utility>

#include "kernels/convert.cuh"
#include "kernels/gather.cuh"
#include "kernels/host_checks.h"
#include "kernels/simt/simt.h"
#include "kernels/target_set.h"
#include "kernels/writer.cuh"

namespace mlafuzz {

// The width rule of builtin's index conversion: none.
inline constexpr std::int64_t kBuiltinWidthMultiple = 1;

// The stream of a call.
inline simt::Stream StreamOf(const LaunchContext& context) {
  return static_cast<simt::Stream>(context.stream);
}

// What simt::Perturb() goes by in a call: of one schedule in four, on GPUs. On
// the host the schedule itself orders lanes.
inline std::uint64_t TimingOf(const LaunchContext& context) {
#ifdef __CUDACC__
  std::uint64_t x = context.schedule * 0x9e3779b97f4a7c15u;
  x ^= x >> 29;
  return (x & 3) == 3 ? x : 0;
#else
  (void)context;
  return 0;
#endif
}

// How a launch ended, as the result of a call.
inline CallResult ToCallResult(const simt::LaunchResult& launch) {
  switch (launch.kind) {
    case simt::FaultKind::kNone:
      return CallResult::Ok();
    case simt::FaultKind::kBadConfiguration:
    case simt::FaultKind::kBackendError:
      return CallResult::Error(launch.message);
    default:
      return CallResult::Fault(launch.message);
  }
}

// Bytes for the length of one call: from the call's context, which has to give
// them on a device, else from the heap. Null data if there are none to be had.
class ScratchBuffer {
 public:
  ScratchBuffer(const LaunchContext& context, std::size_t bytes)
      : data_(context.scratch != nullptr
                  ? context.scratch(context.scratch_owner, bytes)
                  : ::operator new(bytes, std::nothrow)),
        own_(context.scratch == nullptr) {}
  ~ScratchBuffer() {
    if (own_) ::operator delete(data_);
  }
  ScratchBuffer(const ScratchBuffer&) = delete;
  ScratchBuffer& operator=(const ScratchBuffer&) = delete;

  void* data() const { return data_; }

 private:
  void* data_;
  bool own_;
};

// Whether a call has nothing to do: an empty grid would be a launch error.
inline bool IsEmpty(const kernels::WriterParams& params) {
  return params.tokens == 0;
}
inline bool IsEmpty(const kernels::GatherParams& params) {
  return params.dst_rows == 0 || params.requests == 0;
}
inline bool IsEmpty(const kernels::ConvertParams& params) {
  return params.rows == 0;
}

// What every call to a kernel goes through: is refused if the host's checks say
// `why`, does nothing where there is nothing to do, else launches what
// `change(params)` makes of its parameters.
template <class Args, class Change, class Launch>
CallResult LaunchUnless(std::string why, const Args& args,
                        const LaunchContext& context, const Change& change,
                        const Launch& launch) {
  if (!why.empty()) return CallResult::Refused(std::move(why));
  auto params = ToParams(args);
  change(params);
  if (IsEmpty(params)) return CallResult::Ok();
  return ToCallResult(
      launch(params, StreamOf(context), simt::Schedule{context.schedule}));
}

// The same of a writer; of a gather.
template <class Launch>
CallResult WriteUnless(std::string why, const WriteArgs& args,
                       const LaunchContext& context, bool pow2_scale,
                       const Launch& launch) {
  return LaunchUnless(
      std::move(why), args, context,
      [&](kernels::WriterParams& params) {
        params.pow2_scale = pow2_scale;
        params.timing = TimingOf(context);
      },
      launch);
}
template <class Launch>
CallResult GatherUnless(std::string why, const GatherArgs& args,
                        const LaunchContext& context, const Launch& launch) {
  return LaunchUnless(
      std::move(why), args, context,
      [&](kernels::GatherParams& params) { params.timing = TimingOf(context); },
      launch);
}

template <class Policy, bool kPow2Scale = false>
CallResult CallWriter(const WriteArgs& args, const LaunchContext& context) {
  return WriteUnless(WhyRefuseWrite(args), args, context, kPow2Scale,
                     kernels::LaunchWriter<Policy>);
}

template <class Policy>
CallResult CallGather(const GatherArgs& args, const LaunchContext& context) {
  return GatherUnless(WhyRefuseGather(args), args, context,
                      kernels::LaunchGather<Policy>);
}

template <class Policy>
CallResult CallConvert(const ConvertArgs& args, const LaunchContext& context) {
  return LaunchUnless(
      WhyRefuseConvert(args, kBuiltinWidthMultiple), args, context,
      [](kernels::ConvertParams&) {}, kernels::LaunchConvert<Policy>);
}

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_KERNEL_CALLS_H_
