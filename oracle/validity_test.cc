#include "oracle/validity.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "corpus/codec.h"
#include "corpus/contracts.h"
#include "corpus/image.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

constexpr char kPool[] = "pool { page_size: 4 pages: 3 } ";

// "valid", "boundary:RULE", "invalid:RULE" or "unspecified:RULE".
std::string ClassOf(const Contract& contract, const std::string& text) {
  const absl::StatusOr<Case> c = ParseCaseText(text);
  if (!c.ok()) return std::string(c.status().message());
  const absl::StatusOr<CaseImage> image = BuildImage(*c);
  if (!image.ok()) return std::string(image.status().message());
  const StepValidity v = Classify(contract, *image, 0);
  EXPECT_EQ(v.rule.empty(), v.validity == Validity::kValid);
  EXPECT_EQ(v.reason.empty(), v.rule.empty());
  return v.rule.empty() ? ValidityName(v.validity)
                        : absl::StrCat(ValidityName(v.validity), ":", v.rule);
}

std::string Write(const std::string& fields,
                  const Contract& contract = BuiltinContract(),
                  const std::string& pool = kPool) {
  return ClassOf(contract,
                 absl::StrCat(pool, "steps { write { ", fields, " } }"));
}
std::string Gather(const std::string& fields,
                   const Contract& contract = BuiltinContract(),
                   const std::string& pool = kPool) {
  return ClassOf(contract,
                 absl::StrCat(pool, "steps { gather { ", fields, " } }"));
}
std::string Convert(const std::string& fields,
                    const Contract& contract = BuiltinContract()) {
  return ClassOf(contract,
                 absl::StrCat(kPool, "steps { convert { ", fields, " } }"));
}

TEST(Validity, WriterShapes) {
  const std::string slots = "slots { values: [1, 2] } ";
  EXPECT_EQ(Write(slots + "pe_dim: 64"), "valid");
  EXPECT_EQ(Write(slots), "valid");
  EXPECT_EQ(Write(slots, VllmContract()), "invalid:writer.pe_dim");
  EXPECT_EQ(Write(slots + "pe_dim: 32"), "invalid:writer.pe_dim");
  EXPECT_EQ(Write(slots + "latent_dim: 256"), "invalid:writer.latent_dim");
  EXPECT_EQ(Write(slots + "input: F16"), "valid");
  EXPECT_EQ(Write(slots + "input: F32"), "invalid:writer.input_dtype");
  EXPECT_EQ(Write(slots + "surplus_rows: 3"), "valid");
  EXPECT_EQ(Write(slots + "surplus_rows: -1"), "invalid:writer.source_rows");
  EXPECT_EQ(Write(slots + "pe_dim: 64 surplus_rows: -1", VllmContract()),
            "unspecified:writer.source_rows");
  const std::string wide = "pool { page_size: 4 pages: 3 row_bytes: 660 } ";
  EXPECT_EQ(Write(slots, BuiltinContract(), wide), "invalid:writer.row_bytes");
}

TEST(Validity, WriterPlacement) {
  const std::string slots = "slots { values: [1, 2] } pe_dim: 64 ";
  EXPECT_EQ(Write(slots + "kv_c_row_stride: 520"), "valid");
  EXPECT_EQ(Write(slots + "kv_c_row_stride: 516"), "invalid:writer.alignment");
  EXPECT_EQ(Write(slots + "kv_c_offset: 8"), "valid");
  EXPECT_EQ(Write(slots + "kv_c_offset: 4"), "invalid:writer.alignment");
  EXPECT_EQ(Write(slots + "kv_c_offset: 4", VllmContract()),
            "unspecified:writer.alignment");
  EXPECT_EQ(Write(slots + "k_pe_row_stride: 66"), "valid");
  EXPECT_EQ(Write(slots + "k_pe_row_stride: 65"), "invalid:writer.alignment");
  EXPECT_EQ(Write(slots + "k_pe_offset: 1"), "invalid:writer.alignment");
  // A stride that separates nothing does not count.
  EXPECT_EQ(Write("slots { values: 1 } kv_c_row_stride: 516"), "valid");
  const Contract b = BuiltinContract();
  EXPECT_EQ(Write(slots, b, "pool { page_size: 4 pages: 3 row_stride: 660 } "),
            "invalid:writer.alignment");
  EXPECT_EQ(Write(slots, b, "pool { page_size: 4 pages: 3 row_stride: 664 } "),
            "valid");
  EXPECT_EQ(
      Write(slots, b, "pool { page_size: 4 pages: 3 page_stride: 2628 } "),
      "invalid:writer.alignment");
  EXPECT_EQ(Write(slots, b, "pool { page_size: 4 pages: 3 offset: 4 } "),
            "invalid:writer.alignment");
  EXPECT_EQ(
      Write(slots, b, "pool { page_size: 4 pages: 3 page_stride: 2616 } "),
      "invalid:writer.overlap");
  EXPECT_EQ(Write("slots { values: 0 }", b,
                  "pool { page_size: 1 pages: 1 row_stride: 660 } "),
            "valid");
}

