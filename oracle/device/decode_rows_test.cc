#include "oracle/device/decode_rows.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "corpus/image.h"
#include "gtest/gtest.h"
#include "oracle/decode/decode.h"
#include "oracle/decode/decode_matches.h"
#include "oracle/device/decode_draws.h"
#include "oracle/device/decode_plan.h"
#include "oracle/device/one_thread.h"

namespace mlafuzz::oracle {
namespace {

std::uint32_t Bits(float x) { return std::bit_cast<std::uint32_t>(x); }
std::uint64_t Bits(double x) { return std::bit_cast<std::uint64_t>(x); }

// A step's tensors end to end, as a call lays them.
struct Memory {
  std::vector<std::uint8_t> bytes;
  DecodePlace place;

  std::uint64_t Add(const Tensor* tensor) {
    const std::uint64_t at = bytes.size();
    if (tensor != nullptr) {
      bytes.insert(bytes.end(), tensor->bytes.begin(), tensor->bytes.end());
    }
    return at;
  }
};

class Rows {
 public:
  Rows(const Contract& contract, const CaseImage& image)
      : expected(ExpectDecode(contract, image, 0, image.pool.bytes)),
        step_(image.steps[0]) {
    auto rules = DecodeRulesOf(contract, image.pool, step_);
    if (!rules.has_value()) return;
    rules_ = *rules;
    memory_.bytes.assign(3, 0x77);  // nothing is aligned
    memory_.place.pool = memory_.bytes.size();
    memory_.bytes.insert(memory_.bytes.end(), image.pool.bytes.begin(),
                         image.pool.bytes.end());
    memory_.place.q = memory_.Add(step_.Find(TensorId::kQ));
    memory_.place.q_elements =
        static_cast<std::int64_t>(step_.Find(TensorId::kQ)->bytes.size() / 2);
    const Tensor* const sinks = step_.Find(TensorId::kSinks);
    if (sinks != nullptr && rules_.result.sink != ResultRules::Sink::kDropped) {
      rules_.sinks = memory_.Add(sinks);
    }
    memory_.place.out = memory_.Add(step_.Find(TensorId::kAttention));
    memory_.place.lse = memory_.Add(step_.Find(TensorId::kLse));
    planned = plan_.Add(contract, rules_, image.pool, step_, memory_.place);
    room_bytes_.resize(LayRoom(plan_.Most(rules_), nullptr, &room_));
    LayRoom(plan_.Most(rules_), room_bytes_.data(), &room_);
  }

  void SetOut(std::int64_t row, int c, std::uint16_t word) {
    const Tensor& out = *step_.Find(TensorId::kAttention);
    std::memcpy(
        memory_.bytes.data() + memory_.place.out +
            2 * (row / rules_.heads * out.strides[0] +
                 row % rules_.heads * out.strides[1] + c * out.strides[2]),
        &word, 2);
  }
  void SetLse(std::int64_t row, float lse) {
    const Tensor& tensor = *step_.Find(TensorId::kLse);
    std::memcpy(memory_.bytes.data() + memory_.place.lse +
                    4 * (row / rules_.heads * tensor.strides[0] +
                         row % rules_.heads * tensor.strides[1]),
                &lse, 4);
  }

  DecodeTold Run(std::int64_t row) {
    const OneThread team;
    DecodeTold told;
    DecodeRow<OneThread>(
        team, rules_, memory_.bytes.data(), memory_.bytes.data(),
        plan_.queries[static_cast<std::size_t>(row / rules_.heads)],
        static_cast<int>(row % rules_.heads), plan_.keys.data(),
        plan_.blocks.data(), plan_.splits.data(), room_, &shared_)
        .Run(/*with_checksum=*/true, &told);
    return told;
  }

  const Bounded& out(int c) const { return room_.out[c]; }
  const Bounded& lse() const { return shared_.lse; }

  const DecodeExpectation expected;
  bool planned = false;

