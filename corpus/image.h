#ifndef MLAFUZZ_CORPUS_IMAGE_H_
#define MLAFUZZ_CORPUS_IMAGE_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corpus/case.pb.h"

namespace mlafuzz {

// The kernels of this field, in the order of a cache line's life.
enum class Kernel { kWriter, kGather, kConvert, kDecode };
inline constexpr std::array<Kernel, 4> kAllKernels = {
    Kernel::kWriter, Kernel::kGather, Kernel::kConvert, Kernel::kDecode};
// "writer", "gather", "convert", "decode".
const char* KernelName(Kernel kernel);

// Bytes of one element.
int DTypeSize(DType dtype);
// "u8", "bf16", "f16", "f32", "i32", "i64".
const char* DTypeName(DType dtype);

// The tensors of a call, beside the pool.
enum class TensorId {
  kKvC,              // [rows, the layout's codes] 16-bit or f32, in
  kKPe,              // [rows, pe_dim], same type, in; absent when pe_dim is 0
  kSlotMapping,      // [tokens] i64, in
  kDst,              // [dst_rows, the layout's values] bf16, out; u8 if copied
  kBlockTable,       // [rows, columns] i32, in
  kWorkspaceStarts,  // [requests] i32, in; one more if copied
  kSeqLens,          // [requests] i32, in; may be absent
  kSeqStarts,        // [requests] i32, in; may be absent
  kRequestIds,       // [tokens] i32, in
  kTokenIndices,     // [tokens, width] i32, in
  kOut,              // [tokens, width] i32, out
  kValidCount,       // [tokens] i32, out; may be absent
  kQ,                // [queries, heads, 512 + pe_dim] bf16, in
  kIndices,          // [queries, width] i32, in
  kLengths,          // [queries] i32, in; may be absent
  kSinks,            // [heads] f32, in; may be absent
  kAttention,        // [queries, heads, 512] bf16, out
  kLse,              // [queries, heads] f32, out
  kTrace,            // f32, out: kernels/decode/trace.h; in no case
  kDstScales,        // [dst_rows, tiles] f32, out; where codes are copied
  kExtraCache,       // [pages, page_size, token] u8, in; may be absent
  kExtraIndices,     // [queries, width] i32, in; with kExtraCache
  kExtraLengths,     // [queries] i32, in; may be absent
  kPrefillIds,       // [tokens] i32, in; may be absent
  kPrefillStarts,    // [prefill requests] i32, in; with kPrefillIds
};
// "kv_c", "k_pe", "slot_mapping", ...
const char* TensorName(TensorId id);

// One strided tensor: what a kernel is told (dtype, shape, strides), and all
// bytes of its storage from element 0 to the end of the last row, gaps between
// rows included. Gaps, and outputs before the call, hold poison.
struct Tensor {
  TensorId id;
  DType dtype = U8;
  bool output = false;
  int ndim = 1;
  std::array<std::int64_t, 3> shape = {0, 1, 1};    // elements
  std::array<std::int64_t, 3> strides = {1, 1, 1};  // elements
  // Element 0 lies this many bytes past an address that is a multiple of 256.
  std::size_t misalignment = 0;
  std::vector<std::uint8_t> bytes;
};

// The pool: [pages, page_size, row_bytes] u8 with its strides in bytes, and
// all its bytes: `offset` of another owner's before page 0, then every page
// with the gap after it.
//
// Where a layout has scales behind all rows of a page, a token's bytes are
// those in its row, the first `row_part` of them, and then those behind.
struct PoolImage {
  Layout layout = FP8_DS_MLA;
  std::int64_t pages = 0;
  std::int64_t page_size = 0;    // rows
  std::int64_t page_stride = 0;  // bytes
  std::int64_t row_stride = 0;   // bytes
  std::int64_t row_bytes = 0;    // the tensor's last dimension: a token's
  std::int64_t row_part = 0;     // of these, those in the token's row
  std::int64_t offset = 0;       // bytes before page 0 in `bytes`
  // offset + pages * page_stride bytes (more where rows or pages overlap);
  // page 0 is at bytes[offset]. bytes[0] belongs at a multiple of 256.
  std::vector<std::uint8_t> bytes;

