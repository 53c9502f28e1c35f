// Rows of decodes as a lender judges them, against the host: the same bits of
// every value and bound, the same verdicts. //properties/fused:decode_gpu_test
// has a GPU judge, and skips itself where there is none;
// MLAFUZZ_DECODE_CASES says how many cases it takes.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "corpus/image.h"
#include "gtest/gtest.h"
#include "kernels/foreign/lent_memory.h"
#include "oracle/decode/decode.h"
#include "oracle/device/decode_call.h"
#include "oracle/device/decode_draws.h"
#include "oracle/device/decode_plan.h"
#include "oracle/device/decode_rows.h"
#include "oracle/device/one_thread.h"
#include "properties/fused/for_each.h"

namespace mlafuzz {
namespace {

using oracle::DecodeTold;
using oracle::Draws;

constexpr std::uint64_t kBytes = std::uint64_t{256} << 20;
constexpr std::size_t kFamily = 512;  // cases of one call

struct Counts {
  std::uint64_t cases = 0;
  std::uint64_t rows = 0;
  std::uint64_t worked_out = 0;
  std::uint64_t within = 0;
  std::uint64_t host_passes = 0;
  double device_seconds = 0;
};

std::string Text(const DecodeTold& told) {
  return absl::StrCat("within ", told.within, ", settled ", told.settled_out,
                      told.settled_lse, ", LSE ", told.lse_of_bound,
                      " of its bound, bits ", absl::Hex(told.checksum));
}

// Cases of one call, laid end to end.
class Family {
 public:
  Family(LentMemory& memory, const Contract& contract, Case shape,
         std::size_t count, Draws& draw, int threads)
      : memory_(memory), contract_(contract), threads_(threads) {
    for (std::size_t i = 0; i < count; ++i) {
      oracle::Redraw(shape, draw);
      cases_.push_back(shape);
      seeds_.push_back(draw(1u << 30));
    }
    images_.resize(count);
    ForEach(count, threads_, [&](std::size_t i) {
      auto image = BuildImage(cases_[i]);
      if (image.ok()) images_[i] = *std::move(image);
    });
  }

  void Check(Counts* counts) {
    for (const auto& image : images_) ASSERT_TRUE(image.has_value());
    const StepImage& first = images_[0]->steps[0];
    auto rules = oracle::DecodeRulesOf(contract_, images_[0]->pool, first);
    counts->cases += images_.size();
    counts->rows += images_.size() * cases_[0].steps(0).decode().queries() *
                    cases_[0].steps(0).decode().heads();
    if (!rules.has_value()) return;
    call_.rules = *rules;
    Lay();
    if (call_.rows() == 0) return;
    const std::vector<DecodeTold> told = Judged(counts);
    Compare(told, counts);
  }

 private:
  void Lay() {
    std::uint64_t at = 64;
    const auto place = [&](const std::vector<std::uint8_t>& bytes) {
      at = (at + 15) / 16 * 16;
      const std::uint64_t begin = at;
      at += bytes.size();
      return begin;
    };
    const StepImage& first = images_[0]->steps[0];
    if (const Tensor* sinks = first.Find(TensorId::kSinks);
        sinks != nullptr &&
        call_.rules.result.sink != oracle::ResultRules::Sink::kDropped) {
      call_.rules.sinks = place(sinks->bytes);
    }
    for (const auto& image : images_) {
      const StepImage& step = image->steps[0];
      const Tensor& q = *step.Find(TensorId::kQ);
      places_.push_back(
          {.pool = place(image->pool.bytes),
           .q = place(q.bytes),
           .q_elements = static_cast<std::int64_t>(q.bytes.size() / 2),
           .out = place(step.Find(TensorId::kAttention)->bytes),
           .lse = place(step.Find(TensorId::kLse)->bytes)});
    }
    used_ = at;
    ASSERT_LE(used_, kBytes);
    auto inputs = memory_.Inputs(used_);
    ASSERT_TRUE(inputs.ok()) << inputs.status();
    bytes_ = *inputs;
    std::memset(bytes_, 0x5c, used_);
    if (call_.rules.sinks != oracle::DecodeRules::kNoSinks) {
      Put(call_.rules.sinks, first.Find(TensorId::kSinks)->bytes);
    }
    right_.assign(images_.size(), 0);
    ForEach(images_.size(), threads_, [&](std::size_t i) {
      const StepImage& step = images_[i]->steps[0];
      Put(places_[i].pool, images_[i]->pool.bytes);
      Put(places_[i].q, step.Find(TensorId::kQ)->bytes);
      PutResults(i);
    });
    for (std::size_t i = 0; i < images_.size(); ++i) {
      planned_.push_back(plan_.Add(contract_, call_.rules, images_[i]->pool,
                                   images_[i]->steps[0], places_[i]));
    }
    call_.queries = static_cast<std::uint32_t>(plan_.queries.size());
    call_.keys = static_cast<std::uint32_t>(plan_.keys.size());
    call_.blocks = static_cast<std::uint32_t>(plan_.blocks.size());
    call_.splits = static_cast<std::uint32_t>(plan_.splits.size());
    call_.most = plan_.Most(call_.rules);
    call_.with_checksum = true;
  }

