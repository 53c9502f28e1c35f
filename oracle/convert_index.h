#ifndef MLAFUZZ_ORACLE_CONVERT_INDEX_H_
#define MLAFUZZ_ORACLE_CONVERT_INDEX_H_

#include <cstdint>

#include "corpus/contract.pb.h"
#include "corpus/image.h"
#include "oracle/tensor_view.h"

namespace mlafuzz::oracle {

// What one token index of one row comes to.
struct ConvertedIndex {
  enum class Kind {
    kSlot,          // `slot`
    kInvalid,       // names no slot under the contract
    kOutsideTable,  // the rule reads outside the table's storage
  };
  Kind kind;
  std::int64_t slot = 0;    // page * page_size + token % page_size, not wrapped
  std::int64_t page = 0;    // the table's entry
  std::int64_t column = 0;  // token / page_size, toward zero
  std::int64_t entry = 0;   // element of the table; with kSlot, kOutsideTable
};

// The index rules of a contract bound to one step's tensors.
class IndexConverter {
 public:
  IndexConverter(const ConvertContract& contract, const PoolImage& pool,
                 const StepImage& step);

  // `request` is the row's request id, `token` an element of token_indices.
  ConvertedIndex Convert(std::int64_t request, std::int32_t token) const;

 private:
  ConvertContract::Negative negative_;
  ConvertContract::TableColumns table_columns_;
  ConvertContract::Requests requests_;
  Storage<std::int32_t> table_;
  std::int64_t page_size_;
  std::int64_t rows_;
  std::int64_t columns_;
  std::int64_t stride_;
  std::int64_t row_step_;
};

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_CONVERT_INDEX_H_
