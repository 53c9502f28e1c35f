#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "corpus/values.h"
#include "properties/minimize/model_parts.h"
#include "properties/minimize/models.h"

namespace mlafuzz {

bool ToModel(const Decode& decode, DecodeModel* model) {
  constexpr std::uint64_t kMostLanes = 4096;
  constexpr std::uint64_t kMostValues = 16 * 576;
  *model = DecodeModel();
  const Indices& indices = decode.indices();
  const std::uint32_t n = decode.queries();
  const std::uint32_t width = indices.width();
  const std::uint32_t heads = decode.heads();
  if (indices.rows() != n || std::uint64_t{n} * width > kMostLanes ||
      (decode.lengths_size() != 0 &&
       decode.lengths_size() != static_cast<int>(n)) ||
      (decode.sink_bits_size() != 0 &&
       decode.sink_bits_size() != static_cast<int>(heads))) {
    return false;
  }
  const ExtraCache& extra = decode.extra();
  const std::uint32_t extra_width = extra.indices().width();
  if (decode.has_extra() && (extra.indices().rows() != n ||
                             std::uint64_t{n} * extra_width > kMostLanes ||
                             (extra.lengths_size() != 0 &&
                              extra.lengths_size() != static_cast<int>(n)))) {
    return false;
  }
  const std::vector<std::int32_t> lanes = ExpandIndices(indices);
  const std::vector<std::int32_t> extra_lanes = ExpandIndices(extra.indices());
  const std::uint64_t columns = 512 + std::uint64_t{decode.pe_dim()};
  const std::uint64_t count = std::uint64_t{n} * heads * columns;
  std::vector<std::uint16_t> bits;
  if (count <= kMostValues) bits = ExpandValues(decode.q(), BF16, count);
  for (std::uint32_t i = 0; i < n; ++i) {
    DecodeModel::Query query;
    query.lanes.assign(lanes.begin() + std::uint64_t{i} * width,
                       lanes.begin() + std::uint64_t{i + 1} * width);
    if (decode.lengths_size() > 0) {
      query.length = decode.lengths(static_cast<int>(i));
    }
    if (decode.has_extra()) {
      query.extra_lanes.assign(
          extra_lanes.begin() + std::uint64_t{i} * extra_width,
          extra_lanes.begin() + std::uint64_t{i + 1} * extra_width);
      if (extra.lengths_size() > 0) {
        query.extra_length = extra.lengths(static_cast<int>(i));
      }
    }
    for (std::uint32_t h = 0; h < heads && !bits.empty(); ++h) {
      const auto first =
          bits.begin() + (std::uint64_t{i} * heads + h) * columns;
      query.q.emplace_back(first, first + columns);
    }
    model->queries.push_back(std::move(query));
  }
  model->sinks.assign(decode.sink_bits().begin(), decode.sink_bits().end());
  model->lengths = decode.lengths_size() > 0;
  model->heads = heads;
  model->width = width;
  model->topk = decode.declared_topk();
  model->rest = decode;
  return true;
}

namespace {

// Rows of that width, most of whose lanes name slot 0, or none.
void WriteLanes(const std::vector<const std::vector<std::int32_t>*>& rows,
                std::uint32_t width, std::uint32_t stride, Indices* indices) {
  indices->Clear();
  indices->set_rows(static_cast<std::uint32_t>(rows.size()));
  indices->set_width(width);
  if (stride > width) indices->set_row_stride(stride);
  std::uint64_t zeros = 0, masked = 0;
  for (const std::vector<std::int32_t>* row : rows) {
    for (const std::int32_t lane : *row) {
      zeros += lane == 0;
      masked += lane == -1;
    }
  }
  const std::int32_t plain = zeros > masked ? 0 : -1;
  if (plain == 0) {
    indices->set_valid(width);
    indices->set_limit(1);
  }
  std::uint32_t at = 0;
  for (const std::vector<std::int32_t>* row : rows) {
    for (const std::int32_t lane : *row) {
      if (lane != plain) {
        SetIndex& set = *indices->add_set();
        set.set_at(at);
        set.set_value(lane);
      }
      ++at;
    }
  }
}

}  // namespace

void FromModel(const DecodeModel& model, bool written_out, Decode* decode) {
  const std::uint32_t stride = decode->indices().row_stride();
  *decode = model.rest;
  const std::uint32_t n = static_cast<std::uint32_t>(model.queries.size());
  decode->set_queries(n);
  decode->set_heads(model.heads);
  decode->set_declared_topk(model.topk);
  decode->clear_lengths();
  decode->clear_sink_bits();
  for (const std::uint32_t bits : model.sinks) decode->add_sink_bits(bits);
  std::vector<const std::vector<std::int32_t>*> lanes, extra_lanes;
  for (const DecodeModel::Query& query : model.queries) {
    if (model.lengths) decode->add_lengths(query.length);
    lanes.push_back(&query.lanes);
    extra_lanes.push_back(&query.extra_lanes);
  }
  WriteLanes(lanes, model.width, stride, decode->mutable_indices());
  if (decode->has_extra()) {
    ExtraCache& extra = *decode->mutable_extra();
    const bool lengths = extra.lengths_size() > 0;
    extra.clear_lengths();
    for (const DecodeModel::Query& query : model.queries) {
      if (lengths) extra.add_lengths(query.extra_length);
    }
    WriteLanes(extra_lanes, extra.indices().width(),
               extra.indices().row_stride(), extra.mutable_indices());
  }
  if (!written_out) return;
  Values& q = *decode->mutable_q();
  q.Clear();
  std::uint32_t value = 0;
  for (const DecodeModel::Query& query : model.queries) {
    for (const std::vector<std::uint16_t>& head : query.q) {
      for (const std::uint16_t bits : head) {
        if (bits != 0) {
          SetBits& set = *q.add_set();
          set.set_at(value);
          set.set_bits(bits);
        }
        ++value;
      }
    }
  }
}

namespace {

// Without lanes [first, end) of every row; what counts in lanes moves along.
DecodeModel WithoutLanes(const DecodeModel& model, std::uint32_t first,
                         std::uint32_t end) {
  DecodeModel smaller = model;
  smaller.width -= end - first;
  const auto moved = [&](std::int64_t at) {
    return at - std::clamp<std::int64_t>(at - first, 0, end - first);
  };
  for (DecodeModel::Query& query : smaller.queries) {
    query.lanes.erase(query.lanes.begin() + first, query.lanes.begin() + end);
    query.length = static_cast<std::int32_t>(moved(query.length));
  }
  if (model.topk > 0) {
    smaller.topk = std::max<std::uint32_t>(
        1, static_cast<std::uint32_t>(moved(model.topk)));
  }
  return smaller;
}

}  // namespace

std::vector<DecodeModel> ReductionsOf(const DecodeModel& model) {
  std::vector<DecodeModel> all;
  const std::size_t n = model.queries.size();
  // One query or head alone, then without a run of them.
  for (std::size_t i = 0; i < n && n > 1 && i < 16; ++i) {
    DecodeModel one = model;
    one.queries = {model.queries[i]};
    all.push_back(std::move(one));
  }
  for (std::size_t i = 1; i < n && n > 2 && i < 5; ++i) {
    DecodeModel two = model;
    two.queries = {model.queries[0], model.queries[i]};
    all.push_back(std::move(two));
  }
  for (std::size_t run = n / 2; run > 0; run /= 2) {
    for (std::size_t at = 0; at + run <= n && at < 16 * run; at += run) {
      DecodeModel fewer = model;
      fewer.queries.erase(fewer.queries.begin() + at,
                          fewer.queries.begin() + at + run);
      all.push_back(std::move(fewer));
    }
  }
  for (std::uint32_t h = 0; h < model.heads && model.heads > 1 && h < 16; ++h) {
    DecodeModel one = model;
    one.heads = 1;
    if (!model.sinks.empty()) one.sinks = {model.sinks[h]};
    for (DecodeModel::Query& query : one.queries) {
      if (!query.q.empty()) query.q = {query.q[h]};
    }
    all.push_back(std::move(one));
  }
  // Two heads: the first and another; all but one.
  const auto with_heads = [&](const std::vector<std::uint32_t>& heads) {
    DecodeModel fewer = model;
    fewer.heads = static_cast<std::uint32_t>(heads.size());
    if (!model.sinks.empty()) {
      fewer.sinks.clear();
      for (const std::uint32_t h : heads) fewer.sinks.push_back(model.sinks[h]);
    }
    for (std::size_t i = 0; i < n && !model.queries[i].q.empty(); ++i) {
      fewer.queries[i].q.clear();
      for (const std::uint32_t h : heads) {
        fewer.queries[i].q.push_back(model.queries[i].q[h]);
      }
    }
    all.push_back(std::move(fewer));
  };
  for (std::uint32_t h = 1; h < model.heads && model.heads > 2 && h < 5; ++h) {
    with_heads({0, h});
  }
  for (std::uint32_t h = 0; h < model.heads && model.heads > 2 && h < 5; ++h) {
    std::vector<std::uint32_t> others(model.heads);
    std::iota(others.begin(), others.end(), 0u);
    others.erase(others.begin() + h);
    with_heads(others);
  }
  // Two splits of few lanes where many were split by themselves: one block and
  // a lane, around where a key stands.
  constexpr std::uint32_t kBlock = 64;
  if (model.rest.splits() == 0 && model.width > kBlock + 1 && n == 1) {
    for (const bool from_front : {true, false}) {
      DecodeModel split =
          from_front ? WithoutLanes(model, kBlock + 1, model.width)
                     : WithoutLanes(model, 0, model.width - kBlock - 1);
      split.rest.set_splits(2);
      all.push_back(std::move(split));
    }
  }
  // The first few lanes, or the last.
  for (const std::uint32_t few : minimize::kTypicalWidths) {
    if (few >= model.width) break;
    all.push_back(WithoutLanes(model, few, model.width));
    all.push_back(WithoutLanes(model, 0, model.width - few));
  }
  // Runs of lanes.
  for (std::uint32_t run = model.width - model.width / 2;
       run > 0 && model.width > 1; run = run == 1 ? 0 : (run + 1) / 2) {
    for (std::uint32_t at = 0; at < model.width; at += run) {
      const std::uint32_t end = std::min(at + run, model.width);
      if (end - at == model.width) continue;
      all.push_back(WithoutLanes(model, at, end));
    }
  }
  // All keys masked but the first and the last lane's, or the last two's.
  for (const std::uint32_t other : {0u, model.width - 2}) {
    if (model.width < 3) break;
    DecodeModel masked = model;
    bool any = false;
    for (DecodeModel::Query& query : masked.queries) {
      for (std::uint32_t l = 0; l + 1 < model.width; ++l) {
        if (l == other) continue;
        any |= query.lanes[l] >= 0;
        query.lanes[l] = std::min(query.lanes[l], -1);
      }
    }
    if (any) all.push_back(std::move(masked));
  }
  // Runs of keys masked.
  for (std::uint32_t run = model.width; run > 0;
       run = run == 1 ? 0 : (run + 1) / 2) {
    for (std::uint32_t at = 0; at < model.width; at += run) {
      DecodeModel masked = model;
      bool any = false;
      for (DecodeModel::Query& query : masked.queries) {
        for (std::uint32_t l = at; l < std::min(at + run, model.width); ++l) {
          any |= query.lanes[l] >= 0;
          query.lanes[l] = std::min(query.lanes[l], -1);
        }
      }
      if (any) all.push_back(std::move(masked));
    }
  }
  // Plainer lanes, all at once: -1 for other negatives and for what lies past
  // the pool, then slot 0 as well.
  for (const std::int32_t most : {1 << 20, 0}) {
    DecodeModel plain = model;
    bool any = false;
    for (DecodeModel::Query& query : plain.queries) {
      for (std::int32_t& lane : query.lanes) {
        const std::int32_t plainer =
            lane > 1 << 20 ? -1 : std::clamp(lane, -1, most);
        any |= plainer != lane;
        lane = plainer;
      }
    }
    if (any) all.push_back(std::move(plain));
  }
  for (std::size_t i = 0; i < n; ++i) {
    int tried = 0;
    for (std::uint32_t l = 0; l < model.width && tried < 16; ++l) {
      const std::int32_t lane = model.queries[i].lanes[l];
      const auto power = static_cast<std::int32_t>(
          std::bit_floor(static_cast<std::uint32_t>(std::max(lane, 0))));
      for (const std::int32_t plainer : {0, 1, power, -1, -2}) {
        if (lane < -1 ? plainer >= 0 || plainer <= lane
                      : plainer < 0 || plainer >= lane) {
          continue;
        }
        DecodeModel other = model;
        other.queries[i].lanes[l] = plainer;
        all.push_back(std::move(other));
        ++tried;
      }
    }
    if (i >= 4) break;
  }
  if (model.lengths) {
    // All alike, then one by one.
    for (const std::int32_t most : {0, 1}) {
      DecodeModel plain = model;
      bool any = false;
      for (DecodeModel::Query& query : plain.queries) {
        any |= query.length != std::clamp(query.length, 0, most);
        query.length = std::clamp(query.length, 0, most);
      }
      if (any) all.push_back(std::move(plain));
    }
    for (std::size_t i = 0; i < n && i < 8; ++i) {
      for (const std::int32_t length :
           minimize::Smaller(model.queries[i].length)) {
        DecodeModel other = model;
        other.queries[i].length = length;
        all.push_back(std::move(other));
      }
    }
  }
  return all;
}

}  // namespace mlafuzz
