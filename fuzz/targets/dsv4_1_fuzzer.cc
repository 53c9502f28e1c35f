// FlashInfer's DSV4_1 pages, whose writer takes any slot.

#include "fuzz/targets/case_fuzzer.h"

mlafuzz::GeneratorOptions mlafuzz::FuzzedKernels() {
  return {.convert = false, .decode = true, .layout = DSV4_1_FOOTER_528};
}