TEST(Validity, WriterSlots) {
  const std::string rest = " } pe_dim: 64";
  EXPECT_EQ(Write("slots { values: [0, 11]" + rest), "valid");
  EXPECT_EQ(Write("slots { values: [0, -7]" + rest), "valid");
  EXPECT_EQ(Write("slots { values: [-1, -7]" + rest),
            "boundary:writer.all_skipped");
  EXPECT_EQ(Write("slots {" + rest), "boundary:writer.zero_tokens");
  EXPECT_EQ(Write("slots {" + rest, VllmContract()),
            "unspecified:writer.zero_tokens");
  EXPECT_EQ(Write("slots { values: [0, 12]" + rest),
            "unspecified:writer.slot_past_pool");
  EXPECT_EQ(Write("slots { values: [3, 0, 3]" + rest),
            "unspecified:writer.duplicate_slots");
  EXPECT_EQ(Write("slots { values: [-1, -1, 0]" + rest), "valid");
  Contract c = BuiltinContract();
  c.mutable_writer()->set_duplicates(WriterContract::LAST_WINS);
  EXPECT_EQ(Write("slots { values: [3, 0, 3]" + rest, c), "valid");
  c.mutable_writer()->set_slots(WriterContract::MINUS_ONE_SKIPPED);
  EXPECT_EQ(Write("slots { values: [3, -1]" + rest, c), "valid");
  EXPECT_EQ(Write("slots { values: [3, -2]" + rest, c),
            "unspecified:writer.negative_slot");
  // Unspecified beats invalid.
  EXPECT_EQ(Write("slots { values: 12 } pe_dim: 32"),
            "unspecified:writer.slot_past_pool");
}

TEST(Validity, GatherShapes) {
  const std::string table =
      "block_table { rows: 1 columns: 2 pages { values: [2, 0] } } "
      "workspace_starts: 0 dst_rows: 8 ";
  EXPECT_EQ(Gather(table), "valid");
  EXPECT_EQ(Gather(table + "dst_columns: 512"), "invalid:gather.dst_columns");
  EXPECT_EQ(Gather(table + "output: F16"), "invalid:gather.dst_dtype");
  EXPECT_EQ(Gather(table + "seq_lens: 4"), "valid");
  EXPECT_EQ(Gather(table + "seq_lens: -4"), "boundary:gather.empty_request");
  EXPECT_EQ(Gather(table + "seq_lens: 4", VllmContract()),
            "unspecified:gather.lengths");
  EXPECT_EQ(Gather(table + "seq_lens: 9"), "unspecified:gather.rows_past_dst");
  EXPECT_EQ(Gather(table + "seq_starts: [0, 0]"), "invalid:gather.batch");
  EXPECT_EQ(Gather(table + "seq_starts: [0, 0]", VllmContract()),
            "unspecified:gather.batch");
  EXPECT_EQ(Gather(table + "dst_row_stride: 580"), "invalid:gather.alignment");
  EXPECT_EQ(Gather(table + "dst_row_stride: 568"), "invalid:gather.overlap");
  EXPECT_EQ(Gather(table + "dst_row_stride: 584"), "valid");
  EXPECT_EQ(Gather(table, BuiltinContract(),
                   "pool { page_size: 4 pages: 3 row_bytes: 664 } "),
            "invalid:gather.row_bytes");
  EXPECT_EQ(Gather("block_table { rows: 1 columns: 1 } workspace_starts: 0"),
            "boundary:gather.zero_rows");
  EXPECT_EQ(Gather("dst_rows: 3"), "boundary:gather.zero_requests");
}

