#include "fuzz/worker/evidence.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "fuzz/worker/decode_evidence.h"
#include "fuzz/worker/evidence_ranges.h"
#include "oracle/bf16.h"
#include "oracle/damage.h"
#include "oracle/expect.h"
#include "oracle/layout.h"
#include "oracle/pool_history.h"
#include "oracle/tensor_view.h"
#include "oracle/validity.h"

namespace mlafuzz {
namespace {

using Bytes = absl::Span<const std::uint8_t>;

std::string ToString(Bytes bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Evidence::Buffer PoolBuffer(const PoolImage& pool, Bytes before) {
  Evidence::Buffer buffer;
  buffer.set_name("cache");
  buffer.set_dtype(DTypeName(U8));
  for (const std::int64_t size : {pool.pages, pool.page_size, pool.row_bytes}) {
    buffer.add_shape(size);
  }
  for (const std::int64_t stride :
       {pool.page_stride, pool.row_stride, std::int64_t{1}}) {
    buffer.add_strides(stride);
  }
  buffer.set_origin(pool.offset);
  buffer.set_before(ToString(before));
  return buffer;
}

Evidence::Buffer TensorBuffer(const Tensor& tensor) {
  Evidence::Buffer buffer;
  buffer.set_name(TensorName(tensor.id));
  buffer.set_dtype(DTypeName(tensor.dtype));
  for (int i = 0; i < tensor.ndim; ++i) {
    const auto d = static_cast<std::size_t>(i);
    buffer.add_shape(tensor.shape[d]);
    buffer.add_strides(tensor.strides[d]);
  }
  buffer.set_misalignment(static_cast<std::uint32_t>(tensor.misalignment));
  buffer.set_before(ToString(tensor.bytes));
  return buffer;
}

// Words of `expected` that are NaN where the contract takes any NaN.
void OpenScales(const Contract& contract, const PoolImage& pool, Bytes expected,
                ByteSet& open) {
  if (contract.writer().nan() != WriterContract::NAN_POISONS_SCALE) return;
  const oracle::RowLayout& layout = oracle::LayoutOf(pool.layout);
  for (std::int64_t slot = 0; slot < pool.slots(); ++slot) {
    for (int tile = 0; tile < layout.tiles(); ++tile) {
      const std::int64_t at =
          pool.RowAt(slot) + layout.scales_at + tile * layout.scale_bytes;
      if (at + 4 > static_cast<std::int64_t>(expected.size())) continue;
      const auto bits = oracle::LoadBytes<std::uint32_t>(expected.data() + at);
      if ((bits & 0x7fffffffu) > 0x7f800000u) open.Add(at, at + 4);
    }
  }
}

void OpenValues(const Contract& contract, const Tensor& tensor, Bytes expected,
                ByteSet& open) {
  if (tensor.id != TensorId::kDst ||
      contract.gather().nan() != GatherContract::NAN_ANY) {
    return;
  }
  const std::int64_t columns =
      std::min<std::int64_t>(tensor.shape[1], oracle::kLatentColumns);
  for (std::int64_t row = 0; row < tensor.shape[0]; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      const std::int64_t at = 2 * (row * tensor.strides[0] + column);
      if (at + 2 > static_cast<std::int64_t>(expected.size())) continue;
      if (oracle::IsBf16Nan(
              oracle::LoadBytes<std::uint16_t>(expected.data() + at))) {
        open.Add(at, at + 2);
      }
    }
  }
}

void SetResult(Bytes expected, Bytes got, bool seen, const ByteSet& open,
               Evidence::Buffer& buffer) {
  buffer.set_expected(ToString(expected));
  open.CopyTo(*buffer.mutable_open());
  if (!seen) return;
  buffer.set_got(ToString(got));
  ByteSet wrong;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    if (expected[i] != got[i] && !open.Has(at)) wrong.Add(at, at + 1);
  }
  wrong.CopyTo(*buffer.mutable_wrong());
}

void SetScalars(const CaseImage& image, const StepImage& step,
                Evidence& evidence) {
  switch (step.kernel) {
    case Kernel::kWriter:
      break;
    case Kernel::kGather:
      evidence.set_nope(step.step->gather().nope());
      evidence.set_softmax_scale_bits(step.step->gather().tensor_scale_bits());
      break;
    case Kernel::kConvert:
      evidence.set_page_size(image.pool.page_size);
      break;
    case Kernel::kDecode: {
      const Decode& call = step.step->decode();
      evidence.set_softmax_scale_bits(call.softmax_scale_bits());
      evidence.set_splits(call.splits());
      evidence.set_declared_topk(call.declared_topk());
      evidence.set_query_length(std::max<std::int64_t>(call.query_length(), 1));
      break;
    }
  }
}

// Bytes of the pool (tensor -1) or of a tensor that memory of nobody's decides.
ByteSet Unsettled(const Expectation& expected, int tensor) {
  ByteSet open;
  for (const ByteRange& range : expected.unsettled) {
    if (range.tensor == tensor) open.Add(range.begin, range.end);
  }
  return open;
}

}  // namespace

