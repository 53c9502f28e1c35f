#include "oracle/decode/emulated_kernel.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "oracle/decode/emulated_arithmetic.h"
#include "oracle/decode/emulated_floats.h"

namespace mlafuzz {
namespace emulated {
namespace {

class Emulation : EmulatedArithmetic {
 public:
  Emulation(const Contract& contract, const CaseImage& image,
            const StepImage& step, std::mt19937_64& random)
      : EmulatedArithmetic(contract.arithmetic(), random),
        contract_(contract),
        rules_(contract.decode()),
        pool_(image.pool),
        step_(step),
        call_(step.step->decode()),
        q_(*step.Find(TensorId::kQ)),
        indices_(*step.Find(TensorId::kIndices)) {
    footer_ = pool_.layout == DSV4_FOOTER_584;
    for (std::int64_t slot = 0; footer_ && slot < pool_.slots(); ++slot) {
      const std::uint8_t* page = pool_.bytes.data() + pool_.offset +
                                 slot / pool_.page_size * pool_.page_stride;
      const std::int64_t row = slot % pool_.page_size;
      std::vector<std::uint8_t>& token = tokens_.emplace_back(584);
      std::memcpy(token.data(), page + 576 * row, 576);
      std::memcpy(token.data() + 576, page + 576 * pool_.page_size + 8 * row,
                  8);
    }
    const float scale = FromBits(call_.softmax_scale_bits());
    scale_ = scale;
    c_ = Chance(2) ? static_cast<float>(scale * kLog2E)
                   : scale * static_cast<float>(kLog2E);
  }

  EmulatedDecode Run() {
    EmulatedDecode result;
    const std::int64_t queries = q_.shape[0], heads = q_.shape[1];
    for (std::int64_t n = 0; n < queries; ++n) {
      for (std::int64_t h = 0; h < heads; ++h) RunHead(n, h, &result);
    }
    return result;
  }

 private:
  struct Partial {
    bool empty = true;
    float m = -kInf;  // base 2
    float sum = 0;
    float lse2 = -kInf;
    std::vector<float> out;  // normalised
  };

  // ---- one head

  const std::uint8_t* Token(std::int64_t slot) const {
    return footer_ ? tokens_[static_cast<std::size_t>(slot)].data()
                   : pool_.bytes.data() + pool_.RowAt(slot);
  }

  // Column c of the 512 as it meets a weight or q: `scale` is its tile's.
  float Value(Arithmetic::Dequantised mode, const std::uint8_t* row, int c,
              float scale) {
    if (c < codes()) return DequantisedValue(mode, row[c], scale);
    return Rope(row, c - codes());
  }
  float CodeValue(const std::uint8_t* row, int c) const {
    return c < codes() ? E4m3Value(row[c]) : Rope(row, c - codes());
  }
  float Rope(const std::uint8_t* row, int i) const {
    std::uint16_t word;
    std::memcpy(&word, row + (footer_ ? 448 : 528) + 2 * i, 2);
    return Bf16ToFloat(word);
  }

  // Base-2 logit of a sum, before the maximum is taken away.
  float Logit(float s) const {
    switch (scaling_) {
      case 0:
        return c_ * s;
      case 1:
        return static_cast<float>(kLog2E) * (scale_ * s);
      default:
        return scale_ * (static_cast<float>(kLog2E) * s);
    }
  }

  float Argument(float s, float m) const {
    return scaling_ == 0 && fused_ ? std::fma(c_, s, -m) : Logit(s) - m;
  }

  struct HeadQuery {
    std::vector<float> value;  // latent, then rope
  };

  HeadQuery ReadQuery(std::int64_t n, std::int64_t h) {
    HeadQuery q;
    const std::uint8_t* bytes =
        q_.bytes.data() + 2 * (n * q_.strides[0] + h * q_.strides[1]);
    const bool tail = rules_.nope_tail() != DecodeContract::NOPE_TAIL_IGNORED;
    const bool end =
        rules_.nope_tail() == DecodeContract::NOPE_TAIL_MEETS_QUERY_END;
    const std::int64_t columns = tail ? 576 : q_.shape[2];
    for (std::int64_t column = 0; column < columns; ++column) {
      const std::int64_t i =
          end && q_.shape[2] == 512 && column >= 512 ? column - 64 : column;
      if (bytes + 2 * i + 2 > q_.bytes.data() + q_.bytes.size()) {
        q.value.push_back(0);  // whatever lies behind the tensor
        continue;
      }
      std::uint16_t word;
      std::memcpy(&word, bytes + 2 * i, 2);
      q.value.push_back(Bf16ToFloat(word));
    }
    if (query_ == Arithmetic::QUERY_E4M3) {
      for (int t = 0; t < codes() / tile(); ++t) {
        float amax = 0;
        for (int i = 0; i < tile(); ++i) {
          amax = std::fmax(amax, std::fabs(q.value[tile() * t + i]));
        }
        const float s = std::exp2(std::ceil(
            std::log2(static_cast<double>(std::fmax(amax, 1e-4f) / 448.0f))));
        for (int i = 0; i < tile(); ++i) {
          float& x = q.value[tile() * t + i];
          x = ToE4m3(x / s) * s;
        }
      }
    }
    return q;
  }

