#ifndef MLAFUZZ_KERNELS_DEVICE_LENDER_API_H_
#define MLAFUZZ_KERNELS_DEVICE_LENDER_API_H_

#include <stddef.h>
#include <stdint.h>

// What lender.so, the harness' own hold on a GPU, offers: plain C, since the
// program that loads it is built without CUDA. kernels/foreign/lent_memory.h
// says what the functions do. Those that return int: 0, or not, and error()
// says why.

#define MLAFUZZ_LENDER_VERSION 3

typedef struct MlafuzzRange {
  uint64_t begin;
  uint64_t end;
} MlafuzzRange;

// Of the seconds since the last call of times().
typedef struct MlafuzzLenderTimes {
  double bring;
  double compare;
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
  int (*bring)(void* self, uint64_t begin, uint64_t end);
  int (*expect)(void* self, uint64_t begin, uint64_t end);
  // An oracle::WriteRules, and so many oracle::WriteRow in host(kMlafuzzRows),
  // from number `first` on.
  int (*write_rows)(void* self, const void* rules, size_t rules_size,
                    size_t first, size_t rows);
  int (*settle)(void* self);
  int (*compare)(void* self, const MlafuzzRange* ranges, size_t count,
                 uint64_t* differences, uint64_t* first);
  int (*fetch)(void* self, uint64_t begin, uint64_t end);
  void (*times)(void* self, MlafuzzLenderTimes* times);
} MlafuzzLender;

// MlafuzzLender::host's `which`.
enum {
  kMlafuzzInputs = 0,
  kMlafuzzExpected = 1,
  kMlafuzzResults = 2,
  kMlafuzzRows = 3
};

// The one symbol of the library.
#define MLAFUZZ_LENDER_SYMBOL "mlafuzz_lender"

#endif  // MLAFUZZ_KERNELS_DEVICE_LENDER_API_H_
