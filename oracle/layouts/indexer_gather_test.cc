#include "oracle/layouts/indexer_gather.h"

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"

namespace mlafuzz::oracle {
namespace {

using Bytes = std::vector<std::uint8_t>;

bool GatherPages(std::vector<std::int32_t> table,
                 std::vector<std::int32_t> starts, std::int64_t rows,
                 std::int64_t dst_stride, IndexerGatherFaults faults,
                 Bytes* codes, Bytes* scales) {
  const Bytes cache(2 * 132);
  return GatherIndexer({.layout = &kIndexer132,
                        .page_size = 1,
                        .page_stride = 132,
                        .cache = cache,
                        .table = table,
                        .table_width = 1,
                        .starts = starts,
                        .rows = rows,
                        .dst_stride = dst_stride},
                       faults, absl::MakeSpan(*codes), absl::MakeSpan(*scales));
}

TEST(GatherIndexer, WhereNothingFollowsTheOutputsStay) {
  const Bytes untouched(2 * 256, 0x5a), no_scales(2 * 4, 0x5a);
  Bytes codes = untouched, scales = no_scales;
  // A page outside of the cache.
  EXPECT_FALSE(GatherPages({2}, {0, 1}, 1, 128, {}, &codes, &scales));
  EXPECT_FALSE(GatherPages({-1}, {0, 1}, 1, 128, {}, &codes, &scales));
  // A second column of a table that has one.
  EXPECT_FALSE(GatherPages({1}, {0, 2}, 2, 128, {}, &codes, &scales));
  // A row of two requests.
  EXPECT_FALSE(
      GatherPages({0, 1, 0}, {0, 1, 0, 1}, 2, 128, {}, &codes, &scales));
  // Scales that the codes' stride sends past their tensor: the second row's
  // would lie at element 2.
  EXPECT_FALSE(GatherPages({0, 1}, {0, 1, 2}, 2, 256,
                           {.scales_by_code_stride = true}, &codes, &scales));
  EXPECT_EQ(codes, untouched);
  EXPECT_EQ(scales, no_scales);
  EXPECT_TRUE(GatherPages({0, 1}, {0, 1, 2}, 2, 256, {}, &codes, &scales));
}

}  // namespace
}  // namespace mlafuzz::oracle
