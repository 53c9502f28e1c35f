#ifndef MLAFUZZ_KERNELS_DEVICE_SHARED_ARENA_H_
#define MLAFUZZ_KERNELS_DEVICE_SHARED_ARENA_H_

#include <cstddef>
#include <memory>
#include <string>

namespace mlafuzz::device {

// Device memory that two processes see, each in a context of its own: what
// happens to the context of one, a kernel's illegal address say, leaves the
// other's as it is, and so does the death of a process. On either side it lies
// amid address space that is not mapped, kSide bytes of it.
class SharedArena {
 public:
  static constexpr std::size_t kSide = std::size_t{16} << 30;

  // At least `bytes` of the device that is current. Null, and why.
  static std::unique_ptr<SharedArena> Create(std::size_t bytes,
                                             std::string* why);
  // What another process has created: `bytes` as size() says there, `fd` as
  // fd(), inherited. Null, and why.
  static std::unique_ptr<SharedArena> Import(int fd, std::size_t bytes,
                                             std::string* why);
  ~SharedArena();
  SharedArena(const SharedArena&) = delete;
  SharedArena& operator=(const SharedArena&) = delete;

  char* data() const { return reinterpret_cast<char*>(base_ + kSide); }
  std::size_t size() const { return size_; }  // bytes
  // A descriptor of it, to be inherited; -1: imported.
  int fd() const { return fd_; }

 private:
  struct Driver;

  SharedArena();
  bool Map(std::string* why);

  std::unique_ptr<Driver> driver_;
  unsigned long long handle_ = 0;
  unsigned long long base_ = 0;
  std::size_t size_ = 0;
  bool mapped_ = false;
  int fd_ = -1;
};

}  // namespace mlafuzz::device

#endif  // MLAFUZZ_KERNELS_DEVICE_SHARED_ARENA_H_
