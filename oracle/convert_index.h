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
    kOutsideTable,  // the rule reads outside the storage of the table, or of
                    // the workspace's starts
  };
  Kind kind;
  // page * page_size + token % page_size, not wrapped; of a workspace its row.
  std::int64_t slot = 0;
  bool in_workspace = false;
  std::int64_t page = 0;    // the table's entry
  std::int64_t column = 0;  // token / page_size, toward zero
  // Element of the table, or of the workspace's starts; with kSlot,
  // kOutsideTable.
  std::int64_t entry = 0;
};

// The index rules of a contract bound to one step's tensors.
class IndexConverter {
 public:
  IndexConverter(const ConvertContract& contract, const PoolImage& pool,
                 const StepImage& step);

  // `request` is the request id of `row`, `token` an element of token_indices.
  ConvertedIndex Convert(std::int64_t row, std::int64_t request,
                         std::int32_t token) const;

  // Of a row, under a contract that knows of a workspace; -1: it goes by the
  // block table.
  std::int64_t PrefillRequest(std::int64_t row) const;

 private:
  // Where `token` of a row of this prefill request lies.
  ConvertedIndex InWorkspace(std::int64_t row, std::int64_t prefill,
                             std::int32_t token) const;

  ConvertContract::Negative negative_;
  ConvertContract::TableColumns table_columns_;
  ConvertContract::Requests requests_;
  ConvertContract::Workspace workspace_;
  ConvertContract::Pages pages_;
  Storage<std::int32_t> table_;
  Storage<std::int32_t> prefill_ids_;
  Storage<std::int32_t> prefill_starts_;
  std::int64_t page_size_;
  std::int64_t rows_;
  std::int64_t columns_;
  std::int64_t stride_;
  std::int64_t row_step_;
};

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_CONVERT_INDEX_H_
