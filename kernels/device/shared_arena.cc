#include "kernels/device/shared_arena.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <unistd.h>

#include <cstdint>

#include "kernels/device/driver_entry.h"

namespace mlafuzz::device {
namespace {

constexpr CUmemAllocationHandleType kDescriptor =
    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

}  // namespace

struct SharedArena::Driver {
  decltype(&cuMemAddressReserve) reserve;
  decltype(&cuMemAddressFree) free;
  decltype(&cuMemCreate) create;
  decltype(&cuMemRelease) release;
  decltype(&cuMemMap) map;
  decltype(&cuMemUnmap) unmap;
  decltype(&cuMemSetAccess) set_access;
  decltype(&cuMemGetAllocationGranularity) granularity;
  decltype(&cuMemExportToShareableHandle) export_handle;
  decltype(&cuMemImportFromShareableHandle) import_handle;
  CUmemAllocationProp properties = {};

  bool Load(std::string* why) {
    if (!FindDriverFunction("cuMemAddressReserve", &reserve) ||
        !FindDriverFunction("cuMemAddressFree", &free) ||
        !FindDriverFunction("cuMemCreate", &create) ||
        !FindDriverFunction("cuMemRelease", &release) ||
        !FindDriverFunction("cuMemMap", &map) ||
        !FindDriverFunction("cuMemUnmap", &unmap) ||
        !FindDriverFunction("cuMemSetAccess", &set_access) ||
        !FindDriverFunction("cuMemGetAllocationGranularity", &granularity) ||
        !FindDriverFunction("cuMemExportToShareableHandle", &export_handle) ||
        !FindDriverFunction("cuMemImportFromShareableHandle", &import_handle)) {
      *why = "the driver cannot share device memory between processes";
      return false;
    }
    int device = 0;
    (void)cudaGetDevice(&device);
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = device;
    properties.requestedHandleTypes = kDescriptor;
    return true;
  }
};

SharedArena::SharedArena() : driver_(std::make_unique<Driver>()) {}

SharedArena::~SharedArena() {
  if (mapped_) driver_->unmap(base_ + kSide, size_);
  if (base_ != 0) driver_->free(base_, size_ + 2 * kSide);
  if (handle_ != 0) driver_->release(handle_);
  if (fd_ >= 0) close(fd_);
}

bool SharedArena::Map(std::string* why) {
  CUdeviceptr base = 0;
  if (driver_->reserve(&base, size_ + 2 * kSide, 0, 0, 0) != CUDA_SUCCESS) {
    *why = "no address space for shared device memory";
    return false;
  }
  base_ = base;
  CUmemAccessDesc access = {};
  access.location = driver_->properties.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  mapped_ = driver_->map(base_ + kSide, size_, 0, handle_, 0) == CUDA_SUCCESS;
  if (!mapped_ ||
      driver_->set_access(base_ + kSide, size_, &access, 1) != CUDA_SUCCESS) {
    *why = "the driver does not map shared device memory";
    return false;
  }
  return true;
}

std::unique_ptr<SharedArena> SharedArena::Create(std::size_t bytes,
                                                 std::string* why) {
  std::unique_ptr<SharedArena> arena(new SharedArena);
  Driver& d = *arena->driver_;
  if (!d.Load(why)) return nullptr;
  std::size_t granule = 0;
  if (d.granularity(&granule, &d.properties,
                    CU_MEM_ALLOC_GRANULARITY_MINIMUM) != CUDA_SUCCESS ||
      granule == 0) {
    *why = "the driver does not say in which pieces it shares device memory";
    return nullptr;
  }
  arena->size_ = (bytes + granule - 1) / granule * granule;
  CUmemGenericAllocationHandle handle = 0;
  if (d.create(&handle, arena->size_, &d.properties, 0) != CUDA_SUCCESS) {
    std::size_t left = 0;
    std::size_t total = 0;
    (void)cudaMemGetInfo(&left, &total);
    *why = "shared device memory: " + std::to_string(arena->size_ >> 20) +
           " MiB asked for, " + std::to_string(left >> 20) + " of " +
           std::to_string(total >> 20) + " MiB free";
    return nullptr;
  }
  arena->handle_ = handle;
  if (d.export_handle(&arena->fd_, handle, kDescriptor, 0) != CUDA_SUCCESS) {
    arena->fd_ = -1;
    *why = "the driver does not export device memory";
    return nullptr;
  }
  if (!arena->Map(why)) return nullptr;
  return arena;
}

std::unique_ptr<SharedArena> SharedArena::Import(int fd, std::size_t bytes,
                                                 std::string* why) {
  std::unique_ptr<SharedArena> arena(new SharedArena);
  if (!arena->driver_->Load(why)) return nullptr;
  arena->size_ = bytes;
  CUmemGenericAllocationHandle handle = 0;
  if (arena->driver_->import_handle(
          &handle, reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)),
          kDescriptor) != CUDA_SUCCESS) {
    *why = "the driver does not import device memory of another process";
    return nullptr;
  }
  arena->handle_ = handle;
  if (!arena->Map(why)) return nullptr;
  return arena;
}

}  // namespace mlafuzz::device
