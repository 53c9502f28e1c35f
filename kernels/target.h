/* The interface between mlafuzz and kernels that are not its own: C99, so that
 * any compiler's shared library can be attached as lib:PATH.so.
 *
 * A library exports one function,
 *
 *     const MlafuzzTarget* mlafuzz_target(void);
 *
 * which returns the same static structure each time. Any subset of the four
 * kernels may be null: checks of those are skipped.
 *
 * How a call goes: all memory that a kernel may touch belongs to the harness
 * and stands in the call's tensors. Their shapes and strides are true (strides
 * in elements, never null; byte_offset is 0), pointers are as aligned as the
 * case says, which is at least an element's size. Bytes between rows, behind
 * the last one and outside of tensors are poison: reading them must change
 * nothing, writing them is a finding. A call is synchronous: when it returns,
 * its results are in place (device targets: after the harness has synchronised
 * `stream`). It is made from one thread, in a process that shares nothing with
 * the harness but these bytes, and may be the process' only or its
 * ten-thousandth.
 *
 * Device memory (tensors whose device is kDLCUDA): allocated by the harness'
 * code in the same process, on the current device, before the call; results are
 * copied out after the stream has been synchronised. A target never allocates,
 * frees or exports any of it.
 *
 * Versions: structures only ever grow at their ends. `struct_size` in each says
 * how far the writer's header went, so a library built against an older header
 * loads, and one built against a newer one sees only what this harness knows.
 */
#ifndef MLAFUZZ_KERNELS_TARGET_H_
#define MLAFUZZ_KERNELS_TARGET_H_

#include <stddef.h>
#include <stdint.h>

#include "dlpack/dlpack.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Changes only when an old library could not work any more. */
#define MLAFUZZ_TARGET_ABI 1

/* What a call returns. Any other value is taken for MLAFUZZ_ERROR. */
enum {
  MLAFUZZ_OK = 0,
  MLAFUZZ_REFUSED = 1, /* the host check said no; nothing was written */
  MLAFUZZ_ERROR = 2,   /* the kernel itself failed */
  MLAFUZZ_NOT_IMPLEMENTED = 3
};

/* How the cache's bytes are laid out (docs/layouts.md). Where scales lie behind
 * all rows of a page, a cache tensor is still [pages, page_size, bytes a
 * token], and only its page stride says where things stand. */
enum {
  /* 656 bytes a row: 512 E4M3 codes, four fp32 tile scales, 64 bf16 of rope. */
  MLAFUZZ_LAYOUT_FP8_DS_MLA = 1,
  MLAFUZZ_LAYOUT_NOPE_ROW_528 = 2,
  MLAFUZZ_LAYOUT_DSV4_FOOTER_584 = 3,
  MLAFUZZ_LAYOUT_DSV4_1_FOOTER_528 = 4,
  MLAFUZZ_LAYOUT_INDEXER_132 = 5,
  MLAFUZZ_LAYOUT_INDEXER_264 = 6
};

/* What all calls have in common. */
typedef struct MlafuzzCall {
  uint32_t struct_size; /* bytes, as the harness knows this structure */
  uint32_t layout;      /* of the cache, MLAFUZZ_LAYOUT_* */
  void* stream;         /* a cudaStream_t; null on the host */
  DLTensor* scratch;    /* uint8 [scratch_bytes of the description], contents
                           undefined; null if none was asked for */
  char* message;        /* why a call was refused or failed: write at most */
  size_t message_size;  /* this many bytes, the closing zero included */
} MlafuzzCall;

/* Quantise rows and store them. */
typedef struct MlafuzzWrite {
  uint32_t struct_size;
  DLTensor* kv_c;         /* [rows, codes of the layout: 512] bfloat16, float16
                             or float32 */
  DLTensor* k_pe;         /* [rows, pe_dim], same type; null: pe_dim is 0 */
  DLTensor* slot_mapping; /* [tokens] int64; tokens <= rows */
  DLTensor* cache;        /* [pages, page_size, bytes a token: 656] uint8;
                             written */
} MlafuzzWrite;

