#include "kernels/device/guarded_slots.h"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdlib>

#include "kernels/device/driver_entry.h"

namespace mlafuzz::device {
namespace {

constexpr char kMost[] = "MLAFUZZ_DEVICE_MEMORY_MIB";

// In the middle of a span, so that both sides are far from the next slot.
constexpr std::size_t kFront = GuardedSlots::kSpan / 2;

}  // namespace

struct GuardedSlots::Driver {
  decltype(&cuMemAddressReserve) reserve;
  decltype(&cuMemAddressFree) free;
  decltype(&cuMemCreate) create;
  decltype(&cuMemRelease) release;
  decltype(&cuMemMap) map;
  decltype(&cuMemUnmap) unmap;
  decltype(&cuMemSetAccess) set_access;
  decltype(&cuMemGetAllocationGranularity) granularity;
  CUmemAllocationProp properties = {};
  CUmemAccessDesc access = {};
};

std::unique_ptr<GuardedSlots> GuardedSlots::Create(int slots,
                                                   std::string* why) {
  std::unique_ptr<GuardedSlots> all(new GuardedSlots);
  if (const char* most = std::getenv(kMost); most != nullptr) {
    char* end = nullptr;
    const unsigned long long mib = std::strtoull(most, &end, 10);
    if (*most == '\0' || *end != '\0' || mib == 0 || mib >> 40 != 0) {
      *why = std::string(kMost) + " is \"" + most + "\", no number of MiB";
      return nullptr;
    }
    all->most_ = static_cast<std::size_t>(mib) << 20;
  }
  all->driver_ = std::make_unique<Driver>();
  Driver& d = *all->driver_;
  if (!FindDriverFunction("cuMemAddressReserve", &d.reserve) ||
      !FindDriverFunction("cuMemAddressFree", &d.free) ||
      !FindDriverFunction("cuMemCreate", &d.create) ||
      !FindDriverFunction("cuMemRelease", &d.release) ||
      !FindDriverFunction("cuMemMap", &d.map) ||
      !FindDriverFunction("cuMemUnmap", &d.unmap) ||
      !FindDriverFunction("cuMemSetAccess", &d.set_access) ||
      !FindDriverFunction("cuMemGetAllocationGranularity", &d.granularity)) {
    *why = "the driver has no virtual-memory functions";
    return nullptr;
  }
  int device = 0;
  (void)cudaGetDevice(&device);
  d.properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  d.properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  d.properties.location.id = device;
  d.access.location = d.properties.location;
  d.access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CUdeviceptr base = 0;
  if (d.granularity(&all->granule_, &d.properties,
                    CU_MEM_ALLOC_GRANULARITY_MINIMUM) != CUDA_SUCCESS ||
      d.reserve(&base, kSpan * static_cast<std::size_t>(slots), 0, 0, 0) !=
          CUDA_SUCCESS) {
    *why = "no address space for the guarded buffers";
    return nullptr;
  }
  all->base_ = base;
  all->slots_.resize(static_cast<std::size_t>(slots));
  all->pieces_.resize(static_cast<std::size_t>(slots));
  for (std::size_t i = 0; i < all->slots_.size(); ++i) {
    all->slots_[i].data = reinterpret_cast<char*>(base + i * kSpan + kFront);
  }
  return all;
}

GuardedSlots::~GuardedSlots() {
  for (Slot& slot : slots_) Release(slot, 0);
  if (base_ != 0) driver_->free(base_, kSpan * slots_.size());
}

bool GuardedSlots::Grow(int i, std::size_t bytes, std::string* why) {
  Slot& slot = slots_[static_cast<std::size_t>(i)];
  if (bytes <= slot.size && slot.size != 0) return true;
  if (bytes > kSpan / 4) {
    *why = "a buffer of more than " + std::to_string(kSpan >> 32) + " GiB";
    return false;
  }
  const std::size_t more =
      (std::max(bytes, std::size_t{1}) - slot.size + granule_ - 1) / granule_ *
      granule_;
  std::size_t taken = 0;
  for (const Slot& s : slots_) taken += s.size;
  if (most_ != 0 && (taken > most_ || more > most_ - taken)) {
    *why = "device memory: " + std::to_string(more >> 20) + " MiB asked for, " +
           std::to_string(taken >> 20) + " of " + std::to_string(most_ >> 20) +
           " that " + kMost + " allows are taken";
    return false;
  }
  CUmemGenericAllocationHandle handle = 0;
  const CUdeviceptr at = reinterpret_cast<CUdeviceptr>(slot.data + slot.size);
  if (driver_->create(&handle, more, &driver_->properties, 0) != CUDA_SUCCESS) {
    std::size_t left = 0;
    std::size_t total = 0;
    (void)cudaMemGetInfo(&left, &total);
    *why = "device memory: " + std::to_string(more >> 20) + " MiB asked for, " +
           std::to_string(left >> 20) + " of " + std::to_string(total >> 20) +
           " MiB free";
    return false;
  }
  if (driver_->map(at, more, 0, handle, 0) != CUDA_SUCCESS) {
    driver_->release(handle);
    *why = "the driver does not map device memory";
    return false;
  }
  pieces_[static_cast<std::size_t>(i)].push_back({handle, more});
  slot.size += more;
  if (driver_->set_access(at, more, &driver_->access, 1) != CUDA_SUCCESS) {
    *why = "the driver does not give access to device memory";
    return false;
  }
  return true;
}

void GuardedSlots::Release(Slot& slot, std::size_t keep) {
  std::vector<Piece>& pieces =
      pieces_[static_cast<std::size_t>(&slot - slots_.data())];
  while (!pieces.empty() && slot.size > keep) {
    const Piece piece = pieces.back();
    pieces.pop_back();
    slot.size -= piece.size;
    driver_->unmap(reinterpret_cast<CUdeviceptr>(slot.data + slot.size),
                   piece.size);
    driver_->release(piece.handle);
  }
}

void GuardedSlots::Shrink() {
  for (Slot& slot : slots_) Release(slot, granule_);
}

}  // namespace mlafuzz::device
