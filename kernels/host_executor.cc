// The host backend's executor. For each case:
//
//   1. The pool goes into the guarded arena and stays there for all steps.
//   2. A step's tensors are placed below it; the next step's take their place.
//   3. The arena is armed, the call made under the crash guard with sanitizer
//      reports collected, the arena disarmed.
//   4. Pool, inputs and redzones are compared with what they were.
//
// A step that crashed is the last of its case; the next case starts afresh.

#include <signal.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/call_args.h"
#include "kernels/crash_guard.h"
#include "kernels/executor.h"
#include "kernels/guarded_memory.h"
#include "kernels/sanitizer_hooks.h"

namespace mlafuzz {
namespace {

// Any constant will do, and the same one makes runs comparable.
constexpr std::uint64_t kPatternSeed = 0x6d6c6166757a7a;

// Slots -1..-16 are what faulty writers take for addresses (measured on a real
// one: -1, -5, -16).
constexpr std::int64_t kGuardSlots = 16;
constexpr std::int64_t kSmallestPoolRedzone = kGuardSlots * 656;
constexpr std::int64_t kLargestPoolRedzone = 256 << 10;
constexpr std::int64_t kSmallestRedzone = 256;
constexpr std::int64_t kLargestRedzone = 4096;

std::size_t PoolRedzone(const PoolImage& pool) {
  const std::int64_t distance =
      kGuardSlots / pool.page_size * pool.page_stride +
      kGuardSlots % pool.page_size * pool.row_stride;
  return static_cast<std::size_t>(
      std::clamp(distance, kSmallestPoolRedzone, kLargestPoolRedzone));
}

// Two rows (of all heads, where there are any), so that one row too many is
// seen whole.
std::size_t TensorRedzone(const Tensor& tensor) {
  std::int64_t bytes = kSmallestRedzone;
  if (tensor.ndim > 1) {
    bytes = 2 * DTypeSize(tensor.dtype) *
            std::max(tensor.ndim == 2 ? tensor.shape[1]
                                      : tensor.shape[1] * tensor.shape[2],
                     tensor.strides[0]);
  }
  return static_cast<std::size_t>(
      std::clamp(bytes, kSmallestRedzone, kLargestRedzone));
}

// The changed bytes of an input, as one stray.
void CompareInput(const Tensor& tensor, const std::uint8_t* now,
                  std::vector<Stray>* strays) {
  const std::vector<std::uint8_t>& before = tensor.bytes;
  if (before.empty() || std::memcmp(now, before.data(), before.size()) == 0) {
    return;
  }
  Stray stray;
  stray.tensor = tensor.id;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (now[i] == before[i]) continue;
    if (stray.count++ == 0) stray.first = static_cast<std::int64_t>(i);
    stray.last = static_cast<std::int64_t>(i);
  }
  strays->push_back(stray);
}

class HostExecutor : public Executor {
 public:
  HostExecutor() : arena_(kPatternSeed) {}

  absl::Status Run(const TargetSet& targets, absl::Span<const CaseImage> images,
                   std::vector<Observation>* observations) override {
    observations->clear();
    observations->reserve(images.size());
    for (const CaseImage& image : images) {
      observations->emplace_back();
      if (absl::Status status = RunCase(targets, image, observations->back());
          !status.ok()) {
        return status;
      }
    }
    return absl::OkStatus();
  }

  const std::array<std::uint64_t, kAllKernels.size()>& executions()
      const override {
    return executions_;
  }

 private:
  absl::Status RunCase(const TargetSet& targets, const CaseImage& image,
                       Observation& observation) {
    arena_.Truncate(0);
    const PoolImage& pool = image.pool;
    absl::StatusOr<std::uint8_t*> staged =
        arena_.Add(pool.bytes.size(), 0, PoolRedzone(pool));
    if (!staged.ok()) return staged.status();
    std::memcpy(*staged, pool.bytes.data(), pool.bytes.size());
    // The pool's bytes as the last step left them: the image's, or those in an
    // observation, which must not move.
    const std::vector<std::uint8_t>* last_pool = &pool.bytes;
    observation.steps.reserve(image.steps.size());
    const std::uint64_t schedule =
        image.source != nullptr ? image.source->schedule() : 0;
    for (const StepImage& step : image.steps) {
      observation.steps.emplace_back();
      StepObservation& seen = observation.steps.back();
      if (step.is_patch) {
        ApplyStagedPatch(step.step->patch(), pool, *staged);
      } else if (absl::Status status =
                     RunStep(targets, pool, *staged, schedule, step, seen);
                 !status.ok()) {
        return status;
      }
      if (std::memcmp(*staged, last_pool->data(), last_pool->size()) != 0) {
        seen.pool.emplace(*staged, *staged + pool.bytes.size());
        last_pool = &*seen.pool;
      }
      if (seen.status == CallStatus::kCrash) break;
    }
    return absl::OkStatus();
  }

  static void ApplyStagedPatch(const Patch& patch, const PoolImage& pool,
                               std::uint8_t* staged) {
    std::memcpy(staged + pool.RowAt(static_cast<std::int64_t>(patch.slot())) +
                    patch.at(),
                patch.data().data(), patch.data().size());
  }

