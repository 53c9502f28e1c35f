// The decode test of vllm-project/vllm tests/v1/attention/
// test_sparse_mla_backends.py, up to its comparison: what two baselines share.
#ifndef MLAFUZZ_BASELINES_BACKEND_PROBLEM_H_
#define MLAFUZZ_BASELINES_BACKEND_PROBLEM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "baselines/baseline.h"

namespace mlafuzz::baselines {

// Requests with a context; each of the last tokens asks over the ones before.
struct BatchSpec {
  const char* name;
  std::vector<std::int32_t> seq_lens;
  std::vector<std::int32_t> query_lens;
};

struct BackendCase {
  BatchSpec spec;
  std::int64_t heads;  // of one rank, as run
};

// Batches times ranks of 128, 64 and 32 heads, of which a sixteenth is run.
std::vector<BackendCase> BackendCases();
inline constexpr int kBackendCases = 21;

inline constexpr int kQueryNope = 128;
inline constexpr int kValueColumns = 128;

// Attention of every query token, [tokens, heads, 512] bf16, and what is
// needed to compare it.
struct BackendOutcome {
  std::int64_t tokens = 0;
  std::vector<std::uint16_t> expected;
  std::vector<std::uint16_t> decoded;  // of the decode kernel, all tokens
  // What attention over the gathered workspace gives: the way of requests with
  // more than one query. Such tokens, and their attention in that order.
  std::vector<std::int64_t> prefill_tokens;
  std::vector<std::uint16_t> prefilled;
  // W_UV [heads, 512, 128], that a backend multiplies with.
  std::vector<float> up_values;
};

// Makes the case's calls: the writer for a round trip of all tokens (whose
// result is what the reference attends to), for the context and for the new
// tokens; index conversion, gather and decode. False if a call failed, which
// then is the run's end.
bool RunBackend(SuiteRun& run, Random& random, const BackendCase& c,
                BackendOutcome* outcome);

}  // namespace mlafuzz::baselines

#endif  // MLAFUZZ_BASELINES_BACKEND_PROBLEM_H_
