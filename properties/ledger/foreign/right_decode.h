// A right sparse decode: splits of the candidate list, an online softmax over
// tiles of 64 lanes in each, then a merge of the splits' normalised outputs and
// base-2 LSEs. Each step is a virtual function, so that a wrong one is a class
// that overrides one of them.
#ifndef MLAFUZZ_PROPERTIES_LEDGER_FOREIGN_RIGHT_DECODE_H_
#define MLAFUZZ_PROPERTIES_LEDGER_FOREIGN_RIGHT_DECODE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/target_helpers.h"
#include "properties/ledger/foreign/formats.h"

namespace wild {

constexpr float kLog2E = 1.44269504f;
constexpr int64_t kLanes = 64;  // of a tile

class RightDecode {
 public:
  virtual ~RightDecode() = default;

  int32_t Decode(const MlafuzzDecode& args) {
    for (int64_t query = 0; query < args.q->shape[0]; ++query) {
      const int64_t width = Width(args, query);
      const std::vector<Key> keys = Keys(args, query, width);
      for (int64_t head = 0; head < args.q->shape[1]; ++head) {
        std::vector<Partial> partials;
        for (int64_t split = 0; split < Splits(args, width); ++split) {
          partials.push_back(
              Attend(args, query, head, keys, Part(args, width, split)));
        }
        Merge(args, query, head, partials);
      }
    }
    return MLAFUZZ_OK;
  }

 protected:
  struct Key {
    bool valid = false;
    uint8_t codes[kLatent];
    float k[kLatent + kRope];
  };
  struct Range {
    int64_t begin;
    int64_t end;
  };
  // Of one split.
  struct Partial {
    float lse = -INFINITY;  // base 2
    std::vector<float> out = std::vector<float>(kLatent, 0.0f);
    bool any = false;  // whether it has a key
  };

  // Lanes at or past a row's length are no keys.
  static int64_t Width(const MlafuzzDecode& args, int64_t query) {
    const int64_t width = args.indices->shape[1];
    if (args.lengths == nullptr) return width;
    const int64_t length = *mlafuzz::At<int32_t>(args.lengths, query);
    return std::clamp<int64_t>(length, 0, width);
  }

  static std::vector<Key> Keys(const MlafuzzDecode& args, int64_t query,
                               int64_t width) {
    std::vector<Key> keys(static_cast<size_t>(width));
    for (int64_t lane = 0; lane < width; ++lane) {
      const int32_t slot = *mlafuzz::At<int32_t>(args.indices, query, lane);
      if (slot < 0) continue;
      Key& key = keys[static_cast<size_t>(lane)];
      key.valid = true;
      const uint8_t* row = mlafuzz::CacheRow(args.cache, slot);
      float scales[kLatent / kTile];
      uint16_t rope[kRope];
      std::memcpy(scales, row + kScaleAt, sizeof scales);
      std::memcpy(rope, row + kRopeAt, sizeof rope);
      std::memcpy(key.codes, row, kLatent);
      for (int d = 0; d < kLatent; ++d) {
        key.k[d] = FromE4m3(row[d]) * scales[d / kTile];
      }
      for (int d = 0; d < kRope; ++d) key.k[kLatent + d] = FromBf16(rope[d]);
    }
    return keys;
  }

  static int64_t Tiles(int64_t width) { return (width + kLanes - 1) / kLanes; }

  // How many splits a row gets: as asked for, else one for every 8 tiles.
  virtual int64_t Splits(const MlafuzzDecode& args, int64_t width) {
    if (args.splits > 0) return args.splits;
    return std::max<int64_t>(1, (Tiles(width) + 7) / 8);
  }

  // The lanes of one split: whole tiles. Late splits may get none.
  virtual Range Part(const MlafuzzDecode& args, int64_t width, int64_t split) {
    const int64_t splits = Splits(args, width);
    const int64_t lanes = (Tiles(width) + splits - 1) / splits * kLanes;
    return {std::min(width, split * lanes),
            std::min(width, (split + 1) * lanes)};
  }

  virtual float Query(const MlafuzzDecode& args, int64_t query, int64_t head,
                      int64_t column) {
    return FromBf16(*mlafuzz::At<uint16_t>(args.q, query, head, column));
  }

  virtual float Value(const Key& key, size_t d) { return key.k[d]; }

