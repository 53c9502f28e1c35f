// A right index conversion. Each step is a virtual function, so that a wrong
// one is a class that overrides one of them.
#ifndef MLAFUZZ_PROPERTIES_LEDGER_FOREIGN_RIGHT_CONVERT_H_
#define MLAFUZZ_PROPERTIES_LEDGER_FOREIGN_RIGHT_CONVERT_H_

#include <cstdint>

#include "kernels/target_helpers.h"

namespace wild {

class RightConvert {
 public:
  virtual ~RightConvert() = default;

  int32_t Convert(const MlafuzzConvert& args) {
    for (int64_t row = 0; row < args.token_indices->shape[0]; ++row) {
      int32_t valid = 0;
      for (int64_t i = 0; i < args.token_indices->shape[1]; ++i) {
        const int32_t slot =
            Slot(args, Request(args, row),
                 *mlafuzz::At<int32_t>(args.token_indices, row, i));
        *mlafuzz::At<int32_t>(args.out, row, i) = slot;
        valid += slot >= 0 ? 1 : 0;
      }
      if (args.valid_count != nullptr) {
        *mlafuzz::At<int32_t>(args.valid_count, row) = valid;
      }
    }
    return MLAFUZZ_OK;
  }

 protected:
  virtual int64_t Request(const MlafuzzConvert& args, int64_t row) {
    return *mlafuzz::At<int32_t>(args.request_ids, row);
  }

  virtual int64_t PageSize(const MlafuzzConvert& args) {
    return args.page_size;
  }

  // -1 for what is no token or lies past the table.
  virtual int32_t Slot(const MlafuzzConvert& args, int64_t request,
                       int64_t token) {
    const int64_t page_size = PageSize(args);
    const int64_t column = token / page_size;
    if (token < 0 || column >= args.block_table->shape[1]) return -1;
    const int64_t page =
        *mlafuzz::At<int32_t>(args.block_table, request, column);
    return int32_t(page * page_size + token % page_size);
  }
};

}  // namespace wild

#endif  // MLAFUZZ_PROPERTIES_LEDGER_FOREIGN_RIGHT_CONVERT_H_
