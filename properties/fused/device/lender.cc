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
#include "oracle/device/write_rows_launch.h"

namespace mlafuzz::device {
namespace {

constexpr std::uint64_t kLeastPinned = std::uint64_t{1} << 20;

class Lender {
 public:
  Lender() = default;
  Lender(const Lender&) = delete;
  Lender& operator=(const Lender&) = delete;
  ~Lender() {
    (void)cudaSetDevice(device_);
    (void)cudaDeviceSynchronize();
    for (Host& host : hosts_) (void)cudaFreeHost(host.data);
    (void)cudaFree(reference_);
    (void)cudaFree(rows_);
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
    if (!Good(cudaHostAlloc(&pinned, sizeof(Differences),
                            cudaHostAllocDefault)) ||
        !Good(cudaMalloc(&memory, sizeof(Differences)))) {
      return false;
    }
    seen_ = static_cast<Differences*>(pinned);
    differences_ = static_cast<Differences*>(memory);
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
    Host& host = hosts_[which];
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

  // The lent memory is written by a copy on the device, so that what a runner
  // does to it while this goes on harms no reference.
  bool Bring(std::uint64_t begin, std::uint64_t end) {
    if (!Current() || !Within(begin, end, kMlafuzzInputs)) return false;
    Mark(kBring);
    return Good(cudaMemcpyAsync(reference_ + begin, At(kMlafuzzInputs, begin),
                                end - begin, cudaMemcpyHostToDevice,
                                stream_)) &&
           Good(cudaMemcpyAsync(arena_->data() + begin, reference_ + begin,
                                end - begin, cudaMemcpyDeviceToDevice,
                                stream_)) &&
           Close(kBring);
  }

  bool Expect(std::uint64_t begin, std::uint64_t end) {
    if (!Current() || !Within(begin, end, kMlafuzzExpected)) return false;
    return Good(cudaMemcpyAsync(reference_ + begin, At(kMlafuzzExpected, begin),
                                end - begin, cudaMemcpyHostToDevice,
                                stream_)) &&
           Close(kBring);
  }

  bool WriteRows(const void* rules, std::size_t size, std::size_t first,
                 std::size_t rows) {
    oracle::WriteRules own;
    const std::uint64_t bytes = (first + rows) * sizeof(oracle::WriteRow);
    if (size != sizeof own || bytes > hosts_[kMlafuzzRows].size) {
      error_ = "rules or rows of another build";
      return false;
    }
    std::memcpy(&own, rules, sizeof own);
    if (!Current()) return false;
    if (bytes > rows_size_) {
      // What was launched before may still read the old one.
      void* memory = nullptr;
      if (!Good(cudaStreamSynchronize(stream_)) || !Good(cudaFree(rows_)) ||
          !Good(cudaMalloc(&memory, bytes + bytes / 2))) {
        return false;
      }
      rows_ = static_cast<oracle::WriteRow*>(memory);
      rows_size_ = bytes + bytes / 2;
    }
    const auto* host =
        static_cast<const oracle::WriteRow*>(hosts_[kMlafuzzRows].data);
    return Good(cudaMemcpyAsync(rows_ + first, host + first,
                                rows * sizeof(oracle::WriteRow),
                                cudaMemcpyHostToDevice, stream_)) &&
           Good(oracle::LaunchWriteRows(
               own, reinterpret_cast<std::uint8_t*>(reference_), rows_ + first,
               rows, stream_)) &&
           Close(kBring);
  }

  bool Settle() {
    return Current() && Good(cudaStreamSynchronize(stream_)) && Count(kBring);
  }

  bool Compare(const MlafuzzRange* ranges, std::size_t count,
               std::uint64_t* differences, std::uint64_t* first) {
    if (!Current()) return false;
    *seen_ = {};
    Mark(kCompare);
    if (!Good(cudaMemcpyAsync(differences_, seen_, sizeof *seen_,
                              cudaMemcpyHostToDevice, stream_))) {
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
    if (!Good(cudaMemcpyAsync(seen_, differences_, sizeof *seen_,
                              cudaMemcpyDeviceToHost, stream_)) ||
        !Close(kCompare) || !Good(cudaStreamSynchronize(stream_))) {
      return false;
    }
    *differences = seen_->count;
    *first = seen_->first;
    return Count(kCompare);
  }

  bool Fetch(std::uint64_t begin, std::uint64_t end) {
    if (!Current() || !Within(begin, end, kMlafuzzResults)) return false;
    Mark(kFetch);
    return Good(cudaMemcpyAsync(At(kMlafuzzResults, begin),
                                arena_->data() + begin, end - begin,
                                cudaMemcpyDeviceToHost, stream_)) &&
           Close(kFetch) && Good(cudaStreamSynchronize(stream_)) &&
           Count(kFetch);
  }

  void Times(MlafuzzLenderTimes* times) {
    *times = {seconds_[kBring], seconds_[kCompare], seconds_[kFetch]};
    for (double& seconds : seconds_) seconds = 0;
  }

 private:
  enum Stage { kBring, kCompare, kFetch, kStages };
  struct Host {
    void* data = nullptr;
    std::uint64_t size = 0;
  };

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
  void Mark(Stage stage) { (void)cudaEventRecord(events_[2 * stage], stream_); }
  bool Close(Stage stage) {
    return Good(cudaEventRecord(events_[2 * stage + 1], stream_));
  }
  bool Count(Stage stage) {
    float milliseconds = 0;
    if (cudaEventElapsedTime(&milliseconds, events_[2 * stage],
                             events_[2 * stage + 1]) != cudaSuccess) {
      // None of this stage since.
      (void)cudaGetLastError();
    }
    seconds_[stage] += static_cast<double>(milliseconds) * 1e-3;
    return true;
  }

  int device_ = 0;
  std::string error_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t events_[2 * kStages] = {};
  double seconds_[kStages] = {};
  std::unique_ptr<SharedArena> arena_;
  char* reference_ = nullptr;  // as large as the arena
  Differences* differences_ = nullptr;
  Differences* seen_ = nullptr;  // pinned
  Host hosts_[4];
  oracle::WriteRow* rows_ = nullptr;
  std::uint64_t rows_size_ = 0;  // bytes
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
        [](void* self, std::uint64_t begin, std::uint64_t end) {
          return Self(self)->Bring(begin, end) ? 0 : 1;
        },
    .expect =
        [](void* self, std::uint64_t begin, std::uint64_t end) {
          return Self(self)->Expect(begin, end) ? 0 : 1;
        },
    .write_rows =
        [](void* self, const void* rules, std::size_t size, std::size_t first,
           std::size_t rows) {
          return Self(self)->WriteRows(rules, size, first, rows) ? 0 : 1;
        },
    .settle = [](void* self) { return Self(self)->Settle() ? 0 : 1; },
    .compare =
        [](void* self, const MlafuzzRange* ranges, std::size_t count,
           std::uint64_t* differences, std::uint64_t* first) {
          return Self(self)->Compare(ranges, count, differences, first) ? 0 : 1;
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