  void Put(std::uint64_t at, const std::vector<std::uint8_t>& bytes) {
    if (!bytes.empty()) std::memcpy(bytes_ + at, bytes.data(), bytes.size());
  }

  // What the host expects, in a third of the cases with one word or one LSE
  // about the edge of its bound.
  void PutResults(std::size_t i) {
    const StepImage& step = images_[i]->steps[0];
    const Tensor& out = *step.Find(TensorId::kAttention);
    const Tensor& lse = *step.Find(TensorId::kLse);
    const DecodeExpectation expected =
        ExpectDecode(contract_, *images_[i], 0, images_[i]->pool.bytes);
    Draws draw(seeds_[i]);
    const std::int64_t odd_row =
        draw(static_cast<std::uint32_t>(expected.rows()));
    const int odd_column = static_cast<int>(draw(kDecodeColumns));
    const std::uint32_t odd = draw(3);
    bool right = true;
    for (std::int64_t row = 0; row < expected.rows(); ++row) {
      const std::int64_t query = row / expected.heads;
      const std::int64_t head = row % expected.heads;
      for (int c = 0; c < kDecodeColumns; ++c) {
        const auto at = static_cast<std::size_t>(row * kDecodeColumns + c);
        double value = expected.out[at];
        int steps = 0;
        if (odd == 0 && row == odd_row && c == odd_column &&
            std::isfinite(expected.out_bound[at])) {
          value += (draw(2) == 0 ? -1 : 1) * expected.out_bound[at];
          steps = static_cast<int>(draw(3));
        }
        const auto word = static_cast<std::uint16_t>(
            oracle::Bf16BitsOf(static_cast<float>(value),
                               oracle::Rounding::kNearestEven) +
            steps);
        right &=
            DecodeOutMatches(expected, static_cast<std::int64_t>(at), word);
        std::memcpy(bytes_ + places_[i].out +
                        2 * (query * out.strides[0] + head * out.strides[1] +
                             c * out.strides[2]),
                    &word, 2);
      }
      double value = expected.lse[static_cast<std::size_t>(row)];
      const double bound = expected.lse_bound[static_cast<std::size_t>(row)];
      if (odd == 1 && row == odd_row && std::isfinite(bound)) {
        value += (2 * draw.Real() - 1) * 2 * bound;
      }
      const float got = static_cast<float>(value);
      right &= DecodeLseMatches(expected, row, got);
      std::memcpy(bytes_ + places_[i].lse +
                      4 * (query * lse.strides[0] + head * lse.strides[1]),
                  &got, 4);
    }
    right_[i] = right ? 1 : 0;
  }

  std::vector<DecodeTold> Judged(Counts* counts) {
    std::vector<DecodeTold> told(call_.rows());
    const auto run = [&]() -> absl::Status {
      auto plan = memory_.Plan(call_.plan_bytes());
      if (!plan.ok()) return plan.status();
      auto answers = memory_.Told(told.size() * sizeof told[0]);
      if (!answers.ok()) return answers.status();
      plan_bytes_.assign(call_.plan_bytes(), 0);
      const auto put = [&](const auto& entries, std::uint64_t at) {
        if (entries.empty()) return;
        std::memcpy(plan_bytes_.data() + at, entries.data(),
                    entries.size() * sizeof entries[0]);
      };
      put(plan_.queries, 0);
      put(plan_.keys, call_.keys_at());
      put(plan_.blocks, call_.blocks_at());
      put(plan_.splits, call_.splits_at());
      std::memcpy(*plan, plan_bytes_.data(), plan_bytes_.size());
      if (absl::Status s = memory_.Bring(0, used_); !s.ok()) return s;
      if (absl::Status s = memory_.Lend(0, used_); !s.ok()) return s;
      if (absl::Status s = memory_.Settle(); !s.ok()) return s;
      absl::Status s = memory_.Judge(
          {reinterpret_cast<const std::uint8_t*>(&call_), sizeof call_});
      std::memcpy(told.data(), *answers, told.size() * sizeof told[0]);
      return s;
    };
    const absl::Status status = run();
    EXPECT_TRUE(status.ok()) << status;
    counts->device_seconds += memory_.TakeTimes().judge;
    return told;
  }

