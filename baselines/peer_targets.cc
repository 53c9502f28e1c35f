// The writers that are compiled in, for a test in another language
// (peer_writer.py), which calls them on memory that both map.
//
//   peer_targets          the names of targets with a writer of their own
//   peer_targets FILE     for each line, a target's name: one call of its
//                         writer, answered by a line, 0 if it was done
//
// FILE: kv_c [42, 512] and k_pe [42, 64] bf16, slot_mapping [42] int64, cache
// [8, 16, 656] uint8, one behind the other.
#include <fcntl.h>
#include <sys/mman.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <string>

#include "corpus/image.h"
#include "dlpack/dlpack.h"
#include "kernels/target_set.h"

namespace mlafuzz {
namespace {

constexpr std::int64_t kTokens = 42;
constexpr std::int64_t kPages = 8;
constexpr std::int64_t kPageSize = 16;
constexpr std::int64_t kLatent = 512;
constexpr std::int64_t kRope = 64;
constexpr std::int64_t kRowBytes = 656;

struct Memory {
  std::array<std::uint16_t, kTokens * kLatent> kv_c;
  std::array<std::uint16_t, kTokens * kRope> k_pe;
  std::array<std::int64_t, kTokens> slots;
  std::array<std::uint8_t, kPages * kPageSize * kRowBytes> cache;
};

// A tensor without gaps between its rows.
struct Dense {
  Dense(void* data, DLDataType type, int ndim,
        std::array<std::int64_t, 3> extents)
      : shape(extents) {
    std::int64_t step = 1;
    for (int i = ndim - 1; i >= 0; --i) {
      strides[static_cast<std::size_t>(i)] = step;
      step *= shape[static_cast<std::size_t>(i)];
    }
    tensor = {data, {kDLCPU, 0}, ndim, type, shape.data(), strides.data(), 0};
  }
  Dense(const Dense&) = delete;
  Dense& operator=(const Dense&) = delete;

  std::array<std::int64_t, 3> shape;
  std::array<std::int64_t, 3> strides{};
  DLTensor tensor;
};

void PrintNames() {
  for (const TargetInfo& info : AllTargets()) {
    for (const Kernel kernel : info.replaces) {
      if (kernel == Kernel::kWriter) std::printf("%s\n", info.name.c_str());
    }
  }
}

int Serve(const char* path) {
  const int file = open(path, O_RDWR | O_CLOEXEC);
  void* const page = mmap(nullptr, sizeof(Memory), PROT_READ | PROT_WRITE,
                          MAP_SHARED, file, 0);
  if (page == MAP_FAILED) {
    std::fprintf(stderr, "peer_targets: cannot map %s\n", path);
    return 2;
  }
  auto* const memory = static_cast<Memory*>(page);
  const Dense kv_c(&memory->kv_c, {kDLBfloat, 16, 1}, 2, {kTokens, kLatent});
  const Dense k_pe(&memory->k_pe, {kDLBfloat, 16, 1}, 2, {kTokens, kRope});
  const Dense slots(&memory->slots, {kDLInt, 64, 1}, 1, {kTokens});
  const Dense cache(&memory->cache, {kDLUInt, 8, 1}, 3,
                    {kPages, kPageSize, kRowBytes});
  std::string made;  // the target that `set` is
  TargetSet set;
  std::string name;
  while (std::getline(std::cin, name)) {
    if (name != made) {
      auto other = MakeTargetSet(name);
      if (!other.ok()) return 2;
      set = *std::move(other);
      made = name;
    }
    const CallResult result =
        set.For(Kernel::kWriter)
            ->Write({FP8_DS_MLA, &kv_c.tensor, &k_pe.tensor, &slots.tensor,
                     &cache.tensor},
                    {});
    std::printf("%d\n", static_cast<int>(result.status));
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace mlafuzz

int main(int argc, char** argv) {
  if (argc == 2) return mlafuzz::Serve(argv[1]);
  mlafuzz::PrintNames();
  return 0;
}
