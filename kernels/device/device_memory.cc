#include "kernels/device/device_memory.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "kernels/device/device_name.h"

namespace mlafuzz::device {
namespace {

// Of addresses and sizes that 128-bit loads need.
constexpr std::uint64_t kAlignment = 16;
constexpr std::size_t kScratchAlignment = 256;
// Slack next to a buffer that is compared after each call of a batch; all of it
// is after the last, and if that is damaged, each call of the batch is made
// again alone.
constexpr std::uint64_t kNear = 64 << 10;
constexpr std::size_t kLeastPinned = std::size_t{1} << 20;
// One schedule in so many finds its stream busy, for so long.
constexpr std::uint64_t kBusyOneIn = 32;
constexpr unsigned kBusyMicroseconds = 50;

std::uint64_t Mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

// Whether a host check may refuse a tensor for how it is aligned: then it must
// not lie better than the case says.
bool MayBeRefused(std::uint32_t id) {
  switch (id) {
    case wire::kCache:
    case wire::kKvC:
    case wire::kKPe:
    case wire::kDst:
    case wire::kQ:
    case wire::kAttention:
      return true;
    default:
      return false;
  }
}

using Clock = std::chrono::steady_clock;

std::uint64_t NanosecondsSince(Clock::time_point start) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start)
          .count());
}

std::string Text(cudaError_t error) {
  return std::string(cudaGetErrorName(error)) + ": " +
         cudaGetErrorString(error);
}

}  // namespace

std::unique_ptr<DeviceMemory> DeviceMemory::Create(int device, Side side,
                                                   std::string* why) {
  int count = 0;
  cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && device >= count) {
    *why = "there is no device " + std::to_string(device) + ", only " +
           std::to_string(count);
    return nullptr;
  }
  if (error == cudaSuccess) error = cudaSetDevice(device);
  // Calls are short: waiting by sleeping would cost more than they do.
  if (error == cudaSuccess) error = cudaSetDeviceFlags(cudaDeviceScheduleSpin);
  if (error == cudaSuccess) error = cudaFree(nullptr);
  std::unique_ptr<DeviceMemory> memory(new DeviceMemory);
  memory->number_ = device;
  memory->side_ = side;
  if (error == cudaSuccess) {
    error = cudaStreamCreateWithFlags(&memory->stream_, cudaStreamNonBlocking);
  }
  void* bytes = nullptr;
  if (error == cudaSuccess) {
    error = cudaHostAlloc(&bytes, sizeof(int), cudaHostAllocMapped);
    memory->damaged_ = static_cast<int*>(bytes);
  }
  if (error == cudaSuccess) {
    error = cudaMalloc(&bytes, kMostBuffers * sizeof(Damage));
    memory->damage_ = static_cast<Damage*>(bytes);
  }
  const std::vector<Damage> none(kMostBuffers, kNoDamage);
  if (error == cudaSuccess) {
    error = cudaMemcpy(memory->damage_, none.data(),
                       none.size() * sizeof(Damage), cudaMemcpyHostToDevice);
  }
  if (error != cudaSuccess) {
    *why = Text(error);
    return nullptr;
  }
  *memory->damaged_ = 0;
  memory->device_ = DeviceName(device);
  memory->slots_ = GuardedSlots::Create(kMostBuffers, why);
  if (memory->slots_ == nullptr) return nullptr;
  memory->stale_begin_.resize(kMostBuffers, nullptr);
  memory->stale_end_.resize(kMostBuffers, nullptr);
  if (!memory->PassesProbe(why)) return nullptr;
  if (std::getenv(wire::kStageTimesVariable) != nullptr &&
      !memory->PrepareTimes(why)) {
    return nullptr;
  }
  return memory;
}

bool DeviceMemory::PassesProbe(std::string* why) {
  constexpr std::size_t kBytes = kProbeWords * sizeof(std::uint32_t);
  if (!ReservePinned(kBytes + sizeof(std::uint32_t), why)) return false;
  auto* const in = reinterpret_cast<std::uint32_t*>(pinned_);
  for (unsigned i = 0; i < kProbeWords; ++i) {
    in[i] = static_cast<std::uint32_t>(Mix(i));
  }
  std::uint32_t* const out = in + kProbeWords;
  *out = 0;
  if (Failed(Probe(in, out, stream_), why) ||
      Failed(cudaDeviceSynchronize(), why)) {
    return false;
  }
  if (*out == ProbeExpected(in)) return true;
  *why = device_ + " fails its known-answer test: " + std::to_string(*out) +
         " instead of " + std::to_string(ProbeExpected(in));
  return false;
}

