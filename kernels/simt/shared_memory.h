// The shared memory of the block that runs: the program's `.simt_shared`
// section with all __shared__ variables, and the dynamic part.
#ifndef MLAFUZZ_KERNELS_SIMT_SHARED_MEMORY_H_
#define MLAFUZZ_KERNELS_SIMT_SHARED_MEMORY_H_

#include <cstddef>

namespace mlafuzz::simt {
inline namespace host {

struct MemoryRange {
  unsigned char* begin = nullptr;
  std::size_t size = 0;

  // Offset of the address, or npos if it is outside.
  static constexpr std::size_t npos = ~std::size_t{0};
  std::size_t OffsetOf(const void* address) const {
    const std::size_t offset = reinterpret_cast<std::size_t>(address) -
                               reinterpret_cast<std::size_t>(begin);
    return offset < size ? offset : npos;
  }
};

class SharedMemory {
 public:
  // Finds the section; false if the program's own file cannot be read.
  bool Init();

  // Sets the dynamic part to `bytes` <= kMaxDynamicShared; under ASan what is
  // beyond cannot be touched.
  void Resize(std::size_t bytes);

  // A GPU leaves there what the last block left; 0xff is NaN as float, -1 as
  // int, and far outside as unsigned index. Static variables are all filled,
  // since nobody knows which of them the kernel uses.
  void FillWithGarbage() const;

  const MemoryRange& static_part() const { return static_; }
  const MemoryRange& dynamic_part() const { return dynamic_; }

 private:
  bool found_ = false;
  MemoryRange static_;
  MemoryRange dynamic_;
};

}  // namespace host
}  // namespace mlafuzz::simt

#endif  // MLAFUZZ_KERNELS_SIMT_SHARED_MEMORY_H_
