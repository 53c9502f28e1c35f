#include "properties/relations/decode_zero_rope.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "properties/relations/decode_agreement.h"
#include "properties/relations/decode_call.h"

namespace mlafuzz {
namespace {

constexpr std::int64_t kLatent = 512;
constexpr std::int64_t kRope = 64;
constexpr std::int64_t kTailAt = 528;

bool Accepts(const DecodeContract& decode, std::uint32_t pe_dim) {
  return std::find(decode.pe_dims().begin(), decode.pe_dims().end(), pe_dim) !=
         decode.pe_dims().end();
}

// q with `columns` columns, dense, those past the latent 0.
Tensor QueryWith(const Tensor& q, std::int64_t columns) {
  Tensor t = q;
  t.shape[2] = columns;
  t.strides = {q.shape[1] * columns, columns, 1};
  t.bytes.assign(
      static_cast<std::size_t>(2 * q.shape[0] * q.shape[1] * columns), 0);
  for (std::int64_t query = 0; query < q.shape[0]; ++query) {
    for (std::int64_t head = 0; head < q.shape[1]; ++head) {
      std::memcpy(
          t.bytes.data() + 2 * (query * t.strides[0] + head * t.strides[1]),
          q.bytes.data() + 2 * (query * q.strides[0] + head * q.strides[1]),
          2 * kLatent);
    }
  }
  return t;
}

// Infs and NaNs of a tail would not vanish beside a 0.
void MakeTailsFinite(PoolImage& pool) {
  for (std::int64_t slot = 0; slot < pool.slots(); ++slot) {
    const std::int64_t at = pool.RowAt(slot) + kTailAt;
    for (std::int64_t i = 0; i < kRope; ++i) {
      const std::size_t byte = static_cast<std::size_t>(at + 2 * i);
      if (byte + 2 > pool.bytes.size()) return;
      std::uint16_t bits;
      std::memcpy(&bits, &pool.bytes[byte], 2);
      if ((bits & 0x7f80) != 0x7f80) continue;
      bits = static_cast<std::uint16_t>(bits & ~0x4000);
      std::memcpy(&pool.bytes[byte], &bits, 2);
    }
  }
}

}  // namespace

bool DecodeZeroRope::Applies(const Contract& contract, const CaseImage& image,
                             const StepImage& step) {
  const PoolImage& pool = image.pool;
  return contract.decode().nope_tail() == DecodeContract::NOPE_TAIL_IGNORED &&
         Accepts(contract.decode(), 0) && Accepts(contract.decode(), kRope) &&
         pool.row_stride >= 656 &&
         pool.page_stride >= pool.page_size * pool.row_stride &&
         HasKeys(contract, image, step);
}

absl::Status DecodeZeroRope::Run(StepContext& context, Finding* finding) {
  std::vector<CaseImage> images(2, OneStep(context));
  for (std::size_t i = 0; i < images.size(); ++i) {
    MakeTailsFinite(images[i].pool);
    Tensor& q = *images[i].steps[0].Find(TensorId::kQ);
    q = QueryWith(q, i == 0 ? kLatent : kLatent + kRope);
  }
  std::vector<Observation> observations;
  if (absl::Status s = Rerun(context, images, &observations, finding);
      !s.ok()) {
    return s;
  }
  if (finding->ok()) {
    *finding =
        Compare(context.contract(), {images[0], observations[0].steps[0]},
                {images[1], observations[1].steps[0]}, {});
  }
  if (!finding->ok()) {
    finding->detail =
        absl::StrCat("a rope of zeros against pe_dim 0: ", finding->detail);
  }
  return absl::OkStatus();
}

}  // namespace mlafuzz