bool DeviceMemory::PrepareTimes(std::string* why) {
  for (cudaEvent_t& event : events_) {
    if (Failed(cudaEventCreate(&event), why)) return false;
  }
  return !Failed(MeasureCopyRates(&rates_, stream_), why);
}

void DeviceMemory::Mark(int event) {
  if (events_[event] != nullptr) {
    (void)cudaEventRecord(events_[event], stream_);
  }
}

void DeviceMemory::Tell(volatile wire::Control* control) {
  if (events_[0] == nullptr) return;
  const auto add = [control](int stage, std::uint64_t nanoseconds) {
    control->stages[stage] = control->stages[stage] + nanoseconds;
  };
  const auto between = [this](int first) {
    float milliseconds = 0;
    // Of a call that was captured there are none.
    if (cudaEventElapsedTime(&milliseconds, events_[first],
                             events_[first + 1]) != cudaSuccess) {
      (void)cudaGetLastError();
    }
    return static_cast<std::uint64_t>(milliseconds * 1e6f);
  };
  add(wire::kStageHostIn, host_in_);
  add(wire::kStageCopyIn, between(0));
  add(wire::kStageKernel, between(1));
  add(wire::kStageCopyOut, between(2));
  add(wire::kStageHostOut, host_out_);
  control->device_rate = rates_.device;
  control->in_rate = rates_.in;
  control->out_rate = rates_.out;
}

bool DeviceMemory::Failed(cudaError_t error, std::string* why) {
  if (error == cudaSuccess) return false;
  *why = Text(error);
  return true;
}

bool DeviceMemory::ReservePinned(std::size_t bytes, std::string* why) {
  if (bytes <= pinned_size_) return true;
  (void)cudaFreeHost(pinned_);
  pinned_ = nullptr;
  pinned_size_ = 0;
  const std::size_t size = std::max(bytes + bytes / 2, kLeastPinned);
  void* data = nullptr;
  if (Failed(cudaHostAlloc(&data, size, cudaHostAllocMapped), why)) {
    (void)cudaGetLastError();
    *why = std::to_string(size >> 20) + " MiB of pinned memory: " + *why;
    return false;
  }
  pinned_ = static_cast<char*>(data);
  pinned_size_ = size;
  return true;
}

// Room in a slot, new memory with the pattern.
bool DeviceMemory::Prepare(int slot, std::uint64_t bytes, std::string* why) {
  std::size_t old = slots_->slot(slot).size;
  if (old != 0 && bytes <= old) return true;
  if (!slots_->Grow(slot, bytes, why)) {
    // Of earlier, larger calls.
    if (Failed(cudaDeviceSynchronize(), why)) return false;
    slots_->Shrink();
    for (int i = 0; i < kMostBuffers; ++i) {
      const GuardedSlots::Slot& kept = slots_->slot(i);
      auto& begin = stale_begin_[static_cast<std::size_t>(i)];
      auto& end = stale_end_[static_cast<std::size_t>(i)];
      end = std::min(end, kept.data + kept.size);
      begin = std::min(begin, end);
    }
    old = slots_->slot(slot).size;
    if (!slots_->Grow(slot, bytes, why)) return false;
  }
  const GuardedSlots::Slot& now = slots_->slot(slot);
  return !Failed(
      FillPattern(now.data, now.data + old, now.data + now.size, stream_), why);
}

// A buffer that begins at `begin` in the arena. Flush with an end of its slot,
// as far as the alignment that this promises allows; or no better aligned than
// that, a few bytes off.
char* DeviceMemory::Address(int slot, std::uint64_t begin, std::uint64_t size,
                            bool behind, bool flush) {
  const GuardedSlots::Slot& s = slots_->slot(slot);
  const std::uint64_t residue = begin % kAlignment;
  if (!behind) return flush ? s.data : s.data + residue;
  const std::uint64_t end = s.size - size;
  if (!flush) return s.data + (end - (end - residue) % kAlignment);
  const std::uint64_t promised = residue == 0 ? kAlignment : residue & -residue;
  return s.data + end / promised * promised;
}

bool DeviceMemory::TakeLent(int fd, std::uint64_t bytes, std::string* why) {
  lent_ = SharedArena::Import(fd, bytes, why);
  return lent_ != nullptr;
}

// What the harness says is taken at its word: it is ours.
bool DeviceMemory::ViewLent(wire::CallTensors& tensors, std::string* why) {
  if (lent_ == nullptr) {
    *why = "no memory was lent";
    return false;
  }
  for (std::size_t i = 0; i < tensors.wire.size(); ++i) {
    wire::Tensor& t = tensors.wire[i];
    tensors.views[i] = {lent_->data() + t.offset,
                        {kDLCUDA, number_},
                        t.ndim,
                        {t.code, t.bits, 1},
                        t.shape.data(),
                        t.strides.data(),
                        0};
  }
  return true;
}

