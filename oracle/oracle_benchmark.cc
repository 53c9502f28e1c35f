// What judging costs a fuzzing run: one call on a small pool.
#include <cstdlib>
#include <iostream>
#include <string>

#include "benchmark/benchmark.h"
#include "corpus/codec.h"
#include "corpus/contracts.h"
#include "corpus/image.h"
#include "oracle/expect.h"
#include "oracle/imagined.h"
#include "oracle/judge.h"
#include "oracle/validity.h"

namespace mlafuzz {
namespace {

constexpr char kWrite[] = R"(
  pool { page_size: 16 pages: 4 }
  steps { write { slots { values: 9 } pe_dim: 64
                  kv_c { pattern: NORMAL_RANGE } } })";
constexpr char kGather[] = R"(
  pool { page_size: 16 pages: 4 fill { kind: ROWS } }
  steps { gather { block_table { rows: 1 columns: 1 pages { values: 2 } }
                   workspace_starts: 0 dst_rows: 1 } })";
constexpr char kConvert[] = R"(
  pool { page_size: 16 pages: 4 }
  steps { convert { request_ids { values: 0 }
                    block_table { rows: 1 columns: 4 pages { count: 4 } }
                    token_indices { rows: 1 width: 64 valid: 50 limit: 64 } } })";

struct Prepared {
  explicit Prepared(const char* text) {
    absl::StatusOr<Case> c = ParseCaseText(text);
    if (!c.ok()) {
      std::cerr << c.status() << "\n";
      std::exit(1);
    }
    source = *c;
    image = *BuildImage(source);
    seen = Imagine(contract, image);
  }
  Contract contract = BuiltinContract();
  Case source;
  CaseImage image;
  Observation seen;
};

void BM_Expect(benchmark::State& state, const char* text) {
  const Prepared p(text);
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        Expect(p.contract, p.image, 0, p.image.pool.bytes));
  }
}
void BM_Classify(benchmark::State& state, const char* text) {
  const Prepared p(text);
  for (auto _ : state) {
    benchmark::DoNotOptimize(Classify(p.contract, p.image, 0));
  }
}
void BM_Judge(benchmark::State& state, const char* text) {
  const Prepared p(text);
  const Contracts contracts = {&p.contract, &p.contract, &p.contract,
                               &p.contract};
  for (auto _ : state) {
    benchmark::DoNotOptimize(Judge(contracts, p.image, p.seen));
  }
}

BENCHMARK_CAPTURE(BM_Expect, write, kWrite);
BENCHMARK_CAPTURE(BM_Expect, gather, kGather);
BENCHMARK_CAPTURE(BM_Expect, convert, kConvert);
BENCHMARK_CAPTURE(BM_Classify, write, kWrite);
BENCHMARK_CAPTURE(BM_Classify, gather, kGather);
BENCHMARK_CAPTURE(BM_Classify, convert, kConvert);
BENCHMARK_CAPTURE(BM_Judge, write, kWrite);
BENCHMARK_CAPTURE(BM_Judge, gather, kGather);
BENCHMARK_CAPTURE(BM_Judge, convert, kConvert);

}  // namespace
}  // namespace mlafuzz

BENCHMARK_MAIN();