/* Gather requests' rows and upconvert them. */
typedef struct MlafuzzGather {
  uint32_t struct_size;
  int32_t nope;               /* non-zero: the rows carry no rope */
  DLTensor* cache;            /* [pages, page_size, bytes a token: 656] uint8 */
  DLTensor* dst;              /* [rows, values of the layout: 576] bfloat16; of
                                 an indexer's cache its codes, uint8; where bytes
                                 are copied [rows, bytes a token] uint8; written */
  DLTensor* block_table;      /* [requests, columns] int32 */
  DLTensor* workspace_starts; /* [requests] int32: first row in dst; of an
                                 indexer's cache [requests + 1], with the end */
  DLTensor* seq_lens;         /* [requests] int32 or null */
  DLTensor* seq_starts;       /* [requests] int32 or null */
  DLTensor* dst_scales;       /* [rows, scales a token] float32 of an indexer's
                                 cache, else null; written */
  float tensor_scale;         /* of the whole cache; 0: none given */
} MlafuzzGather;

/* Convert token indices of requests to slots of the pool. */
typedef struct MlafuzzConvert {
  uint32_t struct_size;
  int64_t page_size;
  DLTensor* request_ids;   /* [tokens] int32 */
  DLTensor* block_table;   /* [requests, columns] int32 */
  DLTensor* token_indices; /* [tokens, width] int32; -1: none */
  DLTensor* out;           /* [tokens, width] int32; written */
  DLTensor* valid_count;   /* [tokens] int32 or null; written */
  /* Of each token its prefill request, -1 for those of decodes; and where
   * prefill requests begin in a workspace. Both null: no workspace. */
  DLTensor* prefill_request_ids;      /* [tokens] int32 or null */
  DLTensor* prefill_workspace_starts; /* [prefill requests] int32 or null */
} MlafuzzConvert;

/* Sparse attention over chosen rows. */
typedef struct MlafuzzDecode {
  uint32_t struct_size;
  float softmax_scale;
  int64_t splits;        /* asked for; 0: the kernel's own choice */
  int64_t declared_topk; /* the model's number; 0: the width of `indices` */
  int64_t query_length;  /* queries of one request */
  DLTensor* cache;       /* [pages, page_size, bytes a token: 656] uint8 */
  DLTensor* q;           /* [queries, heads, 512 + pe_dim] bfloat16; in a layout
                            whose 512 values include rope pe_dim is 0 */
  DLTensor* indices;     /* [queries, width] int32 slots; -1: none */
  DLTensor* lengths;     /* [queries] int32 or null */
  DLTensor* sinks;       /* [heads] float32, natural-log units, or null */
  DLTensor* out;         /* [queries, heads, 512] bfloat16; written */
  DLTensor* lse;         /* [queries, heads] float32; written */
  /* A second cache of the same layout, DeepSeek-V4's compressed keys; all three
   * are null where there is none. */
  DLTensor* extra_cache;   /* [pages, page_size, bytes a token] uint8 */
  DLTensor* extra_indices; /* [queries, width] int32 slots of it; -1: none */
  DLTensor* extra_lengths; /* [queries] int32 or null */
} MlafuzzDecode;

typedef struct MlafuzzTarget {
  uint32_t struct_size; /* sizeof(MlafuzzTarget) */
  uint32_t abi;         /* MLAFUZZ_TARGET_ABI */
  /* What the kernels promise: a mlafuzz.TargetDescription as text (see
   * docs/attach-your-kernel.md). Empty or null: the promises of builtin. */
  const char* description;
  int32_t (*write)(const MlafuzzCall*, const MlafuzzWrite*);
  int32_t (*gather)(const MlafuzzCall*, const MlafuzzGather*);
  int32_t (*convert)(const MlafuzzCall*, const MlafuzzConvert*);
  int32_t (*decode)(const MlafuzzCall*, const MlafuzzDecode*);
} MlafuzzTarget;

/* Exported by the library. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const MlafuzzTarget*
mlafuzz_target(void);

#ifdef __cplusplus
}
#endif

#endif /* MLAFUZZ_KERNELS_TARGET_H_ */
