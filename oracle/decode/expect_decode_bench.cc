// Cost of the oracle by keys and heads, one query: a campaign runs it for every
// decode, and a diagnosis some thirty times.
#include "benchmark/benchmark.h"
#include "corpus/contracts.h"
#include "corpus/image.h"
#include "oracle/decode/decode.h"

namespace mlafuzz {
namespace {

Case DecodeCase(int keys, int heads) {
  Case c;
  c.mutable_pool()->set_page_size(64);
  c.mutable_pool()->set_pages(2);
  c.mutable_pool()->mutable_fill()->set_kind(Fill::FINITE_ROWS);
  Decode& d = *c.add_steps()->mutable_decode();
  d.set_queries(1);
  d.set_heads(static_cast<std::uint32_t>(heads));
  d.set_pe_dim(64);
  d.mutable_q()->set_pattern(Values::NORMAL_RANGE);
  d.mutable_indices()->set_rows(1);
  d.mutable_indices()->set_width(static_cast<std::uint32_t>(keys));
  d.mutable_indices()->set_valid(static_cast<std::uint32_t>(keys));
  d.mutable_indices()->set_limit(128);
  d.set_softmax_scale_bits(0x3d2aaaab);
  return c;
}

void Run(benchmark::State& state, const Contract& contract) {
  const Case c = DecodeCase(static_cast<int>(state.range(0)),
                            static_cast<int>(state.range(1)));
  const absl::StatusOr<CaseImage> image = BuildImage(c);
  if (!image.ok()) {
    state.SkipWithError(std::string(image.status().message()).c_str());
    return;
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        ExpectDecode(contract, *image, 0, image->pool.bytes));
  }
}

void Bf16(benchmark::State& state) { Run(state, BuiltinContract()); }

void E4m3(benchmark::State& state) {
  Contract c = BuiltinContract();
  Arithmetic& a = *c.mutable_arithmetic();
  a.set_dequantised(Arithmetic::DEQUANTISED_CODES);
  a.set_query(Arithmetic::QUERY_E4M3);
  a.set_weights(Arithmetic::WEIGHTS_E4M3);
  Run(state, c);
}

void Mma(benchmark::State& state) {
  Contract c = BuiltinContract();
  c.mutable_arithmetic()->set_accumulator(Arithmetic::MMA);
  c.mutable_arithmetic()->set_accumulator_bits(26);
  Run(state, c);
}

void Sizes(benchmark::internal::Benchmark* b) {
  b->Unit(benchmark::kMicrosecond);
  for (int keys : {1, 64, 256, 2048}) b->Args({keys, 1});
  for (int heads : {8, 64}) b->Args({64, heads});
}

BENCHMARK(Bf16)->Apply(Sizes);
BENCHMARK(E4m3)->Apply(Sizes);
BENCHMARK(Mma)->Apply(Sizes);

}  // namespace
}  // namespace mlafuzz

BENCHMARK_MAIN();