 private:
  const StepImage& step_;
  DecodeRules rules_ = {};
  DecodePlan plan_;
  Memory memory_;
  std::vector<char> room_bytes_;
  DecodeRoom room_;
  DecodeShared shared_;
};

std::uint16_t WordOf(double x) {
  return Bf16BitsOf(static_cast<float>(x), Rounding::kNearestEven);
}

struct Counts {
  std::int64_t rows = 0;
  std::int64_t settled = 0;  // rows of which the contract leaves no LSE open
  std::int64_t settled_untold = 0;
  std::int64_t told = 0;
  std::int64_t passed_at_edges = 0;
};

// Rows of one case: right outputs are told to be right, by the very values and
// bounds of ExpectDecode(); wrong ones are never passed.
void Compare(const std::string& name, const Contract& contract, Draws& draw,
             const Case& c, Counts* counts) {
  const auto image = BuildImage(c);
  ASSERT_TRUE(image.ok()) << image.status() << "\n" << c.DebugString();
  Rows rows(contract, *image);
  const DecodeExpectation& expected = rows.expected;
  counts->rows += expected.rows();
  if (!rows.planned) return;
  const auto at = [](std::int64_t row, int column) {
    return static_cast<std::size_t>(row * kDecodeColumns + column);
  };
  for (std::int64_t row = 0; row < expected.rows(); ++row) {
    const auto r = static_cast<std::size_t>(row);
    for (int i = 0; i < kDecodeColumns; ++i) {
      rows.SetOut(row, i, WordOf(expected.out[at(row, i)]));
    }
    // fp32 holds no middle of a narrow interval; then the row is not told.
    rows.SetLse(row, static_cast<float>(expected.lse[r]));
    const bool lse_settled = !std::isinf(expected.lse_bound[r]);
    counts->settled += lse_settled ? 1 : 0;
    const DecodeTold told = rows.Run(row);
    counts->settled_untold += lse_settled && told.within == 0 ? 1 : 0;
    if (told.within == 0) continue;
    ++counts->told;
    ASSERT_EQ(Bits(rows.lse().value), Bits(expected.lse[r])) << name;
    ASSERT_EQ(Bits(rows.lse().radius), Bits(expected.lse_bound[r])) << name;
    bool settled = false;
    for (int i = 0; i < kDecodeColumns; ++i) {
      ASSERT_EQ(Bits(rows.out(i).value), Bits(expected.out[at(row, i)]))
          << name << " " << i << "\n"
          << c.DebugString();
      ASSERT_EQ(Bits(rows.out(i).radius), Bits(expected.out_bound[at(row, i)]))
          << name << " " << i << "\n"
          << c.DebugString();
      settled |= !std::isinf(expected.out_bound[at(row, i)]);
    }
    ASSERT_EQ(told.settled_out != 0, settled);
    ASSERT_EQ(told.settled_lse != 0, !std::isinf(expected.lse_bound[r]));

    // One word or the LSE anywhere about the edge of its bound: the host's
    // verdict, whatever it is.
    for (int trial = 0; trial < 4; ++trial) {
      const int column = static_cast<int>(draw(kDecodeColumns));
      const double value = expected.out[at(row, column)];
      const double bound = expected.out_bound[at(row, column)];
      if (std::isinf(bound)) continue;
      const double sign = draw(2) == 0 ? -1 : 1;
      const std::uint16_t word =
          static_cast<std::uint16_t>(WordOf(value + sign * bound) + draw(4));
      const bool right = OutMatches(value, bound, expected.may_flush, word);
      rows.SetOut(row, column, word);
      ASSERT_EQ(rows.Run(row).within != 0, right) << name << " " << word;
      rows.SetOut(row, column, WordOf(value));
      counts->passed_at_edges += right ? 1 : 0;
    }
    const double bound = expected.lse_bound[r];
    if (std::isinf(bound)) continue;
    const float lse =
        static_cast<float>(expected.lse[r] + (2 * draw.Real() - 1) * 2 * bound);
    const bool right = LseMatches(expected.lse[r], bound, lse);
    rows.SetLse(row, lse);
    const DecodeTold again = rows.Run(row);
    ASSERT_EQ(again.within != 0, right) << name;
    ASSERT_EQ(again.lse_of_bound, LseOfBound(expected.lse[r], bound, lse));
    ASSERT_EQ(again.checksum, told.checksum);
  }
}

TEST(DecodeRows, AreWhatExpectDecodeSaysOfShippedContracts) {
  const std::vector<NamedContract> shipped = DecodeContracts();
  ASSERT_GT(shipped.size(), 6u);
  for (const NamedContract& party : shipped) {
    Draws draw(7);
    Counts counts;
    for (int i = 0; i < 40; ++i) {
      Compare(party.name, party.contract, draw,
              DrawDecode(party.layout, 300, draw), &counts);
      if (HasFatalFailure()) return;
    }
    // Those of which too little is declared are the host's.
    const Arithmetic& a = party.contract.arithmetic();
    if (a.query() != Arithmetic::QUERY_UNKNOWN &&
        a.dequantised() != Arithmetic::DEQUANTISED_UNKNOWN) {
      EXPECT_GT(counts.told * 10, counts.rows) << party.name;
    }
  }
}

TEST(DecodeRows, AreWhatExpectDecodeSaysOfAllArithmetic) {
  Draws draw(11);
  Counts counts;
  const std::vector<NamedContract> shipped = DecodeContracts();
  for (int i = 0; i < 700; ++i) {
    const Layout layout =
        shipped[draw(static_cast<std::uint32_t>(shipped.size()))].layout;
    const Contract contract = DrawContract(layout, draw);
    Compare(contract.arithmetic().ShortDebugString(), contract, draw,
            DrawDecode(layout, 300, draw), &counts);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(counts.rows, 2000);
  EXPECT_GT(counts.told * 5, counts.rows);
  EXPECT_GT(counts.passed_at_edges, 300);
}

// What nothing is special about is told, all of it.
TEST(DecodeRows, OrdinaryRowsAreTold) {
  std::int64_t settled = 0;
  for (const NamedContract& party : DecodeContracts()) {
    if (party.contract.arithmetic().query() == Arithmetic::QUERY_UNKNOWN ||
        party.contract.arithmetic().dequantised() ==
            Arithmetic::DEQUANTISED_UNKNOWN) {
      continue;
    }
    Draws draw(5);
    Counts counts;
    for (int i = 0; i < 8; ++i) {
      Case c = DrawDecode(party.layout, 64, draw);
      c.mutable_pool()->mutable_fill()->set_kind(Fill::FINITE_ROWS);
      c.mutable_pool()->mutable_fill()->set_scales(Fill::POWERS_OF_TWO);
      Decode& d = *c.mutable_steps(0)->mutable_decode();
      d.mutable_q()->set_pattern(Values::NORMAL_RANGE);
      d.set_softmax_scale_bits(Bits(0.0625f));
      d.clear_sink_bits();
      d.clear_lengths();
      d.mutable_indices()->set_valid(d.indices().width());
      Compare(party.name, party.contract, draw, c, &counts);
      if (HasFatalFailure()) return;
    }
    EXPECT_EQ(counts.settled_untold, 0) << party.name;
    settled += counts.settled;
  }
  EXPECT_GT(settled, 200);
}

}  // namespace
}  // namespace mlafuzz::oracle
