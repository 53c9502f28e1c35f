#ifndef MLAFUZZ_ORACLE_DECODE_ARITHMETIC_RULES_H_
#define MLAFUZZ_ORACLE_DECODE_ARITHMETIC_RULES_H_

#include "oracle/device/device_code.h"

// An Arithmetic and what else a decode's values follow from, as plain numbers:
// what the oracle works with on the host and on a GPU.
// oracle/decode/contract_rules.h makes them of a contract.
namespace mlafuzz::oracle {

// As corpus/contract.proto has it; enumerators by its numbers.
struct ArithmeticRules {
  enum class Dequantised { kUnknown, kFp32, kBf16, kCodes };
  enum class Query { kUnknown, kBf16, kE4m3 };
  enum class Weights { kUnknown, kFp32, kBf16, kE4m3, kE4m3TwoPass };
  enum class Partials { kUnknown, kFp32, kBf16 };
  enum class Accumulator { kUnknown, kIeeeFp32, kMma };
  enum class Denormals { kUnknown, kKept, kFlushed };

  Dequantised dequantised;
  Query query;
  Weights weights;
  Partials partials;
  Accumulator accumulator;
  Denormals denormals;
  int accumulator_bits;  // 0: unknown
  double exp2;           // relative error; 0: unknown

  MLAFUZZ_ORACLE_CODE constexpr bool kept() const {
    return denormals == Denormals::kKept;
  }
  // Whether V enters the product as codes, its scale as part of the weight.
  MLAFUZZ_ORACLE_CODE constexpr bool scale_in_weights() const {
    return weights != Weights::kFp32 && weights != Weights::kBf16;
  }
};

// What a decode returns beside its values.
struct ResultRules {
  enum class EmptyRow {
    kUnspecified,
    kZeroAndMinusInf,
    kZeroAndPlusInf,
    kUnitWeights
  };
  enum class Sink { kUnspecified, kInLse, kNotInLse, kDropped };

  EmptyRow empty_row;
  Sink sink;
  bool base_2;  // of the LSE
};

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DECODE_ARITHMETIC_RULES_H_