  DecodeTold ByHost(std::uint64_t row) const {
    oracle::DecodeRoom room;
    std::vector<char> bytes(oracle::LayRoom(call_.most, nullptr, &room));
    oracle::LayRoom(call_.most, bytes.data(), &room);
    oracle::DecodeShared shared;
    const oracle::OneThread team;
    const auto heads = static_cast<std::uint64_t>(call_.rules.heads);
    DecodeTold told;
    oracle::DecodeRow<oracle::OneThread>(
        team, call_.rules, bytes_, bytes_, plan_.queries[row / heads],
        static_cast<int>(row % heads), plan_.keys.data(), plan_.blocks.data(),
        plan_.splits.data(), room, &shared)
        .Run(/*with_checksum=*/true, &told);
    return told;
  }

  void Compare(const std::vector<DecodeTold>& told, Counts* counts) {
    std::atomic<std::uint64_t> different{0}, worked_out{0};
    std::mutex mutex;
    std::string first;  // that differs
    ForEach(told.size(), threads_, [&](std::size_t row) {
      const DecodeTold host = ByHost(row);
      const DecodeTold& device = told[row];
      if (host.within != device.within || host.checksum != device.checksum ||
          host.settled_out != device.settled_out ||
          host.settled_lse != device.settled_lse ||
          host.lse_of_bound != device.lse_of_bound) {
        ++different;
        const std::lock_guard<std::mutex> lock(mutex);
        if (first.empty()) {
          first = absl::StrCat("row ", row, ": ", Text(device),
                               ", by the host ", Text(host));
        }
      }
      if (device.checksum != 0) ++worked_out;
    });
    ASSERT_EQ(different, 0u)
        << first << "\n"
        << contract_.arithmetic().DebugString() << cases_[0].DebugString();
    counts->worked_out += worked_out;
    // By case: what the device passes, the host's oracle passes.
    std::size_t row = 0;
    for (std::size_t i = 0; i < images_.size(); ++i) {
      if (!planned_[i]) continue;
      const Decode& d = cases_[i].steps(0).decode();
      bool within = true;
      for (std::uint32_t n = d.queries() * d.heads(); n > 0; --n) {
        within &= told[row].within != 0;
        counts->within += told[row++].within;
      }
      ASSERT_TRUE(!within || right_[i] != 0) << cases_[i].DebugString();
      counts->host_passes += right_[i] != 0 ? 1 : 0;
    }
  }

  LentMemory& memory_;
  const Contract& contract_;
  const int threads_;
  std::deque<Case> cases_;  // images point to them
  std::vector<std::uint32_t> seeds_;
  std::vector<std::optional<CaseImage>> images_;
  std::vector<oracle::DecodePlace> places_;
  std::vector<char> planned_;
  std::vector<char> right_;  // by the host's oracle
  std::uint64_t used_ = 0;
  std::uint8_t* bytes_ = nullptr;
  oracle::DecodePlan plan_;
  oracle::DecodeCall call_ = {};
  std::vector<std::uint8_t> plan_bytes_;
};

std::uint64_t Cases() {
  std::uint64_t cases = 0;
  const char* const asked = std::getenv("MLAFUZZ_DECODE_CASES");
  return asked != nullptr && absl::SimpleAtoi(asked, &cases) ? cases : 6000;
}

TEST(DecodeJudging, DeviceAndHostSayTheSame) {
  auto memory = LentMemory::Create(0, kBytes);
  if (!memory.ok()) {
    // A lender that is named is to be there.
    ASSERT_EQ(std::getenv("MLAFUZZ_CUDA_LENDER"), nullptr) << memory.status();
    GTEST_SKIP() << "nothing is lent: " << memory.status().message();
  }
  const int threads =
      std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const std::uint64_t cases = Cases();
  const std::vector<oracle::NamedContract> named = oracle::DecodeContracts();
  Draws draw(17);
  Counts counts;
  for (int family = 0; counts.cases < cases; ++family) {
    const oracle::NamedContract& party =
        named[draw(static_cast<std::uint32_t>(named.size()))];
    const Contract contract = family % 2 == 0
                                  ? party.contract
                                  : oracle::DrawContract(party.layout, draw);
    const Case shape =
        oracle::DrawDecode(party.layout, family % 8 == 0 ? 300 : 64, draw);
    const std::uint64_t count = std::min<std::uint64_t>(
        cases < 20000 ? 64 : kFamily, cases - counts.cases);
    Family(**memory, contract, shape, count, draw, threads).Check(&counts);
    if (HasFatalFailure()) return;
  }
  std::printf(
      "%lu cases, %lu rows: %lu worked out on the device, %lu passed there; "
      "the "
      "host passes %lu of the cases; %.3f s of the device\n",
      static_cast<unsigned long>(counts.cases),
      static_cast<unsigned long>(counts.rows),
      static_cast<unsigned long>(counts.worked_out),
      static_cast<unsigned long>(counts.within),
      static_cast<unsigned long>(counts.host_passes), counts.device_seconds);
  EXPECT_GT(counts.worked_out * 5, counts.rows);
  EXPECT_GT(counts.within * 6, counts.rows);
}

}  // namespace
}  // namespace mlafuzz
