// FlashInfer's 528-byte rows without rope.

#include "fuzz/targets/case_fuzzer.h"

mlafuzz::GeneratorOptions mlafuzz::FuzzedKernels() {
  return {.convert = false, .decode = true, .layout = NOPE_ROW_528};
}