bool DeviceMemory::Place(const wire::Call& call, std::uint64_t scratch_bytes,
                         char* arena, wire::CallTensors& tensors,
                         std::string* why) {
  const bool lent = call.launch == wire::kLent;
  const int count = lent ? 0 : static_cast<int>(tensors.wire.size());
  if (count > kScratch) {
    *why = "more tensors than there are slots";
    return false;
  }
  tensors.views.resize(tensors.wire.size());
  if (lent && !ViewLent(tensors, why)) return false;
  const std::uint64_t draw = Mix(call.schedule);
  // Room for all before anything is placed: growing moves ends.
  std::size_t pinned = 0;
  for (int i = 0; i < count; ++i) {
    const wire::Tensor& t = tensors.wire[static_cast<std::size_t>(i)];
    // Alignment may cost as much on each side.
    if (!Prepare(i, t.size + 2 * kAlignment, why)) return false;
    pinned += t.size + 2 * kScratchAlignment;
  }
  if ((scratch_bytes != 0 &&
       !Prepare(kScratch, scratch_bytes + kScratchAlignment, why)) ||
      !ReservePinned(pinned, why)) {
    return false;
  }
  placements_.count = scratch_bytes != 0 ? count + 1 : count;
  tensors_ = count;
  scratch_size_ = 0;
  scratch_taken_ = 0;
  const Clock::time_point start = Clock::now();
  std::size_t at = 0;
  for (int i = 0; i < placements_.count; ++i) {
    const bool is_scratch = i == count;
    const int slot = is_scratch ? kScratch : i;
    const auto s = static_cast<std::size_t>(slot);
    Placement& p = placements_.buffers[i];
    p.slot = slots_->slot(slot).data;
    p.slot_size = slots_->slot(slot).size;
    p.stale_begin = stale_begin_[s];
    p.stale_end = stale_end_[s];
    const bool by_schedule = side_ == Side::kBySchedule;
    const bool behind =
        by_schedule ? (draw >> 2 * i & 1) != 0 : side_ == Side::kBehind;
    const bool flush = !by_schedule || (draw >> 2 * i & 2) != 0;
    const bool refusable = !is_scratch && MayBeRefused(tensors.wire[s].id);
    if (is_scratch) {
      p.copied = false;
      p.size = scratch_bytes;
      p.device = p.slot;
      if (behind) {
        p.device +=
            (p.slot_size - p.size) / kScratchAlignment * kScratchAlignment;
      }
      p.pinned = nullptr;
      scratch_size_ = scratch_bytes;
      scratch_shape_ = static_cast<std::int64_t>(scratch_bytes);
      scratch_ = {p.device,        {kDLCUDA, number_}, 1, {kDLUInt, 8, 1},
                  &scratch_shape_, &scratch_stride_,   0};
    } else {
      wire::Tensor& t = tensors.wire[s];
      p.copied = true;
      p.size = t.size;
      p.device = Address(slot, t.begin, t.size, behind, flush && !refusable);
      at = (at + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment;
      p.pinned = pinned_ + at +
                 reinterpret_cast<std::uintptr_t>(p.device) % kAlignment;
      at += t.size + kAlignment;
      if (t.size != 0) std::memcpy(p.pinned, arena + t.begin, t.size);
      tensors.views[s] = {p.device + (t.offset - t.begin),
                          {kDLCUDA, number_},
                          t.ndim,
                          {t.code, t.bits, 1},
                          t.shape.data(),
                          t.strides.data(),
                          0};
    }
    stale_begin_[s] = p.device;
    stale_end_[s] = p.device + p.size;
  }
  if ((draw >> 32) % kBusyOneIn == 0 &&
      Failed(Wait(kBusyMicroseconds, stream_), why)) {
    return false;
  }
  host_in_ = NanosecondsSince(start);
  Mark(0);
  if (Failed(CopyIn(placements_, stream_), why)) return false;
  Mark(1);
  return true;
}

void* DeviceMemory::TakeScratch(std::size_t bytes) {
  std::string why;
  const std::uint64_t end = (scratch_taken_ + bytes + kScratchAlignment - 1) /
                            kScratchAlignment * kScratchAlignment;
  // Memory of the harness is no part of what is captured.
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  (void)cudaThreadExchangeStreamCaptureMode(&mode);
  const bool prepared = Prepare(kScratch, end, &why);
  (void)cudaThreadExchangeStreamCaptureMode(&mode);
  if (!prepared) return nullptr;
  // It grows from the slot's begin.
  Placement& p = placements_.buffers[tensors_];
  if (placements_.count == tensors_) {
    placements_.count = tensors_ + 1;
    p = Placement();
    p.slot = slots_->slot(kScratch).data;
    p.copied = false;
    // What an earlier call left there has no pattern.
    char*& begin = stale_begin_[kScratch];
    char*& stale = stale_end_[kScratch];
    if (begin != stale &&
        FillPattern(p.slot, begin, stale, stream_) != cudaSuccess) {
      return nullptr;
    }
    begin = stale = p.slot;
  }
  p.slot_size = slots_->slot(kScratch).size;
  char* const data = p.slot + scratch_taken_;
  scratch_taken_ = end;
  p.device = p.slot;
  p.size = end;
  stale_begin_[kScratch] = p.slot;
  stale_end_[kScratch] = p.slot + end;
  return data;
}

bool DeviceMemory::BeginCapture(std::string* why) {
  for (int i = 0; i < tensors_; ++i) {
    const Placement& p = placements_.buffers[i];
    if (Failed(cudaMemsetAsync(p.device, 0, p.size, stream_), why)) {
      return false;
    }
  }
  // As frameworks capture: what would wait for the device is not allowed.
  if (Failed(cudaStreamSynchronize(stream_), why) ||
      Failed(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal),
             why)) {
    return false;
  }
  return true;
}

