// lender.so: device memory that the harness owns and lends to runners, and what
// it makes of it on the device, in a context of its own.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "kernels/device/compare.h"
#include "kernels/device/lender_api.h"
#include "kernels/device/shared_arena.h"
#include "oracle/device/convert_rows_launch.h"
#include "oracle/device/decode_rows_launch.h"
#include "oracle/device/gather_rows_launch.h"
#include "oracle/device/write_rows_launch.h"
#include "properties/fused/device/fill_pools_launch.h"
#include "properties/fused/fill_call.h"

namespace mlafuzz::device {
namespace {

constexpr std::uint64_t kLeastPinned = std::uint64_t{1} << 20;
// Memory that judging decodes may take for what it works out on the way.
constexpr std::uint64_t kMostScratch = std::uint64_t{1} << 30;

class Lender {
 public:
  Lender() = default;
  Lender(const Lender&) = delete;
  Lender& operator=(const Lender&) = delete;
  ~Lender() {
    (void)cudaSetDevice(device_);
    (void)cudaDeviceSynchronize();
    for (Memory& host : hosts_) (void)cudaFreeHost(host.data);
    (void)cudaFree(reference_);
    (void)cudaFree(rows_.data);
    (void)cudaFree(plan_.data);
    (void)cudaFree(scratch_.data);
    (void)cudaFree(told_.data);
    (void)cudaFree(differences_);
    (void)cudaFreeHost(seen_);
    for (const cudaEvent_t event : events_) {
      if (event != nullptr) (void)cudaEventDestroy(event);
    }
    if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
  }

  bool Open(int device, std::uint64_t bytes) {
    device_ = device;
    // Calls are short: waiting by sleeping would cost more than they do.
    if (!Good(cudaSetDevice(device)) ||
        !Good(cudaSetDeviceFlags(cudaDeviceScheduleSpin)) ||
        !Good(cudaFree(nullptr)) ||
        !Good(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking))) {
      return false;
    }
    for (cudaEvent_t& event : events_) {
      if (!Good(cudaEventCreate(&event))) return false;
    }
    void* pinned = nullptr;
    void* memory = nullptr;
    if (!Good(cudaHostAlloc(&pinned, sizeof(Seen), cudaHostAllocDefault)) ||
        !Good(cudaMalloc(&memory, sizeof(Seen)))) {
      return false;
    }
    seen_ = static_cast<Seen*>(pinned);
    auto* const own = static_cast<Seen*>(memory);
    differences_ = &own->differences;
    unsettled_ = &own->unsettled;
    arena_ = SharedArena::Create(bytes, &error_);
    if (arena_ == nullptr || !Good(cudaMalloc(&memory, arena_->size()))) {
      return false;
    }
    reference_ = static_cast<char*>(memory);
    return true;
  }

  const std::string& error() const { return error_; }
  int descriptor() const { return arena_->fd(); }
  std::uint64_t bytes() const { return arena_->size(); }

  void* Pinned(int which, std::uint64_t bytes) {
    if (!Current()) return nullptr;
    Memory& host = hosts_[which];
    if (bytes <= host.size && host.data != nullptr) return host.data;
    (void)cudaFreeHost(host.data);
    host = {};
    const std::uint64_t size = std::max(bytes + bytes / 16, kLeastPinned);
    if (!Good(cudaHostAlloc(&host.data, size, cudaHostAllocDefault))) {
      host.data = nullptr;
      error_ = std::to_string(size >> 20) + " MiB of pinned memory: " + error_;
      return nullptr;
    }
    host.size = size;
    return host.data;
  }

  bool Bring(int which, std::uint64_t begin, std::uint64_t end) {
    if (!Current() || !Within(begin, end, which)) return false;
    Mark(kBring);
    return Good(cudaMemcpyAsync(reference_ + begin, At(which, begin),
                                end - begin, cudaMemcpyHostToDevice,
                                stream_)) &&
           Close(kBring);
  }

  bool Fill(const void* data, std::size_t size, std::uint64_t at) {
    FillCall call;
    const std::uint8_t* plan = nullptr;
    if (!Current() || !Read(data, size, &call)) return false;
    Mark(kLend);
    return BringRows(at, call.plan_bytes(), &plan) &&
           Good(LaunchFillPools(call, plan,
                                reinterpret_cast<std::uint8_t*>(reference_),
                                stream_)) &&
           Close(kLend);
  }