TEST(Validity, GatherRequests) {
  const std::string two =
      "block_table { rows: 2 columns: 2 pages { values: [2, 0, 1, -1] } } ";
  EXPECT_EQ(Gather(two + "workspace_starts: [0, 8] dst_rows: 12"), "valid");
  EXPECT_EQ(Gather(two + "workspace_starts: [2, 8] dst_rows: 12"), "valid");
  EXPECT_EQ(Gather(two + "workspace_starts: [0, 8] dst_rows: 8"),
            "boundary:gather.empty_request");
  EXPECT_EQ(Gather(two + "workspace_starts: [0, 9] dst_rows: 8"),
            "boundary:gather.empty_request");
  EXPECT_EQ(Gather(two + "workspace_starts: [0, 7] dst_rows: 12"),
            "unspecified:gather.page_id");
  EXPECT_EQ(Gather(two + "workspace_starts: [-1, 4] dst_rows: 8"),
            "unspecified:gather.negative_start");
  EXPECT_EQ(Gather(two + "workspace_starts: [0, 4] seq_starts: [-1, 0] "
                         "dst_rows: 8"),
            "unspecified:gather.negative_seq_start");
  EXPECT_EQ(Gather(two + "workspace_starts: [0, 9] dst_rows: 12"),
            "unspecified:gather.table_columns");
  Contract c = BuiltinContract();
  c.mutable_gather()->set_table_columns(GatherContract::TABLE_COLUMNS_SKIPPED);
  EXPECT_EQ(Gather(two + "workspace_starts: [0, 9] dst_rows: 12", c),
            "boundary:gather.table_columns");
  EXPECT_EQ(Gather(two + "workspace_starts: [0, 2147483647] seq_lens: [2, 0] "
                         "seq_starts: [2147483646, 0] dst_rows: 4",
                   c),
            "unspecified:gather.position_overflow");
}

// Where the contract leaves starts past the end to the caller.
TEST(Validity, GatherStartsPastTheEnd) {
  Contract c = BuiltinContract();
  c.mutable_gather()->set_starts_past_end(GatherContract::STARTS_UNCHECKED);
  const std::string two =
      "block_table { rows: 2 columns: 3 pages { values: [2, 0, 1, 1, 2, 0] } } "
      "dst_rows: 8 workspace_starts: ";
  EXPECT_EQ(Gather(two + "[0, 9]"), "boundary:gather.empty_request");
  EXPECT_EQ(Gather(two + "[0, 9]", VllmContract()),
            "boundary:gather.empty_request");
  EXPECT_EQ(Gather(two + "[0, 9]", c), "unspecified:gather.rows_past_dst");
  // Nothing is written on the way to them.
  EXPECT_EQ(Gather(two + "[9, 0]", c), "boundary:gather.empty_request");
  EXPECT_EQ(Gather(two + "[0, 8]", c), "boundary:gather.empty_request");
  EXPECT_EQ(Gather(two + "[0, 900] seq_lens: [8, 0]", c),
            "boundary:gather.empty_request");
  // A start that nobody uses, and lengths that mean no rows.
  EXPECT_EQ(Gather(two + "[0, -5] seq_lens: [8, -2147483648]"),
            "boundary:gather.empty_request");
  EXPECT_EQ(Gather(two + "[4, 0] seq_lens: [4, 4]"), "valid");
}

TEST(Validity, GatherOverlapsAndTasks) {
  // Starts that go backwards: requests 0 and 2 share rows.
  const std::string shape =
      "workspace_starts: [0, 8, 0, 8] dst_rows: 12 block_table { rows: 4 "
      "columns: 2 pages { values: ";
  Contract every = BuiltinContract();
  every.mutable_gather()->set_page_tasks(GatherContract::EVERY_PAGE);
  EXPECT_EQ(Gather(shape + "[0, 1, 2, 2, 0, 1, 2] } }", every),
            "boundary:gather.empty_request");
  EXPECT_EQ(Gather(shape + "[0, 1, 2, 2, 0, 2, 2] } }", every),
            "unspecified:gather.overlapping_requests");
  Contract few = BuiltinContract();
  few.mutable_gather()->set_page_tasks(GatherContract::ROWS_ONLY);
  EXPECT_EQ(Gather(shape + "[0, 1, 2, 2, 0, 1, 2] } }", few),
            "unspecified:gather.page_tasks");
}

