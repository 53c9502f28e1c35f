// The indexer's K cache: writes, and gathers that copy.

#include "fuzz/targets/case_fuzzer.h"

mlafuzz::GeneratorOptions mlafuzz::FuzzedKernels() {
  return {.convert = false, .layout = INDEXER_132};
}
