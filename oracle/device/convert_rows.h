#ifndef MLAFUZZ_ORACLE_DEVICE_CONVERT_ROWS_H_
#define MLAFUZZ_ORACLE_DEVICE_CONVERT_ROWS_H_

#include <cstdint>

#include "oracle/device/device_code.h"

// What an index conversion must leave, worked out where the tensors are: on the
// host, or on a GPU. The rules are those of oracle/convert_index.cc and
// oracle/expect_convert.cc, which stay the word:
// properties/fused/device_convert_test.cc holds the two together.
namespace mlafuzz::oracle {

// A ConvertContract's rules as plain numbers.
struct ConvertRules {
  enum class Invalid : std::uint8_t { kMinusOne, kZero, kUntouched };

  Invalid invalid;
  bool minus_one_only;      // MINUS_ONE_ONLY
  bool requests_invalid;    // REQUESTS_INVALID
  bool fitting;             // PAGES_FITTING
  bool count_non_negative;  // COUNT_NON_NEGATIVE
  bool compacts;            // COMPACTED
  std::int64_t page_size;
  std::int64_t columns;  // from this one on a column is invalid
  std::int64_t table_rows;
  std::int64_t table_step;  // elements between rows of the table
};

// int32 elements in the memory that holds all.
struct Int32s {
  std::uint64_t begin;  // bytes
  std::int64_t count;   // elements; an element past them is not there
  std::int64_t step;    // elements between rows
};

struct ConvertCall {
  ConvertRules rules;
  std::int64_t width;
  Int32s indices;
  Int32s requests;
  Int32s table;
  Int32s out;
  Int32s counts;  // none: of no element
};

// Of a row.
struct ConvertCounts {
  std::int32_t valid;
  std::int32_t non_negative;
  std::int32_t unsettled;  // entries from outside the table
};

// Bytes, since tensors may begin anywhere.
MLAFUZZ_ORACLE_CODE inline std::int32_t LoadInt32(const std::uint8_t* memory,
                                                  const Int32s& from,
                                                  std::int64_t element) {
  const std::uint8_t* const at =
      memory + from.begin + 4 * static_cast<std::uint64_t>(element);
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) {
    value |= static_cast<std::uint32_t>(at[i]) << 8 * i;
  }
  return static_cast<std::int32_t>(value);
}

MLAFUZZ_ORACLE_CODE inline void StoreInt32(std::uint8_t* memory,
                                           const Int32s& to,
                                           std::int64_t element,
                                           std::int32_t value) {
  if (element < 0 || element >= to.count) return;
  std::uint8_t* const at =
      memory + to.begin + 4 * static_cast<std::uint64_t>(element);
  for (int i = 0; i < 4; ++i) {
    at[i] =
        static_cast<std::uint8_t>(static_cast<std::uint32_t>(value) >> 8 * i);
  }
}

struct ConvertedToken {
  bool valid;
  bool known;  // else it lies outside the table
  std::int32_t slot;
};

// What index number `column` of a row comes to.
MLAFUZZ_ORACLE_CODE inline ConvertedToken ConvertToken(
    const ConvertCall& call, const std::uint8_t* memory, std::int64_t row,
    std::int64_t column, ConvertCounts* counts) {
  const ConvertRules& rules = call.rules;
  const std::int32_t token =
      LoadInt32(memory, call.indices, row * call.indices.step + column);
  const std::int64_t request =
      LoadInt32(memory, call.requests, row * call.requests.step);
  if (token >= 0) ++counts->non_negative;
  const std::int64_t at = token / rules.page_size;
  if ((rules.minus_one_only ? token == -1 : token < 0) ||
      (rules.requests_invalid &&
       (request < 0 || request >= rules.table_rows)) ||
      at >= rules.columns) {
    return {false, true, 0};
  }
  const std::int64_t entry = request * rules.table_step + at;
  if (entry < 0 || entry >= call.table.count) {
    ++counts->valid;
    ++counts->unsettled;
    return {true, false, 0};
  }
  const std::int64_t slot =
      std::int64_t{LoadInt32(memory, call.table, entry)} * rules.page_size +
      token % rules.page_size;
  constexpr std::int64_t kMost = 0x7fffffff;
  if (rules.fitting && (slot < 0 || slot > kMost)) return {false, true, 0};
  ++counts->valid;
  // int32 arithmetic wraps.
  return {true, true,
          static_cast<std::int32_t>(static_cast<std::uint32_t>(slot))};
}

MLAFUZZ_ORACLE_CODE inline void StoreInvalid(const ConvertCall& call,
                                             std::uint8_t* memory,
                                             std::int64_t element) {
  if (call.rules.invalid == ConvertRules::Invalid::kUntouched) return;
  StoreInt32(memory, call.out, element,
             call.rules.invalid == ConvertRules::Invalid::kZero ? 0 : -1);
}

// Without `compacts`: one entry of a row.
MLAFUZZ_ORACLE_CODE inline void ConvertInPlace(const ConvertCall& call,
                                               std::uint8_t* memory,
                                               std::int64_t row,
                                               std::int64_t column,
                                               ConvertCounts* counts) {
  const ConvertedToken token = ConvertToken(call, memory, row, column, counts);
  const std::int64_t element = row * call.out.step + column;
  if (!token.valid) {
    StoreInvalid(call, memory, element);
  } else if (token.known) {
    StoreInt32(memory, call.out, element, token.slot);
  }
}

// With `compacts`: all entries of a row.
MLAFUZZ_ORACLE_CODE inline void ConvertCompacted(const ConvertCall& call,
                                                 std::uint8_t* memory,
                                                 std::int64_t row,
                                                 ConvertCounts* counts) {
  const std::int64_t first = row * call.out.step;
  std::int64_t at = 0;
  for (std::int64_t column = 0; column < call.width; ++column) {
    const ConvertedToken token =
        ConvertToken(call, memory, row, column, counts);
    if (!token.valid) continue;
    if (token.known) StoreInt32(memory, call.out, first + at, token.slot);
    ++at;
  }
  for (; at < call.width; ++at) StoreInvalid(call, memory, first + at);
}

MLAFUZZ_ORACLE_CODE inline void StoreCount(const ConvertCall& call,
                                           std::uint8_t* memory,
                                           std::int64_t row,
                                           const ConvertCounts& counts) {
  StoreInt32(
      memory, call.counts, row * call.counts.step,
      call.rules.count_non_negative ? counts.non_negative : counts.valid);
}

// All of a row, for who has one thread. Returns the entries that something
// outside of the table decides.
MLAFUZZ_ORACLE_CODE inline std::int32_t ConvertRow(const ConvertCall& call,
                                                   std::uint8_t* memory,
                                                   std::int64_t row) {
  ConvertCounts counts = {};
  if (call.rules.compacts) {
    ConvertCompacted(call, memory, row, &counts);
  } else {
    for (std::int64_t column = 0; column < call.width; ++column) {
      ConvertInPlace(call, memory, row, column, &counts);
    }
  }
  StoreCount(call, memory, row, counts);
  return counts.unsettled;
}

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DEVICE_CONVERT_ROWS_H_