TEST(Validity, Convert) {
  const std::string table =
      "block_table { rows: 2 columns: 2 pages { values: [2, 0, 1, 7] } } ";
  const std::string ids = "request_ids { values: [0, 1] } ";
  const std::string good =
      "token_indices { rows: 2 width: 3 set { at: 0 value: 7 } set { at: 3 "
      "value: 2 } ";
  EXPECT_EQ(Convert(table + ids + good + "}"), "valid");
  EXPECT_EQ(Convert(table + ids + good + "set { at: 1 value: 8 } }"), "valid");
  EXPECT_EQ(Convert(table + ids + "token_indices { rows: 2 width: 3 }"),
            "boundary:convert.all_invalid");
  EXPECT_EQ(Convert(table), "boundary:convert.zero_rows");
  EXPECT_EQ(Convert(table + ids + good + "set { at: 4 value: 5 } }"),
            "unspecified:convert.page_id");
  EXPECT_EQ(Convert(table + "request_ids { values: [0, 2] } " + good + "}"),
            "unspecified:convert.request_id");
  EXPECT_EQ(Convert(table + ids + good + "} surplus_requests: 1"),
            "invalid:convert.tokens");
  EXPECT_EQ(Convert(table + ids + good + "}", VllmContract()),
            "invalid:convert.width");
  Contract c = BuiltinContract();
  c.mutable_convert()->set_requests(ConvertContract::REQUESTS_INVALID);
  EXPECT_EQ(Convert(table + "request_ids { values: [0, 2] } " + good + "}", c),
            "boundary:convert.request_id");
  c.mutable_convert()->set_table_columns(ConvertContract::COLUMNS_UNCHECKED);
  EXPECT_EQ(Convert(table + ids + good + "set { at: 1 value: 8 } }", c),
            "unspecified:convert.table_columns");
  c.mutable_convert()->set_negative(ConvertContract::MINUS_ONE_ONLY);
  EXPECT_EQ(Convert(table + ids + good + "set { at: 1 value: -2 } }", c),
            "valid");
  EXPECT_EQ(Convert(table + ids + good + "set { at: 1 value: -9 } }", c),
            "unspecified:convert.negative_index");
}

TEST(Validity, ConvertWithAWorkspace) {
  const std::string call =
      "block_table { rows: 2 columns: 2 pages { values: [1, 2, 0, 1] } } "
      "request_ids { values: [0, 1] } token_indices { rows: 2 width: 2 valid: "
      "2 limit: 8 } prefill_workspace_starts: [0, 9] ";
  const std::string rows = "prefill_request_ids: [1, -1]";
  EXPECT_EQ(Convert(call + rows), "unspecified:convert.workspace");
  Contract c = BuiltinContract();
  c.mutable_convert()->set_workspace(ConvertContract::WORKSPACE_WITHIN_TABLE);
  EXPECT_EQ(Convert(call + rows, c), "valid");
  EXPECT_EQ(Convert(call + "prefill_request_ids: 2", c),
            "unspecified:convert.prefill_request");
  EXPECT_EQ(Convert(call + "prefill_request_ids: [1, -1, 0]", c),
            "steps[0].convert.prefill_request_ids: 3 for 2 rows");
}

TEST(Validity, PagesPastThePool) {
  const std::string call =
      "block_table { rows: 1 columns: 1 pages { values: 536870912 } } "
      "request_ids { values: 0 } token_indices { rows: 1 width: 1 valid: 1 "
      "limit: 1 }";
  EXPECT_EQ(Convert(call), "unspecified:convert.page_id");
  Contract c = BuiltinContract();
  c.mutable_convert()->set_pages(ConvertContract::PAGES_FITTING);
  EXPECT_EQ(Convert(call, c), "boundary:convert.all_invalid");
  c.mutable_convert()->set_pages(ConvertContract::PAGES_WRAPPED);
  EXPECT_EQ(Convert(call, c), "valid");
}

TEST(Validity, GatherOfOtherRows) {
  const std::string call =
      "block_table { rows: 1 columns: 1 pages { values: 0 } } "
      "workspace_starts: 0 dst_rows: 2 ";
  Contract bytes = BuiltinContract();
  bytes.mutable_gather()->set_rows(GatherContract::ROWS_BYTES);
  EXPECT_EQ(Gather(call + "output: U8 dst_columns: 656", bytes), "valid");
  EXPECT_EQ(Gather(call + "output: U8 dst_columns: 656"),
            "invalid:gather.dst_columns");
  EXPECT_EQ(Gather(call, bytes), "invalid:gather.dst_columns");
  Contract one = BuiltinContract();
  one.mutable_gather()->set_rows(GatherContract::ROWS_ONE_SCALE);
  const std::string narrow = "pool { page_size: 4 pages: 3 row_bytes: 576 } ";
  const std::string scale = "tensor_scale_bits: 0x3f800000";
  EXPECT_EQ(Gather(call + scale, one, narrow), "valid");
  EXPECT_EQ(Gather(call + scale, one), "invalid:gather.row_bytes");
  EXPECT_EQ(Gather(call, one, narrow), "unspecified:gather.tensor_scale");
}

TEST(Validity, WriterOfFp32) {
  Contract c = BuiltinContract();
  c.mutable_writer()->clear_inputs();
  c.mutable_writer()->add_inputs(F32);
  EXPECT_EQ(Write("slots { values: 1 } input: F32", c), "valid");
  EXPECT_EQ(Write("slots { values: 1 }", c), "invalid:writer.input_dtype");
}

}  // namespace
}  // namespace mlafuzz
