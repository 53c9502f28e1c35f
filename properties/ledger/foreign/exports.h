// Exports a class of this folder as a target.
#ifndef MLAFUZZ_PROPERTIES_LEDGER_FOREIGN_EXPORTS_H_
#define MLAFUZZ_PROPERTIES_LEDGER_FOREIGN_EXPORTS_H_

#include "kernels/target_helpers.h"

namespace wild {

// What all of them promise where builtin promises something else, or the
// arithmetic would be unknown. How tiles and splits are chosen is not declared:
// the bounds allow any.
constexpr char kDescription[] =
    "contract {"
    "  gather { page_tasks: EVERY_PAGE }"
    "  arithmetic {"
    "    dequantised: DEQUANTISED_FP32 query: QUERY_BF16"
    "    weights: WEIGHTS_FP32 partials: PARTIALS_FP32"
    "    accumulator: IEEE_FP32 denormals: DENORMALS_KEPT } }";

}  // namespace wild

#define WILD_EXPORT_WRITER(Writer)                                     \
  static int32_t Write(const MlafuzzCall*, const MlafuzzWrite* args) { \
    return Writer().Write(*args);                                      \
  }                                                                    \
  MLAFUZZ_EXPORT_TARGET(wild::kDescription, Write, nullptr, nullptr, nullptr)

#define WILD_EXPORT_GATHER(Gatherer)                                     \
  static int32_t Gather(const MlafuzzCall*, const MlafuzzGather* args) { \
    return Gatherer().Gather(*args);                                     \
  }                                                                      \
  MLAFUZZ_EXPORT_TARGET(wild::kDescription, nullptr, Gather, nullptr, nullptr)

#define WILD_EXPORT_CONVERT(Converter)                                     \
  static int32_t Convert(const MlafuzzCall*, const MlafuzzConvert* args) { \
    return Converter().Convert(*args);                                     \
  }                                                                        \
  MLAFUZZ_EXPORT_TARGET(wild::kDescription, nullptr, nullptr, Convert, nullptr)

#define WILD_EXPORT_DECODE(Decoder)                                      \
  static int32_t Decode(const MlafuzzCall*, const MlafuzzDecode* args) { \
    return Decoder().Decode(*args);                                      \
  }                                                                      \
  MLAFUZZ_EXPORT_TARGET(wild::kDescription, nullptr, nullptr, nullptr, Decode)

#endif  // MLAFUZZ_PROPERTIES_LEDGER_FOREIGN_EXPORTS_H_