  // The lent memory is written by a copy on the device, so that what a runner
  // does to it while this goes on harms no reference.
  bool Lend(std::uint64_t begin, std::uint64_t end) {
    if (!Current()) return false;
    if (begin > end || end > bytes()) {
      error_ = "a range past the lent memory";
      return false;
    }
    Mark(kLend);
    return Good(cudaMemsetAsync(unsettled_, 0, sizeof *unsettled_, stream_)) &&
           Good(cudaMemcpyAsync(arena_->data() + begin, reference_ + begin,
                                end - begin, cudaMemcpyDeviceToDevice,
                                stream_)) &&
           Close(kLend);
  }

  bool Expect(std::uint64_t begin, std::uint64_t end) {
    if (!Current() || !Within(begin, end, kMlafuzzExpected)) return false;
    Mark(kBring);
    return Good(cudaMemcpyAsync(reference_ + begin, At(kMlafuzzExpected, begin),
                                end - begin, cudaMemcpyHostToDevice,
                                stream_)) &&
           Close(kBring);
  }

  bool Refer(int work, const void* rules, std::size_t size, std::uint64_t at,
             std::size_t rows) {
    if (!Current()) return false;
    Mark(kRefer);
    auto* const memory = reinterpret_cast<std::uint8_t*>(reference_);
    switch (work) {
      case kMlafuzzWriteRows: {
        oracle::WriteCall call;
        const oracle::WriteRow* places = nullptr;
        return Read(rules, size, &call) && BringRows(at, rows, &places) &&
               Good(oracle::LaunchWriteRows(call, memory, places, rows,
                                            stream_)) &&
               Close(kRefer);
      }
      case kMlafuzzGatherRows: {
        oracle::GatherCall call;
        const oracle::GatherSource* sources = nullptr;
        return Read(rules, size, &call) && BringRows(at, rows, &sources) &&
               Good(oracle::LaunchGatherRows(call, memory, sources, rows,
                                             stream_)) &&
               Close(kRefer);
      }
      case kMlafuzzConvertRows: {
        oracle::ConvertCall call;
        return Read(rules, size, &call) &&
               Good(oracle::LaunchConvertRows(call, memory, rows, unsettled_,
                                              stream_)) &&
               Close(kRefer);
      }
      default:
        error_ = "work of another build";
        return false;
    }
  }

  bool Settle() {
    if (!Current() || !Good(cudaStreamSynchronize(stream_))) return false;
    Count(kBring);
    Count(kLend);
    Count(kRefer);
    return true;
  }

  bool Compare(const MlafuzzRange* ranges, std::size_t count,
               MlafuzzDifferences* differences) {
    if (!Current()) return false;
    seen_->differences = {};
    Mark(kCompare);
    if (!Good(cudaMemcpyAsync(differences_, &seen_->differences,
                              sizeof *differences_, cudaMemcpyHostToDevice,
                              stream_))) {
      return false;
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (ranges[i].end > bytes() || ranges[i].begin > ranges[i].end) {
        error_ = "a range past the lent memory";
        return false;
      }
      if (!Good(device::Compare(arena_->data(), reference_, ranges[i].begin,
                                ranges[i].end, differences_, stream_))) {
        return false;
      }
    }
    // The count of what is not settled lies behind them.
    if (!Good(cudaMemcpyAsync(seen_, differences_, sizeof *seen_,
                              cudaMemcpyDeviceToHost, stream_)) ||
        !Close(kCompare) || !Good(cudaStreamSynchronize(stream_))) {
      return false;
    }
    *differences = {.bytes = seen_->differences.count,
                    .first = seen_->differences.first,
                    .unsettled = seen_->unsettled};
    Count(kCompare);
    return true;
  }

