#include "oracle/decode/contract_rules.h"

namespace mlafuzz::oracle {
namespace {

// Both list the same values by the same numbers.
template <class To, class From>
constexpr bool Same(To to, From from) {
  return static_cast<int>(to) == static_cast<int>(from);
}

using A = ArithmeticRules;
static_assert(Same(A::Dequantised::kUnknown, Arithmetic::DEQUANTISED_UNKNOWN));
static_assert(Same(A::Dequantised::kFp32, Arithmetic::DEQUANTISED_FP32));
static_assert(Same(A::Dequantised::kBf16, Arithmetic::DEQUANTISED_BF16));
static_assert(Same(A::Dequantised::kCodes, Arithmetic::DEQUANTISED_CODES));
static_assert(Same(A::Dequantised::kCodes, Arithmetic::Dequantised_MAX));
static_assert(Same(A::Query::kUnknown, Arithmetic::QUERY_UNKNOWN));
static_assert(Same(A::Query::kBf16, Arithmetic::QUERY_BF16));
static_assert(Same(A::Query::kE4m3, Arithmetic::QUERY_E4M3));
static_assert(Same(A::Query::kE4m3, Arithmetic::Query_MAX));
static_assert(Same(A::Weights::kUnknown, Arithmetic::WEIGHTS_UNKNOWN));
static_assert(Same(A::Weights::kFp32, Arithmetic::WEIGHTS_FP32));
static_assert(Same(A::Weights::kBf16, Arithmetic::WEIGHTS_BF16));
static_assert(Same(A::Weights::kE4m3, Arithmetic::WEIGHTS_E4M3));
static_assert(Same(A::Weights::kE4m3TwoPass,
                   Arithmetic::WEIGHTS_E4M3_TWO_PASS));
static_assert(Same(A::Weights::kE4m3TwoPass, Arithmetic::Weights_MAX));
static_assert(Same(A::Partials::kUnknown, Arithmetic::PARTIALS_UNKNOWN));
static_assert(Same(A::Partials::kFp32, Arithmetic::PARTIALS_FP32));
static_assert(Same(A::Partials::kBf16, Arithmetic::PARTIALS_BF16));
static_assert(Same(A::Partials::kBf16, Arithmetic::Partials_MAX));
static_assert(Same(A::Accumulator::kUnknown, Arithmetic::ACCUMULATOR_UNKNOWN));
static_assert(Same(A::Accumulator::kIeeeFp32, Arithmetic::IEEE_FP32));
static_assert(Same(A::Accumulator::kMma, Arithmetic::MMA));
static_assert(Same(A::Accumulator::kMma, Arithmetic::Accumulator_MAX));
static_assert(Same(A::Denormals::kUnknown, Arithmetic::DENORMALS_UNKNOWN));
static_assert(Same(A::Denormals::kKept, Arithmetic::DENORMALS_KEPT));
static_assert(Same(A::Denormals::kFlushed, Arithmetic::DENORMALS_FLUSHED));
static_assert(Same(A::Denormals::kFlushed, Arithmetic::Denormals_MAX));

using R = ResultRules;
static_assert(Same(R::EmptyRow::kZeroAndMinusInf,
                   DecodeContract::ZERO_AND_MINUS_INF));
static_assert(Same(R::EmptyRow::kZeroAndPlusInf,
                   DecodeContract::ZERO_AND_PLUS_INF));
static_assert(Same(R::EmptyRow::kUnitWeights, DecodeContract::UNIT_WEIGHTS));
static_assert(Same(R::EmptyRow::kUnitWeights, DecodeContract::EmptyRow_MAX));
static_assert(Same(R::Sink::kInLse, DecodeContract::SINK_IN_LSE));
static_assert(Same(R::Sink::kNotInLse, DecodeContract::SINK_NOT_IN_LSE));
static_assert(Same(R::Sink::kDropped, DecodeContract::SINK_DROPPED));
static_assert(Same(R::Sink::kDropped, DecodeContract::Sink_MAX));

using S = SideRules;
static_assert(Same(S::Scale::kRaw, ReaderSide::SCALE_RAW));
static_assert(Same(S::Scale::kPow2Floor, ReaderSide::SCALE_POW2_FLOOR));
static_assert(Same(S::Scale::kPow2Ceil, ReaderSide::SCALE_POW2_CEIL));
static_assert(Same(S::Scale::kBf16, ReaderSide::SCALE_BF16));
static_assert(Same(S::Scale::kOne, ReaderSide::SCALE_ONE));
static_assert(Same(S::Scale::kOne, ReaderSide::ScaleRule_MAX));

}  // namespace

ArithmeticRules RulesOf(const Arithmetic& arithmetic) {
  return {
      .dequantised = static_cast<A::Dequantised>(arithmetic.dequantised()),
      .query = static_cast<A::Query>(arithmetic.query()),
      .weights = static_cast<A::Weights>(arithmetic.weights()),
      .partials = static_cast<A::Partials>(arithmetic.partials()),
      .accumulator = static_cast<A::Accumulator>(arithmetic.accumulator()),
      .denormals = static_cast<A::Denormals>(arithmetic.denormals()),
      .accumulator_bits = static_cast<int>(arithmetic.accumulator_bits()),
      .exp2 = arithmetic.exp2_relative_error(),
  };
}

ResultRules RulesOf(const DecodeContract& contract) {
  return {.empty_row = static_cast<R::EmptyRow>(contract.empty_row()),
          .sink = static_cast<R::Sink>(contract.sink()),
          .base_2 = contract.lse_base() == DecodeContract::BASE_2};
}

SideRules RulesOf(const ReaderSide& side) {
  return {.scale = static_cast<S::Scale>(side.scale_rule()),
          .zero_is_zero = side.ue8m0_zero() == ZERO_IS_ZERO,
          .last_is_inf = side.ue8m0_last() == LAST_IS_INF};
}

}  // namespace mlafuzz::oracle
