#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/call_args.h"
#include "kernels/case_checks.h"
#include "kernels/test_support.h"
#include "kernels/workspace_call.h"

namespace mlafuzz {
namespace {

using test::Converted;

Converted Convert(const std::string& text) {
  return test::Convert("builtin:workspace", text);
}

// Rows 0 and 2 are prefills, row 1 a decode; token 8 is past the table.
TEST(Workspace, PrefillRowsAddressIt) {
  const Converted got = Convert(R"pb(
    pool { page_size: 4 pages: 9 }
    steps {
      convert {
        request_ids { values: [ 1, 0, 1 ] }
        block_table {
          rows: 2
          columns: 2
          pages { values: [ 7, 2, 5, 0 ] }
        }
        token_indices {
          rows: 3
          width: 3
          set { at: 0 value: 0 }
          set { at: 1 value: 7 }
          set { at: 2 value: 8 }
          set { at: 3 value: 5 }
          set { at: 4 value: 0 }
          set { at: 6 value: 3 }
          set { at: 7 value: -1 }
          set { at: 8 value: -9 }
        }
        valid_count: true
        prefill_request_ids: [ 1, -1, 0 ]
        prefill_workspace_starts: [ 1000, 70 ]
      }
    })pb");
  EXPECT_EQ(got.out, (std::vector<std::int32_t>{70, 77, -1,  //
                                                9, 28, -1,   //
                                                1003, -1, -1}));
  EXPECT_EQ(got.valid_count, (std::vector<std::int32_t>{2, 2, 1}));
}

// Page times page size, plus the place in the page: the last slot of int32 is
// one, what lies behind it and in front of 0 is none.
TEST(Workspace, NoSlotPastInt32) {
  const Converted got = Convert(R"pb(
    pool { page_size: 64 pages: 1 }
    steps {
      convert {
        request_ids { values: 0 }
        block_table {
          rows: 1
          columns: 6
          pages {
            values: [ 33554431, 33554432, 67108863, 2147483647, -1, -33554432 ]
          }
        }
        token_indices {
          rows: 1
          width: 6
          set { at: 0 value: 63 }
          set { at: 1 value: 64 }
          set { at: 2 value: 128 }
          set { at: 3 value: 192 }
          set { at: 4 value: 256 }
          set { at: 5 value: 320 }
        }
        valid_count: true
      }
    })pb");
  EXPECT_EQ(got.out,
            (std::vector<std::int32_t>{2147483647, -1, -1, -1, -1, -1}));
  EXPECT_EQ(got.valid_count, (std::vector<std::int32_t>{1}));
}

TEST(Workspace, BothListsOrNeither) {
  const CaseImage image = test::Image(test::ParseCase(R"pb(
    pool { page_size: 4 pages: 9 }
    steps {
      convert {
        request_ids { values: 0 }
        block_table {
          rows: 1
          columns: 1
          pages { values: 7 }
        }
        token_indices { rows: 1 width: 1 }
        prefill_request_ids: 0
        prefill_workspace_starts: 5
      }
    })pb"));
  for (const TensorId missing :
       {TensorId::kPrefillIds, TensorId::kPrefillStarts}) {
    StepImage step = image.steps[0];
    std::erase_if(step.tensors,
                  [&](const Tensor& t) { return t.id == missing; });
    std::vector<std::uint8_t*> data;
    for (Tensor& t : step.tensors) data.push_back(t.bytes.data());
    std::vector<std::uint8_t> cache(image.pool.bytes.begin(),
                                    image.pool.bytes.end());
    const CallResult result =
        CallArgs(image.pool, cache.data(), step, data, {kDLCPU, 0})
            .Call(test::Targets("builtin:workspace").For(Kernel::kConvert), {});
    EXPECT_EQ(result.status, CallStatus::kRefused);
    EXPECT_NE(result.message.find(TensorName(missing)), std::string::npos)
        << result.message;
  }
}

}  // namespace
}  // namespace mlafuzz
