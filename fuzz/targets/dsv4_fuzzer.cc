// DeepSeek-V4's pages, with UE8M0 scales in their footer.

#include "fuzz/targets/case_fuzzer.h"

mlafuzz::GeneratorOptions mlafuzz::FuzzedKernels() {
  return {.convert = false, .decode = true, .layout = DSV4_FOOTER_584};
}
