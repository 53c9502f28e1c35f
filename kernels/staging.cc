#include "kernels/staging.h"

#include <signal.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"

namespace mlafuzz {
namespace {

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
      kGuardSlots % pool.page_size * pool.token_stride();
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

void CheckGuards(GuardedArena& arena, std::size_t buffer,
                 std::optional<TensorId> tensor, StepObservation& seen) {
  std::vector<GuardedArena::Damage> damage;
  arena.Check(buffer, &damage);
  for (const GuardedArena::Damage& d : damage) {
    seen.strays.push_back({tensor, d.first, d.last, d.count});
  }
}

}  // namespace

absl::StatusOr<std::uint8_t*> StagePool(const PoolImage& pool,
                                        GuardedArena& arena) {
  absl::StatusOr<std::uint8_t*> staged =
      arena.Add(pool.bytes.size(), 0, PoolRedzone(pool));
  if (staged.ok()) {
    std::memcpy(*staged, pool.bytes.data(), pool.bytes.size());
  }
  return staged;
}

absl::Status StageTensors(const StepImage& step, GuardedArena& arena,
                          StagedStep* staged) {
  staged->first_buffer = arena.buffers().size();
  staged->data.clear();
  for (const Tensor& tensor : step.tensors) {
    absl::StatusOr<std::uint8_t*> data = arena.Add(
        tensor.bytes.size(), tensor.misalignment, TensorRedzone(tensor));
    if (!data.ok()) return data.status();
    if (!tensor.bytes.empty()) {
      std::memcpy(*data, tensor.bytes.data(), tensor.bytes.size());
    }
    staged->data.push_back(*data);
  }
  return absl::OkStatus();
}

void ApplyStagedPatch(const Patch& patch, const PoolImage& pool,
                      std::uint8_t* staged) {
  ApplyPatch(patch, pool, staged);
}

void InspectStep(GuardedArena& arena, const StepImage& step,
                 const StagedStep& staged, StepObservation* seen) {
  CheckGuards(arena, staged.pool_buffer, std::nullopt, *seen);
  seen->outputs.resize(step.tensors.size());
  for (std::size_t i = 0; i < step.tensors.size(); ++i) {
    const Tensor& tensor = step.tensors[i];
    const std::uint8_t* const data = staged.data[i];
    CheckGuards(arena, staged.first_buffer + i, tensor.id, *seen);
    if (tensor.output) {
      seen->outputs[i].assign(data, data + tensor.bytes.size());
    } else {
      CompareInput(tensor, data, &seen->strays);
    }
  }
}

void KeepPool(const std::uint8_t* staged, StepObservation* seen,
              const std::vector<std::uint8_t>** last) {
  const std::size_t size = (*last)->size();
  if (std::memcmp(staged, (*last)->data(), size) == 0) return;
  seen->pool.emplace(staged, staged + size);
  *last = &*seen->pool;
}

std::string DescribeCrash(const Crash& crash, const GuardedArena& arena,
                          const PoolImage& pool, const StepImage& step,
                          const StagedStep& staged) {
  std::string text = SignalName(crash.signal);
  if (!crash.has_address) {
    return absl::StrCat(text,
                        " at an address that the processor does not tell: it "
                        "is not canonical, or not aligned for the load");
  }
  // Of an arithmetic or illegal instruction it is the code's.
  if (crash.signal != SIGSEGV && crash.signal != SIGBUS) return text;
  // Relative to page 0, the base of most wild addresses, unless a tensor is
  // close by: then to its element 0.
  constexpr std::uint64_t kClose = 64 << 10;
  const char* nearest = "pool";
  std::int64_t offset =
      static_cast<std::int64_t>(crash.address -
                                reinterpret_cast<std::uintptr_t>(
                                    arena.buffers()[staged.pool_buffer].data) -
                                static_cast<std::uintptr_t>(pool.offset));
  std::uint64_t least = kClose;
  // The pool, then the tensors.
  for (std::size_t i = 0; i <= step.tensors.size(); ++i) {
    const GuardedArena::Buffer& buffer =
        arena.buffers()[i == 0 ? staged.pool_buffer
                               : staged.first_buffer + i - 1];
    const auto begin = reinterpret_cast<std::uintptr_t>(buffer.data);
    const std::uint64_t distance = crash.address < begin ? begin - crash.address
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

std::optional<MemoryFault> FaultOf(const Crash& crash,
                                   const GuardedArena& arena,
                                   const StagedStep& staged) {
  if (crash.signal != SIGSEGV && crash.signal != SIGBUS) return std::nullopt;
  const auto from = [&](const std::uint8_t* data) {
    if (!crash.has_address) return std::numeric_limits<std::int64_t>::min();
    return static_cast<std::int64_t>(crash.address -
                                     reinterpret_cast<std::uintptr_t>(data));
  };
  MemoryFault fault;
  fault.from_pool = from(arena.buffers()[staged.pool_buffer].data);
  for (const std::uint8_t* data : staged.data) {
    fault.from_tensors.push_back(from(data));
  }
  return fault;
}

}  // namespace mlafuzz