  bool Judge(const void* data, std::size_t size) {
    oracle::DecodeCall call;
    if (!Current() || !Read(data, size, &call)) return false;
    const std::uint64_t rows = call.rows();
    const std::uint64_t told_bytes = rows * sizeof(oracle::DecodeTold);
    const std::uint64_t plan_bytes = call.plan_bytes();
    if (rows == 0) return true;
    if (plan_bytes > hosts_[kMlafuzzPlan].size ||
        told_bytes > hosts_[kMlafuzzTold].size) {
      error_ = "a plan past the memory that holds it";
      return false;
    }
    oracle::DecodeRoom room;
    const std::uint64_t room_bytes = oracle::LayRoom(call.most, nullptr, &room);
    std::uint64_t rooms = 0;
    if (!Good(oracle::DecodeRooms(device_, rows, room_bytes, kMostScratch,
                                  &rooms))) {
      return false;
    }
    // On a card that others fill, fewer rows at once; then none, which says
    // nothing of them.
    while (!Grow(scratch_, rooms * room_bytes)) rooms /= 2;
    if (rooms == 0 || !Grow(plan_, plan_bytes) || !Grow(told_, told_bytes)) {
      std::memset(hosts_[kMlafuzzTold].data, 0, told_bytes);
      return true;
    }
    Mark(kJudge);
    if (!Good(cudaMemcpyAsync(plan_.data, hosts_[kMlafuzzPlan].data, plan_bytes,
                              cudaMemcpyHostToDevice, stream_)) ||
        !Good(oracle::LaunchDecodeRows(
            call, reinterpret_cast<const std::uint8_t*>(reference_),
            reinterpret_cast<const std::uint8_t*>(arena_->data()),
            static_cast<const char*>(plan_.data),
            static_cast<char*>(scratch_.data), rooms,
            static_cast<oracle::DecodeTold*>(told_.data), stream_)) ||
        !Good(cudaMemcpyAsync(hosts_[kMlafuzzTold].data, told_.data, told_bytes,
                              cudaMemcpyDeviceToHost, stream_)) ||
        !Close(kJudge) || !Good(cudaStreamSynchronize(stream_))) {
      return false;
    }
    Count(kJudge);
    return true;
  }

  bool Fetch(std::uint64_t begin, std::uint64_t end) {
    if (!Current() || !Within(begin, end, kMlafuzzResults)) return false;
    Mark(kFetch);
    if (!Good(cudaMemcpyAsync(At(kMlafuzzResults, begin),
                              arena_->data() + begin, end - begin,
                              cudaMemcpyDeviceToHost, stream_)) ||
        !Close(kFetch) || !Good(cudaStreamSynchronize(stream_))) {
      return false;
    }
    Count(kFetch);
    return true;
  }

  void Times(MlafuzzLenderTimes* times) {
    *times = {.bring = seconds_[kBring] + seconds_[kLend],
              .refer = seconds_[kRefer],
              .compare = seconds_[kCompare],
              .judge = seconds_[kJudge],
              .fetch = seconds_[kFetch]};
    for (double& seconds : seconds_) seconds = 0;
  }

 private:
  // What is lent begins to be so when the host has planned, which is not
  // bringing: a stage of its own.
  enum Stage { kBring, kLend, kRefer, kCompare, kJudge, kFetch, kStages };
  struct Seen {
    Differences differences;
    unsigned long long unsettled = 0;
  };
  struct Memory {
    void* data = nullptr;
    std::uint64_t size = 0;
  };

  // Device memory of at least `bytes`; what it held is lost where it grows.
  bool Grow(Memory& memory, std::uint64_t bytes) {
    if (bytes <= memory.size) return true;
    // What was launched before may still read it.
    if (!Good(cudaStreamSynchronize(stream_)) || !Good(cudaFree(memory.data))) {
      return false;
    }
    memory = {};
    if (!Good(cudaMalloc(&memory.data, bytes))) {
      memory.data = nullptr;
      return false;
    }
    memory.size = bytes;
    return true;
  }

  // Rules, as the program that loaded this library has them.
  template <typename Rules>
  bool Read(const void* rules, std::size_t size, Rules* own) {
    if (size != sizeof *own) {
      error_ = "rules of another build";
      return false;
    }
    std::memcpy(own, rules, sizeof *own);
    return true;
  }

  // Begins to copy `count` rows from byte `at` of host(kMlafuzzRows) on to the
  // device, where they lie at *rows.
  template <typename Row>
  bool BringRows(std::uint64_t at, std::size_t count, const Row** rows) {
    const std::uint64_t end = at + count * sizeof(Row);
    if (end > hosts_[kMlafuzzRows].size) {
      error_ = "rows past the memory that holds them";
      return false;
    }
    if (!Grow(rows_, end)) return false;
    char* const own = static_cast<char*>(rows_.data) + at;
    *rows = reinterpret_cast<const Row*>(own);
    return Good(cudaMemcpyAsync(own, At(kMlafuzzRows, at), end - at,
                                cudaMemcpyHostToDevice, stream_));
  }

