#ifndef MLAFUZZ_KERNELS_DEVICE_LENDER_API_H_
#define MLAFUZZ_KERNELS_DEVICE_LENDER_API_H_

#include <stddef.h>
#include <stdint.h>

// What lender.so, the harness' own hold on a GPU, offers: plain C, since the
// program that loads it is built without CUDA. kernels/foreign/lent_memory.h
// says what the functions do. Those that return int: 0, or not, and error()
// says why.

#define MLAFUZZ_LENDER_VERSION 7

typedef struct MlafuzzRange {
  uint64_t begin;
  uint64_t end;
} MlafuzzRange;

// Where the lent memory is not what the reference is.
typedef struct MlafuzzDifferences {
  uint64_t bytes;
  uint64_t first;  // offset, if there is any
  // What refer() could not tell since the last lend().
  uint64_t unsettled;
} MlafuzzDifferences;

// Of the seconds since the last call of times().
typedef struct MlafuzzLenderTimes {
  double bring;
  double refer;
  double compare;
  double judge;
  double fetch;
} MlafuzzLenderTimes;

typedef struct MlafuzzLender {
  uint32_t version;
  // Null, and why.
  void* (*create)(int device, uint64_t bytes, char* why, size_t why_size);
  void (*destroy)(void* self);
  const char* (*error)(void* self);
  int (*descriptor)(void* self);
  uint64_t (*bytes)(void* self);
  // Pinned memory of the host, as large as asked for at least.
  void* (*host)(void* self, int which, uint64_t bytes);
  // From host(which), one of kMlafuzzInputs and kMlafuzzOtherInputs, to the
  // reference.
  int (*bring)(void* self, int which, uint64_t begin, uint64_t end);
  // Pools of the reference: a FillCall (properties/fused/fill_call.h), whose
  // plan lies in host(kMlafuzzRows) from byte `at` on, a multiple of 16.
  int (*fill)(void* self, const void* call, size_t call_size, uint64_t at);
  // From the reference to the lent memory.
  int (*lend)(void* self, uint64_t begin, uint64_t end);
  int (*expect)(void* self, uint64_t begin, uint64_t end);
  // Work of the oracle's on the reference, one of kMlafuzz*Rows below, for
  // `rows` rows; what there is of each lies in host(kMlafuzzRows) from byte
  // `at` on, a multiple of 16.
  int (*refer)(void* self, int work, const void* rules, size_t rules_size,
               uint64_t at, size_t rows);
  int (*settle)(void* self);
  int (*compare)(void* self, const MlafuzzRange* ranges, size_t count,
                 MlafuzzDifferences* differences);
  // Judges what decodes left in the lent memory by the inputs in the reference:
  // an oracle::DecodeCall, whose plan lies in host(kMlafuzzPlan). Answers are
  // in host(kMlafuzzTold), an oracle::DecodeTold a row, when this returns.
  int (*judge)(void* self, const void* call, size_t call_size);
  int (*fetch)(void* self, uint64_t begin, uint64_t end);
  void (*times)(void* self, MlafuzzLenderTimes* times);
} MlafuzzLender;

// MlafuzzLender::host's `which`.
enum {
  kMlafuzzInputs = 0,
  kMlafuzzExpected = 1,
  kMlafuzzResults = 2,
  kMlafuzzRows = 3,
  kMlafuzzOtherInputs = 4,
  kMlafuzzPlan = 5,
  kMlafuzzTold = 6,
  kMlafuzzHosts
};

// MlafuzzLender::refer's `work`: `rules` and rows are those of oracle/device/.
enum {
  // An oracle::WriteCall and an oracle::WriteRow a token.
  kMlafuzzWriteRows = 0,
  // An oracle::GatherCall and an oracle::GatherSource a row of dst.
  kMlafuzzGatherRows = 1,
  // An oracle::ConvertCall; nothing more of a row.
  kMlafuzzConvertRows = 2,
  kMlafuzzWorks
};

// The one symbol of the library.
#define MLAFUZZ_LENDER_SYMBOL "mlafuzz_lender"

#endif  // MLAFUZZ_KERNELS_DEVICE_LENDER_API_H_
