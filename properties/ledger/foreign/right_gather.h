// A right gather. Each step is a virtual function, so that a wrong one is a
// class that overrides one of them.
#ifndef MLAFUZZ_PROPERTIES_LEDGER_FOREIGN_RIGHT_GATHER_H_
#define MLAFUZZ_PROPERTIES_LEDGER_FOREIGN_RIGHT_GATHER_H_

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/target_helpers.h"
#include "properties/ledger/foreign/formats.h"

namespace wild {

class RightGather {
 public:
  virtual ~RightGather() = default;

  int32_t Gather(const MlafuzzGather& args) {
    const int64_t requests = args.workspace_starts->shape[0];
    for (int64_t request = 0; request < requests; ++request) {
      Request(args, request, Length(args, request));
    }
    return MLAFUZZ_OK;
  }

 protected:
  // First row of dst. Where lengths follow from starts, one past the end means
  // the end.
  static int64_t Start(const MlafuzzGather& args, int64_t request) {
    const int64_t rows = args.dst->shape[0];
    if (request == args.workspace_starts->shape[0]) return rows;
    const int64_t start = *mlafuzz::At<int32_t>(args.workspace_starts, request);
    return args.seq_lens != nullptr ? start : std::min(start, rows);
  }

  // Position in the sequence of a request's first row.
  static int64_t First(const MlafuzzGather& args, int64_t request) {
    if (args.seq_starts == nullptr) return 0;
    return *mlafuzz::At<int32_t>(args.seq_starts, request);
  }

  virtual int64_t Length(const MlafuzzGather& args, int64_t request) {
    if (args.seq_lens != nullptr) {
      return std::max(0, *mlafuzz::At<int32_t>(args.seq_lens, request));
    }
    return std::max<int64_t>(0,
                             Start(args, request + 1) - Start(args, request));
  }

  virtual void Request(const MlafuzzGather& args, int64_t request,
                       int64_t length) {
    for (int64_t i = 0; i < length; ++i) {
      Row(args, Source(args, request, First(args, request) + i),
          Start(args, request) + i);
    }
  }

  // The row of the pool that holds a position of a request.
  static const uint8_t* Source(const MlafuzzGather& args, int64_t request,
                               int64_t position) {
    const int64_t page_size = args.cache->shape[1];
    const int64_t page =
        *mlafuzz::At<int32_t>(args.block_table, request, position / page_size);
    return mlafuzz::At<uint8_t>(args.cache, page, position % page_size);
  }

  static void Row(const MlafuzzGather& args, const uint8_t* row, int64_t to) {
    auto* out = mlafuzz::At<uint16_t>(args.dst, to);
    float scales[kLatent / kTile];
    std::memcpy(scales, row + kScaleAt, sizeof scales);
    for (int i = 0; i < kLatent; ++i) {
      out[i] = ToBf16(FromE4m3(row[i]) * scales[i / kTile]);
    }
    if (args.nope != 0) {
      std::memset(out + kLatent, 0, 2 * kRope);
    } else {
      std::memcpy(out + kLatent, row + kRopeAt, 2 * kRope);
    }
  }
};

}  // namespace wild

#endif  // MLAFUZZ_PROPERTIES_LEDGER_FOREIGN_RIGHT_GATHER_H_