  absl::Status RunStep(const TargetSet& targets, const PoolImage& pool,
                       std::uint8_t* staged_pool, std::uint64_t schedule,
                       const StepImage& step, StepObservation& seen) {
    arena_.Truncate(1);
    data_.clear();
    for (const Tensor& tensor : step.tensors) {
      absl::StatusOr<std::uint8_t*> staged = arena_.Add(
          tensor.bytes.size(), tensor.misalignment, TensorRedzone(tensor));
      if (!staged.ok()) return staged.status();
      if (!tensor.bytes.empty()) {
        std::memcpy(*staged, tensor.bytes.data(), tensor.bytes.size());
      }
      data_.push_back(*staged);
    }
    Target* const target = targets.For(step.kernel);
    const CallArgs args(pool, staged_pool + pool.offset, step, data_,
                        {kDLCPU, 0});
    CallResult result;
    if (target != nullptr && target->Implements(step.kernel)) {
      ++executions_[static_cast<std::size_t>(step.kernel)];
    }
    if (absl::Status status = arena_.Arm(); !status.ok()) return status;
    std::optional<Crash> crash;
    {
      const SanitizerReports collecting(&seen.reports);
      crash = CrashGuard::Run([&] {
        result = args.Call(target, {.schedule = schedule, .stream = nullptr});
      });
    }
    arena_.Disarm();
    if (crash.has_value()) {
      seen.status = CallStatus::kCrash;
      seen.message = DescribeCrash(*crash, pool, step);
    } else {
      seen.status = result.status;
      seen.message = std::move(result.message);
    }
    Inspect(step, seen);
    return absl::OkStatus();
  }

  // Fills outputs and strays.
  void Inspect(const StepImage& step, StepObservation& seen) {
    CheckGuards(0, std::nullopt, seen);
    seen.outputs.resize(step.tensors.size());
    for (std::size_t i = 0; i < step.tensors.size(); ++i) {
      const Tensor& tensor = step.tensors[i];
      CheckGuards(1 + i, tensor.id, seen);
      if (tensor.output) {
        seen.outputs[i].assign(data_[i], data_[i] + tensor.bytes.size());
      } else {
        CompareInput(tensor, data_[i], &seen.strays);
      }
    }
  }

  void CheckGuards(std::size_t buffer, std::optional<TensorId> tensor,
                   StepObservation& seen) {
    damage_.clear();
    arena_.Check(buffer, &damage_);
    for (const GuardedArena::Damage& damage : damage_) {
      seen.strays.push_back({tensor, damage.first, damage.last, damage.count});
    }
  }

  // "SIGSEGV at pool - 2816 KiB".
  std::string DescribeCrash(const Crash& crash, const PoolImage& pool,
                            const StepImage& step) const {
    std::string text = SignalName(crash.signal);
    if (!crash.has_address) {
      return absl::StrCat(text, " at a non-canonical address");
    }
    // Of an arithmetic or illegal instruction it is the code's.
    if (crash.signal != SIGSEGV && crash.signal != SIGBUS) return text;
    // Relative to page 0, the base of most wild addresses, unless a tensor is
    // close by: then to its element 0.
    constexpr std::uint64_t kClose = 64 << 10;
    const char* nearest = "pool";
    std::int64_t offset = static_cast<std::int64_t>(
        crash.address -
        reinterpret_cast<std::uintptr_t>(arena_.buffers()[0].data) -
        static_cast<std::uintptr_t>(pool.offset));
    std::uint64_t least = kClose;
    for (std::size_t i = 0; i < arena_.buffers().size(); ++i) {
      const GuardedArena::Buffer& buffer = arena_.buffers()[i];
      const auto begin = reinterpret_cast<std::uintptr_t>(buffer.data);
      const std::uint64_t distance =
          crash.address < begin ? begin - crash.address
          : crash.address < begin + buffer.size
              ? 0
              : crash.address - (begin + buffer.size);
      if (distance >= least) continue;
      least = distance;
      const std::uintptr_t origin =
          i == 0 ? begin + static_cast<std::uintptr_t>(pool.offset) : begin;
      nearest = i == 0 ? "pool" : TensorName(step.tensors[i - 1].id);
      offset = static_cast<std::int64_t>(crash.address - origin);
    }
    const std::uint64_t bytes = offset < 0
                                    ? 0 - static_cast<std::uint64_t>(offset)
                                    : static_cast<std::uint64_t>(offset);
    // Further away than anything here is: the address itself says more.
    constexpr std::uint64_t kFar = std::uint64_t{64} << 30;
    if (bytes >= kFar) {
      return absl::StrCat(text, " at ",
                          crash.address < 4096 ? "a null pointer"
                                               : "an address far from the "
                                                 "call's tensors");
    }
    const char* const sign = offset < 0 ? " - " : " + ";
    return bytes < 1024
               ? absl::StrCat(text, " at ", nearest, sign, bytes, " bytes")
               : absl::StrCat(text, " at ", nearest, sign, bytes >> 10, " KiB");
  }

  GuardedArena arena_;
  std::array<std::uint64_t, kAllKernels.size()> executions_{};
  std::vector<std::uint8_t*> data_;  // of the step's tensors
  std::vector<GuardedArena::Damage> damage_;
};

}  // namespace

std::unique_ptr<Executor> MakeHostExecutor() {
  return std::make_unique<HostExecutor>();
}

}  // namespace mlafuzz