  float RawScore(const HeadQuery& q, const std::uint8_t* row) {
    std::vector<float> a, b;
    float s = 0;
    for (int t = 0; t < codes() / tile(); ++t) {
      const float scale = ReadScale(contract_.qk(), row, t);
      for (int i = tile() * t; i < tile() * (t + 1); ++i) {
        a.push_back(q.value[i]);
        b.push_back(dequantised_ == Arithmetic::DEQUANTISED_CODES
                        ? E4m3Value(row[i])
                        : DequantisedValue(dequantised_, row[i], scale));
      }
      if (dequantised_ == Arithmetic::DEQUANTISED_CODES) {
        const float part = Sum(a, b, 0, fp8_);
        s = fused_ ? Flush(std::fma(part, scale, s))
                   : Flush(s + Flush(part * scale));
        a.clear();
        b.clear();
      }
    }
    if (footer_ || q.value.size() > 512) {
      for (int i = 0; i < 64; ++i) {
        a.push_back(q.value[codes() + i]);
        b.push_back(Rope(row, i));
      }
    }
    return a.empty() ? s : Sum(a, b, s, false);
  }

  // Weights of a block's keys as they meet V, for one V tile.
  void TileWeights(const std::vector<float>& p,
                   const std::vector<const std::uint8_t*>& rows, int tile,
                   std::vector<float>* first, std::vector<float>* second,
                   float* step) {
    std::vector<float> w;
    float amax = 0;
    for (std::size_t j = 0; j < p.size(); ++j) {
      w.push_back(Flush(p[j] * ReadScale(contract_.v(), rows[j], tile)));
      amax = std::fmax(amax, std::fabs(w.back()));
    }
    *step = std::fmax(amax, 1e-10f) / 448.0f;
    for (float x : w) {
      const float y = reciprocal_ ? x * (1.0f / *step) : x / *step;
      first->push_back(ToE4m3(y));
      if (weights_ == Arithmetic::WEIGHTS_E4M3_TWO_PASS) {
        second->push_back(ToE4m3(y - first->back()));
      }
    }
  }

  // One split: keys' rows grouped in blocks.
  Partial RunSplit(const HeadQuery& q,
                   const std::vector<std::vector<const std::uint8_t*>>& blocks,
                   std::optional<float> sink2) {
    Partial part;
    part.out.assign(512, 0);
    const Arithmetic::Dequantised v_mode =
        dequantised_ == Arithmetic::DEQUANTISED_CODES
            ? Arithmetic::DEQUANTISED_FP32
            : dequantised_;

    for (const auto& rows : blocks) {
      if (rows.empty()) continue;
      std::vector<float> s;
      float m = part.m;
      for (const std::uint8_t* row : rows) {
        s.push_back(RawScore(q, row));
        m = std::fmax(m, Logit(s.back()));
      }
      const float rescale = part.empty ? 0 : Exp2(part.m - m);
      std::vector<float> p;
      for (float x : s) p.push_back(Exp2(Argument(x, m)));
      part.sum = PlainSum(p, part.empty ? 0 : part.sum * rescale);
      for (float& o : part.out) o = part.empty ? 0 : Flush(o * rescale);
      part.m = m;
      part.empty = false;
      if (ScaledWeights()) {
        for (int t = 0; t < tiles(); ++t) {
          std::vector<float> first, second;
          float step;
          TileWeights(p, rows, t, &first, &second, &step);
          for (int c = tile() * t; c < tile() * (t + 1); ++c) {
            std::vector<float> column;
            for (const std::uint8_t* row : rows) {
              column.push_back(CodeValue(row, c));
            }
            float sum = Sum(first, column, 0, true);
            if (!second.empty()) sum = Sum(second, column, sum, true);
            part.out[c] = Flush(part.out[c] + Flush(sum * step));
          }
        }
        continue;
      }
      if (weights_ == Arithmetic::WEIGHTS_BF16) {
        for (float& x : p) x = Flush(ToBf16(x));
      }
      for (int t = 0; t < tiles(); ++t) {
        std::vector<float> scales;
        for (const std::uint8_t* row : rows) {
          scales.push_back(ReadScale(contract_.v(), row, t));
        }
        for (int c = tile() * t; c < tile() * (t + 1); ++c) {
          std::vector<float> v;
          for (std::size_t j = 0; j < rows.size(); ++j) {
            v.push_back(Value(v_mode, rows[j], c, scales[j]));
          }
          part.out[c] = Sum(p, v, part.out[c], false);
        }
      }
    }
    if (part.empty) return part;
    part.lse2 = part.m + Log2(part.sum);
    float denominator = part.sum;
    if (sink2) denominator = part.sum + Exp2Unbounded(*sink2 - part.m);
    for (float& o : part.out) o = Divide(o, denominator);
    return part;
  }