Evidence EvidenceOf(const Contract& contract, const CaseImage& image,
                    const Observation& observation, int number) {
  const StepImage& step = image.steps[static_cast<std::size_t>(number)];
  const StepObservation& seen =
      observation.steps[static_cast<std::size_t>(number)];
  const oracle::PoolHistory history =
      oracle::PoolHistory::Before(image, observation, number);
  const Bytes before = history.before();
  Evidence evidence;
  evidence.set_kernel(KernelName(step.kernel));
  evidence.set_layout(static_cast<std::uint32_t>(image.pool.layout));
  evidence.set_step(static_cast<std::uint32_t>(number));
  evidence.set_ended(CallStatusName(seen.status));
  const bool refuses =
      Classify(contract, image, number).validity == Validity::kInvalid;
  evidence.set_should_end(
      CallStatusName(refuses ? CallStatus::kRefused : CallStatus::kOk));
  evidence.set_message(seen.message);
  if (image.source != nullptr) evidence.set_schedule(image.source->schedule());
  SetScalars(image, step, evidence);
  for (const Stray& stray : seen.strays) {
    Evidence::Stray& s = *evidence.add_strays();
    s.set_buffer(stray.tensor ? TensorName(*stray.tensor) : "cache");
    s.set_first(stray.first);
    s.set_last(stray.last);
    s.set_count(stray.count);
  }
  oracle::AfterImage after;
  const bool all_seen =
      (seen.status == CallStatus::kOk || seen.status == CallStatus::kRefused ||
       seen.status == CallStatus::kError) &&
      oracle::AfterImageOf(step, seen, history.after(), &after);
  const bool decodes = step.kernel == Kernel::kDecode;
  // A call that had to be refused, had to change nothing.
  Expectation expected;
  if (!refuses && !decodes) expected = Expect(contract, image, number, before);

  Evidence::Buffer& pool = *evidence.add_buffers();
  pool = PoolBuffer(image.pool, before);
  const Bytes pool_expected = oracle::ExpectedPool(expected, before);
  ByteSet pool_open = Unsettled(expected, -1);
  if (step.kernel == Kernel::kWriter) {
    OpenScales(contract, image.pool, pool_expected, pool_open);
  }
  SetResult(pool_expected, all_seen ? after.pool : Bytes(), all_seen, pool_open,
            pool);
  for (std::size_t i = 0; i < step.tensors.size(); ++i) {
    const Tensor& tensor = step.tensors[i];
    Evidence::Buffer& buffer = *evidence.add_buffers();
    buffer = TensorBuffer(tensor);
    if (!tensor.output || (decodes && !refuses)) continue;
    const Bytes want = expected.outputs.empty() || expected.outputs[i].empty()
                           ? Bytes(tensor.bytes)
                           : Bytes(expected.outputs[i]);
    ByteSet open = Unsettled(expected, static_cast<int>(i));
    OpenValues(contract, tensor, want, open);
    SetResult(want, all_seen ? Bytes(after.outputs[i]) : Bytes(), all_seen,
              open, buffer);
  }
  if (decodes && !refuses) {
    AddDecodeResults(contract, image, number, before, seen, all_seen, evidence);
  }
  return evidence;
}

}  // namespace mlafuzz