bool DeviceMemory::Replay(std::string* why) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  // A launch that was refused has been told of already.
  (void)cudaGetLastError();
  bool done = !Failed(cudaStreamEndCapture(stream_, &graph), why) &&
              !Failed(cudaGraphInstantiate(&ready, graph, 0), why);
  for (int run = 0; run < 2 && done; ++run) {
    done = !Failed(CopyIn(placements_, stream_), why) &&
           !Failed(cudaGraphLaunch(ready, stream_), why);
  }
  // Settle() says what failed meanwhile.
  (void)cudaStreamSynchronize(stream_);
  if (ready != nullptr) (void)cudaGraphExecDestroy(ready);
  if (graph != nullptr) (void)cudaGraphDestroy(graph);
  (void)cudaGetLastError();
  return done;
}

bool DeviceMemory::Settle(char* arena, wire::CallTensors& tensors, bool last,
                          std::vector<wire::Stray>* strays, std::string* why) {
  const std::uint64_t near = last ? ~std::uint64_t{0} : kNear;
  // Of launches that were refused the target has spoken, or will be judged by
  // what is missing.
  (void)cudaGetLastError();
  Mark(2);
  if (Failed(CopyOut(placements_, damage_, damaged_, near, stream_), why)) {
    return false;
  }
  Mark(3);
  if (Failed(cudaDeviceSynchronize(), why)) return false;
  const Clock::time_point start = Clock::now();
  for (std::size_t i = 0; i < static_cast<std::size_t>(tensors_); ++i) {
    const wire::Tensor& t = tensors.wire[i];
    if (t.size != 0) {
      std::memcpy(arena + t.begin, placements_.buffers[i].pinned, t.size);
    }
  }
  host_out_ = NanosecondsSince(start);
  if (*damaged_ != 0) ReadDamage(tensors, strays);
  return true;
}

void DeviceMemory::ReadDamage(const wire::CallTensors& tensors,
                              std::vector<wire::Stray>* strays) {
  Damage damages[kMostBuffers];
  (void)cudaMemcpy(damages, damage_, sizeof damages, cudaMemcpyDeviceToHost);
  for (int i = 0; i < placements_.count; ++i) {
    const Damage& damage = damages[i];
    if (damage.count == 0) continue;
    const Placement& p = placements_.buffers[i];
    const std::int64_t begin = p.device - p.slot;
    wire::Stray stray;
    stray.id = i < tensors_ ? tensors.wire[static_cast<std::size_t>(i)].id
                            : wire::kScratch;
    stray.first = static_cast<std::int64_t>(damage.first) - begin;
    stray.last = static_cast<std::int64_t>(damage.last) - begin;
    stray.count = static_cast<std::int64_t>(damage.count);
    strays->push_back(stray);
    (void)FillPattern(p.slot, p.slot, p.device, stream_);
    (void)FillPattern(p.slot, p.device + p.size, p.slot + p.slot_size, stream_);
  }
  for (Damage& damage : damages) damage = kNoDamage;
  (void)cudaStreamSynchronize(stream_);
  (void)cudaMemcpy(damage_, damages, sizeof damages, cudaMemcpyHostToDevice);
  *damaged_ = 0;
}

}  // namespace mlafuzz::device