  // Base-2 logit of a lane that pads the last tile.
  virtual float PaddingLogit() { return -INFINITY; }

  Partial Attend(const MlafuzzDecode& args, int64_t query, int64_t head,
                 const std::vector<Key>& keys, Range lanes) {
    Partial part;
    std::vector<float> q;
    for (int64_t d = 0; d < args.q->shape[2]; ++d) {
      q.push_back(Query(args, query, head, d));
    }
    float top = -INFINITY;
    float sum = 0;
    for (int64_t tile = lanes.begin; tile < lanes.end; tile += kLanes) {
      float logits[kLanes];
      float next = top;
      for (int64_t i = 0; i < kLanes; ++i) {
        const int64_t lane = tile + i;
        logits[i] = -INFINITY;
        if (lane >= lanes.end) {
          logits[i] = PaddingLogit();
        } else if (keys[size_t(lane)].valid) {
          part.any = true;
          float dot = 0;
          for (size_t d = 0; d < q.size(); ++d) {
            dot += q[d] * keys[size_t(lane)].k[d];
          }
          logits[i] = dot * (args.softmax_scale * kLog2E);
        }
        // A NaN must stay: max() would drop it.
        next = std::isnan(logits[i]) || std::isnan(next)
                   ? NAN
                   : std::max(next, logits[i]);
      }
      if (next == -INFINITY) continue;  // no key yet
      const float rescale = top == next ? 1 : std::exp2(top - next);
      sum *= rescale;
      for (float& out : part.out) out *= rescale;
      for (int64_t i = 0; i < kLanes; ++i) {
        if (logits[i] == -INFINITY) continue;
        const float weight = std::exp2(logits[i] - next);
        sum += weight;
        if (tile + i >= lanes.end) continue;
        const Key& key = keys[size_t(tile + i)];
        for (size_t d = 0; d < kLatent; ++d) {
          part.out[d] += weight * Value(key, d);
        }
      }
      top = next;
    }
    if (!part.any) return part;
    for (float& out : part.out) out /= sum;
    part.lse = top + std::log2(sum);
    return part;
  }

  virtual void Merge(const MlafuzzDecode& args, int64_t query, int64_t head,
                     const std::vector<Partial>& partials) {
    const float sink = args.sinks == nullptr
                           ? -INFINITY
                           : *mlafuzz::At<float>(args.sinks, head) * kLog2E;
    float top = sink;
    bool any = false;
    for (const Partial& part : partials) {
      any = any || part.any;
      top = std::isnan(part.lse) || std::isnan(top) ? NAN
                                                    : std::max(top, part.lse);
    }
    std::vector<float> out(kLatent, 0.0f);
    if (!any) {
      StoreOut(args, query, head, out, partials.size());
      StoreLse(args, query, head, sink, partials.size(), false);
      return;
    }
    float sum = sink == top ? 1 : std::exp2(sink - top);
    for (const Partial& part : partials) {
      if (!part.any) continue;
      const float weight = part.lse == top ? 1 : std::exp2(part.lse - top);
      sum += weight;
      for (size_t d = 0; d < kLatent; ++d) out[d] += weight * part.out[d];
    }
    for (float& value : out) value /= sum;
    StoreOut(args, query, head, out, partials.size());
    StoreLse(args, query, head, top + std::log2(sum), partials.size(), true);
  }

  virtual void StoreOut(const MlafuzzDecode& args, int64_t query, int64_t head,
                        const std::vector<float>& out, size_t /*splits*/) {
    auto* row = mlafuzz::At<uint16_t>(args.out, query, head);
    for (size_t d = 0; d < kLatent; ++d) row[d] = ToBf16(out[d]);
  }

  virtual void StoreLse(const MlafuzzDecode& args, int64_t query, int64_t head,
                        float lse, size_t /*splits*/, bool /*any*/) {
    *mlafuzz::At<float>(args.lse, query, head) = lse;
  }

  // Element `flat` of a [queries, heads] tensor in row order.
  static float* Flat(const DLTensor* lse, int64_t flat) {
    return mlafuzz::At<float>(lse, flat / lse->shape[1], flat % lse->shape[1]);
  }
};

}  // namespace wild

#endif  // MLAFUZZ_PROPERTIES_LEDGER_FOREIGN_RIGHT_DECODE_H_
