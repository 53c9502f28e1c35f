#include "baselines/backend_problem.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "baselines/formats.h"
#include "baselines/rows.h"

namespace mlafuzz::baselines {
namespace {

constexpr std::int64_t kPageSize = 64;
constexpr std::int64_t kWidth = 128;
constexpr std::uint16_t kNan = 0x7fc0;

std::vector<std::uint16_t> UniformBf16(Random& random, std::size_t count) {
  std::vector<std::uint16_t> values(count);
  for (std::uint16_t& value : values) value = ToBf16(random.Uniform());
  return values;
}

// Rows of one request.
struct Tokens {
  std::vector<std::uint16_t> kv_c;  // [n, 512]
  std::vector<std::uint16_t> k_pe;  // [n, 64]
};

std::string Write(Calls& calls, const Tokens& tokens, std::size_t first,
                  std::size_t count, std::int64_t first_slot, PoolImage* pool) {
  std::vector<std::int64_t> slots;
  for (std::size_t i = 0; i < count; ++i) {
    slots.push_back(first_slot + static_cast<std::int64_t>(i));
  }
  return calls.Write(
      absl::MakeConstSpan(tokens.kv_c)
          .subspan(first * kLatent, count * kLatent),
      absl::MakeConstSpan(tokens.k_pe).subspan(first * kRope, count * kRope),
      slots, pool);
}

std::int64_t PagesOf(std::int64_t tokens) {
  return (tokens + kPageSize - 1) / kPageSize;
}

// What the cache makes of the tokens: written and read back, through fp16.
std::string RoundTrip(Calls& calls, Tokens* tokens) {
  const std::size_t count = tokens->kv_c.size() / kLatent;
  PoolImage pool =
      EmptyPool(PagesOf(static_cast<std::int64_t>(count)), kPageSize);
  std::string why = Write(calls, *tokens, 0, count, 0, &pool);
  for (std::size_t i = 0; why.empty() && i < count; ++i) {
    float values[kColumns];
    const std::uint8_t* const row = &pool.bytes[static_cast<std::size_t>(
        pool.RowAt(static_cast<std::int64_t>(i)))];
    UnpackRow(row, Through::kFp16, values);
    for (std::size_t c = 0; c < kLatent; ++c) {
      tokens->kv_c[i * kLatent + c] = ToBf16(values[c]);
    }
    std::memcpy(&tokens->k_pe[i * kRope], row + kLatent + 4 * kTiles,
                2 * kRope);
  }
  return why;
}

// The latent part of a query: its 128 columns times W_UK [heads, 512, 128].
void Absorb(const std::uint16_t* q, const float* up_keys, std::uint16_t* out) {
  float values[kQueryNope];
  for (int i = 0; i < kQueryNope; ++i) values[i] = FromBf16(q[i]);
  for (int l = 0; l < kLatent; ++l) {
    float sums[8] = {};
    for (int i = 0; i < kQueryNope; i += 8) {
      for (int lane = 0; lane < 8; ++lane) {
        sums[lane] += values[i + lane] * up_keys[l * kQueryNope + i + lane];
      }
    }
    float sum = 0;
    for (const float part : sums) sum += part;
    out[l] = ToBf16(sum);
  }
}

std::vector<float> Floats(const std::vector<std::uint16_t>& bf16) {
  std::vector<float> values;
  values.reserve(bf16.size());
  for (const std::uint16_t bits : bf16) values.push_back(FromBf16(bits));
  return values;
}

// A batch laid out in pages: block 0 is nobody's, requests follow in order.
struct Layout {
  std::vector<std::int64_t> first_page;  // of each request
  std::int64_t pages = 1;
  Table table;
};

Layout LayOut(const BatchSpec& spec) {
  Layout layout;
  layout.table.rows = static_cast<std::int64_t>(spec.seq_lens.size());
  for (const std::int32_t length : spec.seq_lens) {
    layout.first_page.push_back(layout.pages);
    layout.pages += PagesOf(length);
    layout.table.columns = std::max(layout.table.columns, PagesOf(length));
  }
  layout.table.pages.assign(
      static_cast<std::size_t>(layout.table.rows * layout.table.columns), 0);
  for (std::size_t r = 0; r < spec.seq_lens.size(); ++r) {
    for (std::int64_t i = 0; i < PagesOf(spec.seq_lens[r]); ++i) {
      layout.table.pages[r * static_cast<std::size_t>(layout.table.columns) +
                         static_cast<std::size_t>(i)] =
          static_cast<std::int32_t>(layout.first_page[r] + i);
    }
  }
  return layout;
}

// Candidates of a token at `position`: half the buffer at most, each token's
// from another offset on, the rest -1.
void AppendCandidates(std::int64_t token, std::int32_t position,
                      std::vector<std::int32_t>* out) {
  const std::int64_t valid = std::min<std::int64_t>(kWidth / 2, position + 1);
  for (std::int64_t i = 0; i < kWidth; ++i) {
    out->push_back(
        i < valid ? static_cast<std::int32_t>((i + token * 7) % (position + 1))
                  : -1);
  }
}

}  // namespace

std::vector<BackendCase> BackendCases() {
  const BatchSpec kSpecs[] = {
      {"mixed_small", {32, 40, 48, 56}, {1, 1, 5, 5}},
      {"mixed_medium", {512, 1024, 2048, 512, 1024, 2048}, {1, 1, 1, 7, 7, 7}},
      {"small_prefill", {32, 40}, {8, 8}},
      {"medium_prefill", {256, 512, 1024, 2048}, {16, 16, 16, 16}},
      {"single_prefill", {1024}, {64}},
      {"large_q_prefill", {1024, 1024}, {256, 256}},
      {"large_q_pure_prefill", {256, 256}, {256, 256}},
  };
  std::vector<BackendCase> cases;
  for (const BatchSpec& spec : kSpecs) {
    for (const std::int64_t ranks : {1, 2, 4}) {
      cases.push_back({spec, 128 / ranks / 16});
    }
  }
  return cases;
}

bool RunBackend(SuiteRun& run, Random& random, const BackendCase& c,
                BackendOutcome* outcome) {
  const BatchSpec& spec = c.spec;
  const auto heads = static_cast<std::size_t>(c.heads);
  const std::vector<float> up_keys =
      Floats(UniformBf16(random, heads * kLatent * kQueryNope));
  outcome->up_values =
      Floats(UniformBf16(random, heads * kLatent * kValueColumns));

  AttentionInput by_request;  // indices count in each request's own rows
  by_request.heads = c.heads;
  by_request.width = kWidth;
  by_request.softmax_scale = static_cast<float>(1 / std::sqrt(576.0));
  Layout layout = LayOut(spec);
  PoolImage pool = EmptyPool(layout.pages, kPageSize);
  std::vector<std::int32_t> request_ids;
  std::vector<std::int32_t> candidates;
  std::vector<std::uint16_t> queries;
  std::vector<Tokens> requests;
  for (std::size_t r = 0; r < spec.seq_lens.size(); ++r) {
    const auto length = static_cast<std::size_t>(spec.seq_lens[r]);
    const auto asked = static_cast<std::size_t>(spec.query_lens[r]);
    const std::size_t context = length - asked;
    const auto q = UniformBf16(random, asked * heads * (kQueryNope + kRope));
    Tokens& tokens = requests.emplace_back();
    tokens.kv_c = UniformBf16(random, length * kLatent);
    tokens.k_pe = UniformBf16(random, length * kRope);
    if (!run.Holds(RoundTrip(run.calls(), &tokens))) return false;

    AttentionInput own = by_request;
    own.queries = static_cast<std::int64_t>(asked);
    for (std::size_t i = 0; i < asked; ++i) {
      const auto token = static_cast<std::int64_t>(request_ids.size());
      request_ids.push_back(static_cast<std::int32_t>(r));
      AppendCandidates(token, static_cast<std::int32_t>(context + i),
                       &own.indices);
      if (asked > 1) outcome->prefill_tokens.push_back(token);
      for (std::size_t h = 0; h < heads; ++h) {
        const std::uint16_t* const row =
            &q[(i * heads + h) * (kQueryNope + kRope)];
        std::uint16_t absorbed[kColumns];
        Absorb(row, &up_keys[h * kLatent * kQueryNope], absorbed);
        std::memcpy(absorbed + kLatent, row + kQueryNope, 2 * kRope);
        own.q.insert(own.q.end(), absorbed, absorbed + kColumns);
      }
    }
    std::vector<float> rows;
    rows.reserve(length * kColumns);
    for (std::size_t i = 0; i < length; ++i) {
      for (std::size_t l = 0; l < kLatent; ++l) {
        rows.push_back(FromBf16(tokens.kv_c[i * kLatent + l]));
      }
      for (std::size_t l = 0; l < kRope; ++l) {
        rows.push_back(FromBf16(tokens.k_pe[i * kRope + l]));
      }
    }
    const AttentionOutput expected = Attend(own, rows, {});
    outcome->expected.insert(outcome->expected.end(), expected.out.begin(),
                             expected.out.end());
    candidates.insert(candidates.end(), own.indices.begin(), own.indices.end());
    queries.insert(queries.end(), own.q.begin(), own.q.end());

    // The context, and one token more: as published.
    if (!run.Holds(Write(run.calls(), tokens, 0, std::min(context + 1, length),
                         layout.first_page[r] * kPageSize, &pool))) {
      return false;
    }
  }
  outcome->tokens = static_cast<std::int64_t>(request_ids.size());
  // The layer stores the new tokens.
  for (std::size_t r = 0; r < requests.size(); ++r) {
    const auto asked = static_cast<std::size_t>(spec.query_lens[r]);
    const std::size_t context =
        static_cast<std::size_t>(spec.seq_lens[r]) - asked;
    if (!run.Holds(Write(run.calls(), requests[r], context, asked,
                         layout.first_page[r] * kPageSize +
                             static_cast<std::int64_t>(context),
                         &pool))) {
      return false;
    }
  }

  AttentionInput input = by_request;
  input.queries = outcome->tokens;
  input.q = queries;
  std::vector<std::int32_t> counts;
  if (!run.Holds(run.calls().Convert(kPageSize, request_ids, layout.table,
                                     {outcome->tokens, kWidth, candidates},
                                     &input.indices, &counts))) {
    return false;
  }
  AttentionOutput decoded;
  decoded.out.assign(outcome->expected.size(), kNan);
  decoded.lse.assign(request_ids.size() * heads,
                     std::numeric_limits<float>::quiet_NaN());
  if (!run.Holds(run.calls().Decode(input, &pool, &decoded))) return false;
  outcome->decoded = std::move(decoded.out);

  // Requests with several queries: their rows in a bf16 workspace, and a bf16
  // attention over it, which is not one of these kernels.
  if (outcome->prefill_tokens.empty()) return true;
  Table table = {0, layout.table.columns, {}};
  std::vector<std::int32_t> starts;
  std::vector<std::int32_t> start_of(spec.seq_lens.size());
  std::int32_t rows = 0;
  for (std::size_t r = 0; r < spec.seq_lens.size(); ++r) {
    if (spec.query_lens[r] == 1) continue;
    const auto row = layout.table.pages.begin() +
                     static_cast<std::int64_t>(r) * layout.table.columns;
    table.pages.insert(table.pages.end(), row, row + layout.table.columns);
    ++table.rows;
    starts.push_back(rows);
    start_of[r] = rows;
    rows += spec.seq_lens[r];
  }
  std::vector<std::uint16_t> workspace(
      static_cast<std::size_t>(rows) * kColumns, kNan);
  if (!run.Holds(run.calls().Gather(table, starts, {}, &pool, &workspace))) {
    return false;
  }
  AttentionInput prefill = by_request;
  prefill.queries = static_cast<std::int64_t>(outcome->prefill_tokens.size());
  for (const std::int64_t token : outcome->prefill_tokens) {
    const auto at = static_cast<std::size_t>(token);
    prefill.q.insert(
        prefill.q.end(),
        queries.begin() + static_cast<std::int64_t>(at * heads * kColumns),
        queries.begin() +
            static_cast<std::int64_t>((at + 1) * heads * kColumns));
    for (std::size_t i = at * kWidth; i < (at + 1) * kWidth; ++i) {
      prefill.indices.push_back(
          candidates[i] < 0
              ? -1
              : candidates[i] +
                    start_of[static_cast<std::size_t>(request_ids[at])]);
    }
  }
  outcome->prefilled = Attend(prefill, Floats(workspace), {}).out;
  return true;
}

}  // namespace mlafuzz::baselines