  float Exp2Unbounded(float x) { return x > 128 ? kInf : Exp2(x); }

  // What a weight of 0 makes of slot 0.
  void ReadSlot0(std::vector<float>* out) {
    if (rules_.masked_lanes() != DecodeContract::MASKED_READ_SLOT0) return;
    const std::uint8_t* row = Token(0);
    for (int c = 0; c < 512; ++c) {
      const float scale = ReadScale(contract_.v(), row, c / tile());
      (*out)[c] += 0 * (CodeValue(row, c) * scale);
    }
  }

  void RunHead(std::int64_t n, std::int64_t h, EmulatedDecode* result) {
    const std::int64_t width = indices_.shape[1];
    // Blocks of live rows.
    std::vector<std::vector<const std::uint8_t*>> blocks((width + block_ - 1) /
                                                         block_);
    bool any = false;
    const Tensor* lengths = step_.Find(TensorId::kLengths);
    std::int64_t length = width;
    if (rules_.capacity() == DecodeContract::DECLARED_TOPK_CLIPS &&
        call_.declared_topk() > 0) {
      length = std::min<std::int64_t>(length, call_.declared_topk());
    }
    if (lengths != nullptr &&
        rules_.length() == DecodeContract::LENGTH_MASKED) {
      std::int32_t given;
      std::memcpy(&given, lengths->bytes.data() + 4 * n, 4);
      length = std::clamp<std::int64_t>(given, 0, length);
    }
    for (std::int64_t lane = 0; lane < length; ++lane) {
      std::int32_t index;
      std::memcpy(&index,
                  indices_.bytes.data() + 4 * (n * indices_.strides[0] + lane),
                  4);
      if (index < 0) continue;
      blocks[lane / block_].push_back(Token(index));
      any = true;
    }
    std::optional<float> sink;
    if (const Tensor* sinks = step_.Find(TensorId::kSinks);
        sinks != nullptr && rules_.sink() != DecodeContract::SINK_DROPPED) {
      float value;
      std::memcpy(&value, sinks->bytes.data() + 4 * h, 4);
      if (value != -kInf) sink = value;
    }
    const bool in_lse = sink && rules_.sink() == DecodeContract::SINK_IN_LSE;
    const bool base_e = rules_.lse_base() == DecodeContract::BASE_E;
    if (rules_.leading_block() == DecodeContract::LEADING_BLOCK_NAN &&
        !blocks.empty() && blocks[0].empty()) {
      for (int c = 0; c < 512; ++c) Push(kNan, result);
      result->lse.push_back(kNan);
      return;
    }
    if (!any && rules_.empty_row() == DecodeContract::UNIT_WEIGHTS) {
      for (int t = 0; t < tiles(); ++t) {
        const std::uint8_t* row = Token(0);
        const float scale = ReadScale(contract_.v(), row, t);
        for (int c = tile() * t; c < tile() * (t + 1); ++c) {
          Push(Value(dequantised_, row, c, scale), result);
        }
      }
      result->lse.push_back(-6e28f);
      return;
    }
    if (!any) {
      for (int c = 0; c < 512; ++c) Push(0, result);
      float lse = rules_.empty_row() == DecodeContract::ZERO_AND_PLUS_INF
                      ? kInf
                      : -kInf;
      if (in_lse && lse < 0) {
        lse = base_e ? *sink : *sink * static_cast<float>(kLog2E);
      }
      result->lse.push_back(lse);
      return;
    }
    std::optional<float> sink2;
    if (sink) sink2 = *sink * static_cast<float>(kLog2E);

    const HeadQuery q = ReadQuery(n, h);
    const std::int64_t count = static_cast<std::int64_t>(blocks.size());
    std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
    std::int64_t splits = call_.splits();
    std::int64_t per_split = a_.blocks_per_split();
    if (a_.blocks_per_split() == 0 || a_.block() == 0) {
      splits = Chance(2) ? 1 + Draw(count) : 0;
      per_split = 1 + Draw(count);
    }
    if (splits > 0) {
      for (std::int64_t i = 0; i < splits; ++i) {
        ranges.push_back({i * count / splits, (i + 1) * count / splits});
      }
    } else {
      for (std::int64_t b = 0; b < count; b += per_split) {
        ranges.push_back({b, std::min(count, b + per_split)});
      }
    }
    const bool single = ranges.size() == 1;
    std::vector<Partial> parts;
    for (const auto& [first, end] : ranges) {
      parts.push_back(
          RunSplit(q, {blocks.begin() + first, blocks.begin() + end},
                   single && sink_form_ == 0 ? sink2 : std::nullopt));
      std::int64_t masked = std::min(end * block_, width) - first * block_;
      for (std::int64_t b = first; b < end; ++b) {
        masked -= static_cast<std::int64_t>(blocks[b].size());
      }
      if (masked > 0 && !parts.back().empty) ReadSlot0(&parts.back().out);
    }
    float lse2;
    std::vector<float> out(512, 0);
    if (single) {
      lse2 = parts[0].lse2;
      out = parts[0].out;
      if (sink2 && sink_form_ != 0) {
        // out * sigmoid(lse - sink).
        const float factor = 1.0f / (1.0f + Exp2Unbounded(*sink2 - lse2));
        for (float& o : out) o = Flush(o * factor);
      }
      if (in_lse) lse2 = WithSink(lse2, *sink2);
    } else {
      float top = -kInf;
      for (Partial& part : parts) {
        if (partials_ == Arithmetic::PARTIALS_BF16) {
          for (float& o : part.out) o = Flush(ToBf16(o));
        }
        top = std::fmax(top, part.lse2);
      }
      std::vector<float> w;
      float sum = 0;
      for (const Partial& part : parts) {
        w.push_back(part.empty ? 0 : Exp2(part.lse2 - top));
        sum += w.back();
      }
      lse2 = top + Log2(sum);
      float denominator = sum;
      if (sink2) denominator = sum + Exp2Unbounded(*sink2 - top);
      for (int c = 0; c < 512; ++c) {
        float o = 0;
        for (std::size_t i = 0; i < parts.size(); ++i) {
          if (parts[i].empty) continue;
          o = Flush(o + Flush(w[i] * parts[i].out[c]));
        }
        out[c] = Divide(o, denominator);
      }
      if (in_lse) lse2 = WithSink(lse2, *sink2);
    }
    for (float o : out) Push(o, result);
    result->lse.push_back(base_e ? lse2 * static_cast<float>(kLn2) : lse2);
  }

  // log2(2^lse + 2^sink), by the larger of the two.
  float WithSink(float lse2, float sink2) {
    if (std::isnan(lse2) || std::isnan(sink2)) return kNan;
    if (sink2 == kInf || lse2 == kInf) return kInf;
    const float top = std::fmax(lse2, sink2);
    return top + Log2(Exp2(lse2 - top) + Exp2(sink2 - top));
  }

  void Push(float x, EmulatedDecode* result) const {
    result->out.push_back(x);
    const float rounded = Flush(ToBf16(x));
    result->bits.push_back(static_cast<std::uint16_t>(ToBits(rounded) >> 16));
  }

  const Contract& contract_;
  const DecodeContract& rules_;
  const PoolImage& pool_;
  const StepImage& step_;
  const Decode& call_;
  const Tensor& q_;
  const Tensor& indices_;
  std::vector<std::vector<std::uint8_t>> tokens_;  // where pages have a footer
  float scale_, c_;
};

}  // namespace
}  // namespace emulated

EmulatedDecode EmulateDecode(const Contract& contract, const CaseImage& image,
                             const StepImage& step, std::mt19937_64& random) {
  return emulated::Emulation(contract, image, step, random).Run();
}

}  // namespace mlafuzz