  std::int64_t slots() const { return pages * page_size; }
  bool split() const { return row_part != row_bytes; }
  // The stride that the tensor tells between tokens of a page.
  std::int64_t token_stride() const { return split() ? row_bytes : row_stride; }
  // Bytes from a page's begin to the end of its last token's.
  std::int64_t page_bytes() const {
    return split() ? page_size * row_bytes
                   : (page_size - 1) * row_stride + row_bytes;
  }
  // Byte of slot's row in `bytes`; slot in [0, slots()).
  std::int64_t RowAt(std::int64_t slot) const {
    return offset + slot / page_size * page_stride +
           slot % page_size * row_stride;
  }
  // Byte `at` of slot's token in `bytes`; slot in [0, slots()).
  std::int64_t ByteAt(std::int64_t slot, std::int64_t at) const {
    if (at < row_part) return RowAt(slot) + at;
    return offset + slot / page_size * page_stride + page_size * row_part +
           slot % page_size * (row_bytes - row_part) + at - row_part;
  }
};

// Calls part(at, byte, count) for the stretches of the pool's bytes that hold
// bytes [begin, begin + count) of slot's token: `count` bytes from `at` on are
// the token's from `byte` on.
template <typename Part>
void ForEachPart(const PoolImage& pool, std::int64_t slot, std::int64_t begin,
                 std::int64_t count, const Part& part) {
  const std::int64_t end = begin + count;
  const std::int64_t in_row = std::min(end, pool.row_part);
  if (begin < in_row) part(pool.RowAt(slot) + begin, begin, in_row - begin);
  const std::int64_t behind = std::max(begin, pool.row_part);
  if (behind < end) part(pool.ByteAt(slot, behind), behind, end - behind);
}

// One step with its tensors. A `Patch` step has no kernel and no tensors.
struct StepImage {
  bool is_patch = false;
  Kernel kernel = Kernel::kWriter;
  const Step* step = nullptr;  // into the case; lives as long as it
  std::vector<Tensor> tensors;
  // Where things lie in kExtraCache, whose bytes stand there alone: `bytes` is
  // empty. No pages: the call has none.
  PoolImage extra;

  // nullptr where the call has no such tensor.
  const Tensor* Find(TensorId id) const {
    for (const Tensor& t : tensors) {
      if (t.id == id) return &t;
    }
    return nullptr;
  }
  Tensor* Find(TensorId id) {
    return const_cast<Tensor*>(static_cast<const StepImage*>(this)->Find(id));
  }
};

// How calls are launched where that makes a difference: on GPUs.
enum class Launch {
  kDirect,
  // Each call is captured in a CUDA graph while its tensors hold zeros; then
  // the graph runs on what they should hold, twice, and leaves what the second
  // run did.
  kGraph,
};

// A case as bytes: what both an executor and the oracle start from. Holds a
// pointer to the case it was built from.
struct CaseImage {
  const Case* source = nullptr;
  PoolImage pool;
  std::vector<StepImage> steps;
  Launch launch = Launch::kDirect;
};

// The most bytes that an image may take; more is refused, so that a hostile
// case cannot exhaust memory. Staging, observation and expectation each hold a
// copy or two: in all about eight times this, 2 GiB.
inline constexpr std::int64_t kMaxImageBytes = std::int64_t{1} << 28;

// Lays out `c`. Deterministic: bytes depend on `c` alone. Refuses a case that
// has no meaning (page_size 0, a row longer than its stride would let be
// addressed, ...) with InvalidArgument and the field's path, one that is too
// large with ResourceExhausted. A case that a *kernel* must refuse (pe_dim 32)
// is laid out like any other.
absl::StatusOr<CaseImage> BuildImage(const Case& c);

// Copies a Patch into the pool's bytes; bytes outside the row are refused when
// the image is built.
void ApplyPatch(const Patch& patch, PoolImage& pool);
// The same to a copy of the pool's bytes.
void ApplyPatch(const Patch& patch, const PoolImage& pool, std::uint8_t* bytes);

}  // namespace mlafuzz

#endif  // MLAFUZZ_CORPUS_IMAGE_H_
