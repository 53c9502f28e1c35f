#include "fuzz/worker/keep_memory.h"

#include <malloc.h>

#include <limits>

namespace mlafuzz {

void KeepFreedMemory() {
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
}

}  // namespace mlafuzz
