#include "oracle/device/decode_draws.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>

#include "corpus/contracts.h"
#include "corpus/parties.h"
#include "oracle/decode/dequant.h"
#include "oracle/layout.h"

namespace mlafuzz::oracle {
namespace {

template <class T, std::size_t n>
T OneOf(const T (&values)[n], Draws& draw) {
  return values[draw(static_cast<std::uint32_t>(n))];
}

std::uint32_t Bits(float x) { return std::bit_cast<std::uint32_t>(x); }

}  // namespace

Case DrawDecode(Layout layout, std::uint32_t most_keys, Draws& draw) {
  Case c;
  Pool& pool = *c.mutable_pool();
  pool.set_layout(layout);
  pool.set_page_size(1 + draw(8));
  pool.set_pages(1 + draw(4));
  pool.mutable_fill()->set_kind(
      OneOf({Fill::FINITE_ROWS, Fill::FINITE_ROWS, Fill::ROWS,
             Fill::LATTICE_ROWS, Fill::RANDOM_BYTES},
            draw));
  pool.mutable_fill()->set_scales(static_cast<Fill::Scales>(draw(3)));
  Decode& d = *c.add_steps()->mutable_decode();
  d.set_queries(1 + draw(3));
  d.set_heads(1 + draw(3));
  d.set_pe_dim(layout == FP8_DS_MLA && draw(2) == 0 ? 64 : 0);
  d.mutable_q()->set_pattern(
      OneOf({Values::NORMAL_RANGE, Values::NORMAL_RANGE, Values::NORMAL_RANGE,
             Values::OCTAVES, Values::ZERO, Values::SMALL_INTEGERS,
             Values::SUBNORMAL, Values::SPECIALS},
            draw));
  Indices& indices = *d.mutable_indices();
  indices.set_rows(d.queries());
  const std::uint32_t width =
      std::min(most_keys, OneOf({1u, 2u, 7u, 64u, 65u, 150u, 300u}, draw));
  indices.set_width(width);
  indices.set_valid(draw(4) == 0 ? draw(width + 1) : width);
  indices.set_limit(pool.pages() * pool.page_size());
  if (draw(3) == 0) {
    for (std::uint32_t i = 0; i < d.queries(); ++i) d.add_lengths(0);
  }
  if (draw(3) == 0) {
    for (std::uint32_t i = 0; i < d.heads(); ++i) {
      d.add_sink_bits(Bits(OneOf(
          {0.0f, 3.0f, -2.0f, 30.0f, -80.0f, 1e5f, INFINITY, -INFINITY, NAN},
          draw)));
    }
  }
  if (draw(3) == 0) d.set_splits(1 + draw(5));
  const float scales[] = {0.0416667f, 0.0625f, 1.0f, 0.001f, 1e-30f, 3e38f};
  d.set_softmax_scale_bits(Bits(scales[draw(draw(4) == 0 ? 6 : 2)]));
  Redraw(c, draw);
  return c;
}

void Redraw(Case& c, Draws& draw) {
  c.mutable_pool()->mutable_fill()->set_seed(draw(1u << 30));
  Decode& d = *c.mutable_steps(0)->mutable_decode();
  d.mutable_q()->set_seed(draw(1u << 30));
  d.mutable_indices()->set_seed(draw(1u << 30));
  for (int& length : *d.mutable_lengths()) {
    length = static_cast<int>(draw(d.indices().width() + 1));
  }
}

Contract DrawContract(Layout layout, Draws& draw) {
  Contract c = BuiltinContract(layout);
  Arithmetic& a = *c.mutable_arithmetic();
  a.set_dequantised(static_cast<Arithmetic::Dequantised>(1 + draw(3)));
  a.set_query(static_cast<Arithmetic::Query>(1 + draw(2)));
  a.set_weights(static_cast<Arithmetic::Weights>(draw(5)));
  a.set_block(OneOf({0u, 1u, 16u, 64u}, draw));
  a.set_blocks_per_split(a.block() == 0 ? 0 : draw(3));
  a.set_partials(static_cast<Arithmetic::Partials>(draw(3)));
  a.set_accumulator(static_cast<Arithmetic::Accumulator>(draw(3)));
  a.set_accumulator_bits(
      a.accumulator() == Arithmetic::MMA ? draw(2) * (14 + draw(13)) : 0);
  a.set_exp2_relative_error(draw(2) == 0 ? 0 : 0x1p-22);
  a.set_denormals(static_cast<Arithmetic::Denormals>(draw(3)));
  DecodeContract& d = *c.mutable_decode();
  d.set_empty_row(static_cast<DecodeContract::EmptyRow>(1 + draw(3)));
  d.set_lse_base(static_cast<DecodeContract::LseBase>(1 + draw(2)));
  d.set_sink(static_cast<DecodeContract::Sink>(1 + draw(3)));
  for (ReaderSide* const side : {c.mutable_qk(), c.mutable_v()}) {
    side->set_scale_rule(static_cast<ReaderSide::ScaleRule>(1 + draw(5)));
    side->set_ue8m0_zero(static_cast<Ue8m0Zero>(1 + draw(2)));
    side->set_ue8m0_last(static_cast<Ue8m0Last>(1 + draw(2)));
  }
  return c;
}

std::vector<NamedContract> DecodeContracts() {
  std::vector<NamedContract> all;
  for (int i = Layout_MIN; i <= Layout_MAX; ++i) {
    if (!Layout_IsValid(i) || i == LAYOUT_UNSPECIFIED) continue;
    const Layout layout = static_cast<Layout>(i);
    if (!IsDecoded(LayoutOf(layout))) continue;
    all.push_back({Layout_Name(layout), layout, BuiltinContract(layout)});
  }
  for (const Party& party : AllParties()) {
    if (party.role != PartyRole::kReader) continue;
    for (const CacheFormat& format : AllCacheFormats()) {
      Layout layout;
      if (std::string(format.name) != party.format ||
          format.layout == nullptr || !Layout_Parse(format.layout, &layout) ||
          !IsDecoded(LayoutOf(layout))) {
        continue;
      }
      all.push_back({party.name, layout, PartyContract(party)});
    }
  }
  return all;
}

}  // namespace mlafuzz::oracle
