// The text of every refusal, on cases that a real caller could send.
#include "gtest/gtest.h"
#include "kernels/test_support.h"

namespace mlafuzz {
namespace {

struct Refusal {
  const char* text;     // the case
  const char* message;  // empty: taken
};

void ExpectRefusals(std::initializer_list<Refusal> refusals) {
  for (const Refusal& refusal : refusals) {
    SCOPED_TRACE(refusal.text);
    const CaseImage image = test::Image(test::ParseCase(refusal.text));
    const Observation seen = test::Run("builtin", image);
    const StepObservation& step = seen.steps.at(0);
    EXPECT_EQ(step.message, refusal.message);
    EXPECT_TRUE(step.strays.empty());
    if (refusal.message[0] == '\0') {
      EXPECT_EQ(step.status, CallStatus::kOk);
      continue;
    }
    EXPECT_EQ(step.status, CallStatus::kRefused);
    EXPECT_FALSE(step.pool.has_value());
    for (std::size_t i = 0; i < step.outputs.size(); ++i) {
      if (image.steps[0].tensors[i].output) {
        EXPECT_EQ(step.outputs[i], image.steps[0].tensors[i].bytes);
      }
    }
  }
}

TEST(HostChecks, Writer) {
  ExpectRefusals({
      {"pool { page_size: 1 pages: 1 } steps { write { pe_dim: 32 "
       "slots { values: 0 } } }",
       "pe_dim must be 0 or 64, got 32"},
      {"pool { page_size: 1 pages: 1 } steps { write { latent_dim: 256 "
       "pe_dim: 64 slots { values: 0 } } }",
       "kv_lora_rank must be 512, got 256"},
      {"pool { page_size: 1 pages: 1 row_bytes: 660 } steps { write { "
       "pe_dim: 64 slots { values: 0 } } }",
       "kv_cache row must be 656 bytes, got 660"},
      {"pool { page_size: 1 pages: 1 row_bytes: 584 } steps { write { "
       "pe_dim: 64 slots { values: 0 } } }",
       "kv_cache row must be 656 bytes, got 584: DSV4_FOOTER_584, not "
       "FP8_DS_MLA"},
      {"pool { page_size: 1 pages: 1 } steps { write { input: F32 "
       "pe_dim: 64 slots { values: 0 } } }",
       "kv_c must be bf16 or f16, got f32"},
      {"pool { page_size: 1 pages: 1 } steps { write { pe_dim: 64 "
       "slots { values: 0 } kv_c_offset: 4 } }",
       "kv_c must be 16-byte aligned, its first row is 8 bytes off"},
      {"pool { page_size: 1 pages: 2 } steps { write { pe_dim: 64 "
       "slots { values: [0, 1] } kv_c_row_stride: 514 } }",
       "kv_c row stride must be a multiple of 16 bytes, got 1028"},
      {"pool { page_size: 1 pages: 1 } steps { write { pe_dim: 64 "
       "slots { values: 0 } k_pe_offset: 1 } }",
       "k_pe must be 4-byte aligned, its first row is 2 bytes off"},
      {"pool { page_size: 1 pages: 2 } steps { write { pe_dim: 64 "
       "slots { values: [0, 1] } k_pe_row_stride: 65 } }",
       "k_pe row stride must be a multiple of 4 bytes, got 130"},
      {"pool { page_size: 1 pages: 1 offset: 4 } steps { write { pe_dim: 64 "
       "slots { values: 0 } } }",
       "kv_cache must be 8-byte aligned, its first row is 4 bytes off"},
      {"pool { page_size: 2 pages: 1 row_stride: 660 } steps { write { "
       "pe_dim: 64 slots { values: 0 } } }",
       "kv_cache row stride must be a multiple of 8 bytes, got 660"},
      {"pool { page_size: 1 pages: 2 page_stride: 668 } steps { write { "
       "pe_dim: 64 slots { values: 0 } } }",
       "kv_cache page stride must be a multiple of 8 bytes, got 668"},
      {"pool { page_size: 1 pages: 2 } steps { write { pe_dim: 64 "
       "slots { values: [0, 1] } surplus_rows: -1 } }",
       "kv_c has 1 rows, slot_mapping 2"},
      {"pool { page_size: 2 pages: 2 row_stride: 640 } steps { write { "
       "pe_dim: 64 slots { values: 0 } } }",
       "kv_cache rows overlap: 656 bytes each, stride 640"},
      {"pool { page_size: 2 pages: 2 page_stride: 1304 } steps { write { "
       "pe_dim: 64 slots { values: 0 } } }",
       "kv_cache pages overlap: 1312 bytes each, stride 1304"},
      // Also where there is nothing to do.
      {"pool { page_size: 1 pages: 1 } steps { write { pe_dim: 63 } }",
       "pe_dim must be 0 or 64, got 63"},
      // A stride that is never used.
      {"pool { page_size: 1 pages: 1 row_stride: 660 page_stride: 660 } steps "
       "{ write { pe_dim: 64 slots { values: 0 } kv_c_row_stride: 513 } }",
       ""},
  });
}

TEST(HostChecks, Gather) {
  ExpectRefusals({
      {"pool { page_size: 1 pages: 1 } steps { gather { dst_rows: 1 "
       "dst_columns: 512 workspace_starts: 0 "
       "block_table { rows: 1 columns: 1 } } }",
       "dst must have 576 columns, got 512"},
      {"pool { page_size: 1 pages: 1 } steps { gather { dst_rows: 1 "
       "output: F16 workspace_starts: 0 "
       "block_table { rows: 1 columns: 1 } } }",
       "dst must be bf16, got f16"},
      {"pool { page_size: 1 pages: 1 row_bytes: 528 } steps { gather { "
       "dst_rows: 1 workspace_starts: 0 "
       "block_table { rows: 1 columns: 1 } } }",
       "kv_cache row must be 656 bytes, got 528: NOPE_ROW_528 or "
       "DSV4_1_FOOTER_528, not FP8_DS_MLA"},
      {"pool { page_size: 2 pages: 1 row_bytes: 584 } steps { gather { "
       "dst_rows: 1 workspace_starts: 0 "
       "block_table { rows: 1 columns: 1 } } }",
       "kv_cache row must be 656 bytes, got 584: DSV4_FOOTER_584, not "
       "FP8_DS_MLA"},
      {"pool { page_size: 1 pages: 1 } steps { gather { dst_rows: 1 "
       "workspace_starts: [0, 1, 1] block_table { rows: 2 columns: 1 } } }",
       "workspace_starts has 3 rows, block_table 2"},
      {"pool { page_size: 1 pages: 1 } steps { gather { dst_rows: 1 "
       "workspace_starts: 0 seq_lens: [1, 1] "
       "block_table { rows: 1 columns: 1 } } }",
       "seq_lens has 2 rows, block_table 1"},
      {"pool { page_size: 1 pages: 1 } steps { gather { dst_rows: 1 "
       "workspace_starts: 0 seq_starts: [1, 1] "
       "block_table { rows: 1 columns: 1 } } }",
       "seq_starts has 2 rows, block_table 1"},
      {"pool { page_size: 1 pages: 1 offset: 2 } steps { gather { dst_rows: 1 "
       "workspace_starts: 0 block_table { rows: 1 columns: 1 } } }",
       "kv_cache must be 8-byte aligned, its first row is 2 bytes off"},
      {"pool { page_size: 1 pages: 1 } steps { gather { dst_rows: 2 "
       "dst_row_stride: 580 workspace_starts: 0 "
       "block_table { rows: 1 columns: 1 } } }",
       "dst row stride must be a multiple of 16 bytes, got 1160"},
      {"pool { page_size: 1 pages: 1 } steps { gather { dst_rows: 2 "
       "dst_row_stride: 568 workspace_starts: 0 "
       "block_table { rows: 1 columns: 1 } } }",
       "dst rows overlap: 576 columns, stride 568"},
  });
}

TEST(HostChecks, Convert) {
  ExpectRefusals({
      {"pool { page_size: 1 pages: 1 } steps { convert { "
       "request_ids { values: [0, 0] } surplus_requests: 1 "
       "block_table { rows: 1 columns: 1 } "
       "token_indices { rows: 2 width: 3 } } }",
       "request_ids has 3 rows, token_indices 2"},
      {"pool { page_size: 1 pages: 1 } steps { convert { "
       "request_ids { values: [0, 0] } surplus_requests: -1 "
       "block_table { rows: 1 columns: 1 } "
       "token_indices { rows: 2 width: 3 } } }",
       "request_ids has 1 rows, token_indices 2"},
  });
}

}  // namespace
}  // namespace mlafuzz
