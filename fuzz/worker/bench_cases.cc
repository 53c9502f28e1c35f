#include "fuzz/worker/bench_cases.h"

namespace mlafuzz {

Case OneTokenWrite(std::uint64_t seed) {
  Case c;
  c.mutable_pool()->set_page_size(4);
  c.mutable_pool()->set_pages(2);
  Write& write = *c.add_steps()->mutable_write();
  write.mutable_slots()->add_values(5);
  write.set_pe_dim(64);
  write.mutable_kv_c()->set_pattern(Values::NORMAL_RANGE);
  write.mutable_kv_c()->set_seed(1 + seed);
  write.mutable_k_pe()->set_pattern(Values::NORMAL_RANGE);
  write.mutable_k_pe()->set_seed(seed);
  return c;
}

Case OneRowGather(std::uint64_t seed) {
  Case c;
  c.mutable_pool()->set_page_size(4);
  c.mutable_pool()->set_pages(2);
  c.mutable_pool()->mutable_fill()->set_kind(Fill::ROWS);
  c.mutable_pool()->mutable_fill()->set_seed(seed);
  Gather& gather = *c.add_steps()->mutable_gather();
  gather.mutable_block_table()->set_rows(1);
  gather.mutable_block_table()->set_columns(1);
  gather.mutable_block_table()->mutable_pages()->add_values(1);
  gather.add_workspace_starts(0);
  gather.set_dst_rows(1);
  return c;
}

Case WriteOf(std::uint32_t tokens, std::uint64_t seed) {
  if (tokens == 1) return OneTokenWrite(seed);
  Case c = OneTokenWrite(seed);
  c.mutable_pool()->set_page_size(64);
  c.mutable_pool()->set_pages((tokens + 63) / 64);
  Integers& slots = *c.mutable_steps(0)->mutable_write()->mutable_slots();
  slots.clear_values();
  slots.set_count(tokens);
  slots.set_order(Integers::PERMUTED);
  slots.set_seed(seed);
  return c;
}

Case GatherOf(std::uint32_t rows, std::uint64_t seed) {
  if (rows == 1) return OneRowGather(seed);
  Case c = OneRowGather(seed);
  const std::uint32_t pages = (rows + 63) / 64;
  c.mutable_pool()->set_page_size(64);
  c.mutable_pool()->set_pages(pages);
  Gather& gather = *c.mutable_steps(0)->mutable_gather();
  gather.mutable_block_table()->set_columns(pages);
  Integers& numbers = *gather.mutable_block_table()->mutable_pages();
  numbers.clear_values();
  numbers.set_count(pages);
  numbers.set_order(Integers::PERMUTED);
  numbers.set_seed(seed);
  gather.set_dst_rows(rows);
  return c;
}

Case OneRowConvert(std::uint32_t width, std::uint64_t seed) {
  Case c;
  c.mutable_pool()->set_page_size(4);
  c.mutable_pool()->set_pages(1);
  Convert& convert = *c.add_steps()->mutable_convert();
  convert.mutable_request_ids()->add_values(0);
  Indices& indices = *convert.mutable_token_indices();
  indices.set_rows(1);
  indices.set_width(width);
  indices.set_seed(seed);
  indices.set_valid(width / 4 * 3);
  indices.set_limit(64);
  Table& table = *convert.mutable_block_table();
  table.set_rows(1);
  table.set_columns(16);
  table.mutable_pages()->set_count(16);
  convert.set_valid_count(true);
  return c;
}

Case OneQueryDecode(std::uint32_t heads, std::uint32_t keys,
                    std::uint64_t seed) {
  Case c;
  c.mutable_pool()->set_page_size(64);
  c.mutable_pool()->set_pages((keys + 63) / 64);
  c.mutable_pool()->mutable_fill()->set_kind(Fill::FINITE_ROWS);
  c.mutable_pool()->mutable_fill()->set_seed(seed);
  Decode& decode = *c.add_steps()->mutable_decode();
  decode.set_queries(1);
  decode.set_heads(heads);
  decode.set_pe_dim(64);
  decode.mutable_q()->set_pattern(Values::NORMAL_RANGE);
  decode.mutable_q()->set_seed(seed);
  Indices& indices = *decode.mutable_indices();
  indices.set_rows(1);
  indices.set_width(keys);
  indices.set_seed(seed);
  indices.set_valid(keys);
  indices.set_limit(keys);
  decode.set_softmax_scale_bits(0x3d2aaaab);  // 576^-0.5
  return c;
}

}  // namespace mlafuzz