  bool Good(cudaError_t error) {
    if (error == cudaSuccess) return true;
    error_ =
        std::string(cudaGetErrorName(error)) + ": " + cudaGetErrorString(error);
    (void)cudaGetLastError();
    return false;
  }
  // Threads have a current device each.
  bool Current() { return Good(cudaSetDevice(device_)); }
  bool Within(std::uint64_t begin, std::uint64_t end, int which) {
    if (begin <= end && end <= bytes() && end <= hosts_[which].size) {
      return true;
    }
    error_ = "a range past the lent memory";
    return false;
  }
  char* At(int which, std::uint64_t begin) {
    return static_cast<char*>(hosts_[which].data) + begin;
  }
  // A stage begins, unless it has, and ends for the time being.
  void Mark(Stage stage) {
    if (open_[stage]) return;
    open_[stage] = cudaEventRecord(events_[2 * stage], stream_) == cudaSuccess;
  }
  bool Close(Stage stage) {
    return Good(cudaEventRecord(events_[2 * stage + 1], stream_));
  }
  // All of it is done.
  void Count(Stage stage) {
    if (!open_[stage]) return;
    open_[stage] = false;
    float milliseconds = 0;
    if (cudaEventElapsedTime(&milliseconds, events_[2 * stage],
                             events_[2 * stage + 1]) != cudaSuccess) {
      (void)cudaGetLastError();
      return;
    }
    seconds_[stage] += static_cast<double>(milliseconds) * 1e-3;
  }

  int device_ = 0;
  std::string error_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t events_[2 * kStages] = {};
  double seconds_[kStages] = {};
  bool open_[kStages] = {};
  std::unique_ptr<SharedArena> arena_;
  char* reference_ = nullptr;  // as large as the arena
  // Of one Seen on the device.
  Differences* differences_ = nullptr;
  unsigned long long* unsettled_ = nullptr;
  Seen* seen_ = nullptr;  // pinned
  Memory hosts_[kMlafuzzHosts];
  // Of judging decodes, on the device.
  Memory plan_;
  Memory scratch_;
  Memory told_;
  Memory rows_;  // what the host knows of rows, on the device
};

Lender* Self(void* self) { return static_cast<Lender*>(self); }

void* Create(int device, std::uint64_t bytes, char* why, std::size_t size) {
  auto lender = std::make_unique<Lender>();
  if (lender->Open(device, bytes)) return lender.release();
  std::snprintf(why, size, "%s", lender->error().c_str());
  return nullptr;
}

const MlafuzzLender kLender = {
    .version = MLAFUZZ_LENDER_VERSION,
    .create = &Create,
    .destroy = [](void* self) { delete Self(self); },
    .error = [](void* self) { return Self(self)->error().c_str(); },
    .descriptor = [](void* self) { return Self(self)->descriptor(); },
    .bytes = [](void* self) { return Self(self)->bytes(); },
    .host =
        [](void* self, int which, std::uint64_t bytes) {
          return Self(self)->Pinned(which, bytes);
        },
    .bring =
        [](void* self, int which, std::uint64_t begin, std::uint64_t end) {
          return Self(self)->Bring(which, begin, end) ? 0 : 1;
        },
    .fill =
        [](void* self, const void* call, std::size_t size, std::uint64_t at) {
          return Self(self)->Fill(call, size, at) ? 0 : 1;
        },
    .lend =
        [](void* self, std::uint64_t begin, std::uint64_t end) {
          return Self(self)->Lend(begin, end) ? 0 : 1;
        },
    .expect =
        [](void* self, std::uint64_t begin, std::uint64_t end) {
          return Self(self)->Expect(begin, end) ? 0 : 1;
        },
    .refer =
        [](void* self, int work, const void* rules, std::size_t size,
           std::uint64_t at, std::size_t rows) {
          return Self(self)->Refer(work, rules, size, at, rows) ? 0 : 1;
        },
    .settle = [](void* self) { return Self(self)->Settle() ? 0 : 1; },
    .compare =
        [](void* self, const MlafuzzRange* ranges, std::size_t count,
           MlafuzzDifferences* differences) {
          return Self(self)->Compare(ranges, count, differences) ? 0 : 1;
        },
    .judge =
        [](void* self, const void* call, std::size_t size) {
          return Self(self)->Judge(call, size) ? 0 : 1;
        },
    .fetch =
        [](void* self, std::uint64_t begin, std::uint64_t end) {
          return Self(self)->Fetch(begin, end) ? 0 : 1;
        },
    .times = [](void* self,
                MlafuzzLenderTimes* times) { Self(self)->Times(times); },
};

}  // namespace
}  // namespace mlafuzz::device

extern "C" __attribute__((visibility("default"))) const MlafuzzLender*
mlafuzz_lender() {
  return &mlafuzz::device::kLender;
}
