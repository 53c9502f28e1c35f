#ifndef MLAFUZZ_KERNELS_FOREIGN_CALLEE_H_
#define MLAFUZZ_KERNELS_FOREIGN_CALLEE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "dlpack/dlpack.h"
#include "kernels/foreign/wire.h"
#include "kernels/target.h"

namespace mlafuzz::wire {

// The tensors of one call; the views hold pointers into `wire`.
struct CallTensors {
  std::vector<Tensor> wire;
  std::vector<DLTensor> views;  // one for each

  // nullptr: the call has no such tensor.
  DLTensor* Find(std::uint32_t id) {
    for (std::size_t i = 0; i < wire.size(); ++i) {
      if (wire[i].id == id) return &views[i];
    }
    return nullptr;
  }
};

// What a runner calls.
class Callee {
 public:
  virtual ~Callee() = default;

  virtual std::uint32_t abi() const = 0;
  virtual std::uint32_t implements() const = 0;  // bit k: kernel number k
  virtual std::string description() const = 0;
  // Returns MLAFUZZ_*.
  virtual std::int32_t MakeCall(const Call& call, const MlafuzzCall& common,
                                CallTensors& tensors) = 0;
};

// Numbers of corpus/image.h's Kernel and TensorId, in their order.
enum : std::uint32_t { kWriter, kGather, kConvert, kDecode };
enum : std::uint32_t {
  kKvC,
  kKPe,
  kSlotMapping,
  kDst,
  kBlockTable,
  kWorkspaceStarts,
  kSeqLens,
  kSeqStarts,
  kRequestIds,
  kTokenIndices,
  kOut,
  kValidCount,
  kQ,
  kIndices,
  kLengths,
  kSinks,
  kAttention,
  kLse,
  kTrace,
  kDstScales,
  kExtraCache,
  kExtraIndices,
  kExtraLengths,
  kPrefillIds,
  kPrefillStarts
};

}  // namespace mlafuzz::wire

#endif  // MLAFUZZ_KERNELS_FOREIGN_CALLEE_H_
