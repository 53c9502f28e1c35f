#include "fuzz/worker/kernel_call.h"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace mlafuzz {
namespace {

DLDataType DataType(DType dtype) {
  const auto bits = static_cast<std::uint8_t>(8 * DTypeSize(dtype));
  switch (dtype) {
    case BF16:
      return {kDLBfloat, bits, 1};
    case F16:
    case F32:
      return {kDLFloat, bits, 1};
    case I32:
    case I64:
      return {kDLInt, bits, 1};
    default:
      return {kDLUInt, 8, 1};
  }
}

}  // namespace

KernelCall::KernelCall(const TargetSet& targets, const CaseImage& image)
    : targets_(targets), image_(image) {
  const PoolImage& pool = image.pool;
  pool_.bytes.assign(pool.bytes.begin() + pool.offset, pool.bytes.end());
  pool_.shape = {pool.pages, pool.page_size, pool.row_bytes};
  pool_.strides = {pool.page_stride, pool.token_stride(), 1};
  pool_.tensor = {pool_.bytes.data(), {kDLCPU, 0},          3, DataType(U8),
                  pool_.shape.data(), pool_.strides.data(), 0};
  views_.resize(image.steps[0].tensors.size());
  for (std::size_t i = 0; i < views_.size(); ++i) {
    Fill(views_[i], image.steps[0].tensors[i]);
  }
}

void KernelCall::Fill(View& view, const Tensor& tensor) {
  view.bytes = tensor.bytes;
  view.shape = tensor.shape;
  view.strides = tensor.strides;
  view.tensor = {view.bytes.data(),
                 {kDLCPU, 0},
                 tensor.ndim,
                 DataType(tensor.dtype),
                 view.shape.data(),
                 view.strides.data(),
                 0};
}

const DLTensor* KernelCall::Find(TensorId id) const {
  for (std::size_t i = 0; i < views_.size(); ++i) {
    if (image_.steps[0].tensors[i].id == id) return &views_[i].tensor;
  }
  return nullptr;
}

CallResult KernelCall::Run() {
  const StepImage& step = image_.steps[0];
  Target* target = targets_.For(step.kernel);
  const Layout layout = image_.pool.layout;
  if (step.kernel == Kernel::kWriter) {
    return target->Write({layout, Find(TensorId::kKvC), Find(TensorId::kKPe),
                          Find(TensorId::kSlotMapping), &pool_.tensor},
                         {});
  }
  if (step.kernel == Kernel::kGather) {
    return target->Gather(
        {layout, &pool_.tensor, Find(TensorId::kDst),
         Find(TensorId::kBlockTable), Find(TensorId::kWorkspaceStarts),
         Find(TensorId::kSeqLens), Find(TensorId::kSeqStarts), false,
         Find(TensorId::kDstScales)},
        {});
  }
  if (step.kernel == Kernel::kDecode) {
    const Decode& call = step.step->decode();
    return target->Decode(
        {layout, &pool_.tensor, Find(TensorId::kQ), Find(TensorId::kIndices),
         Find(TensorId::kLengths), Find(TensorId::kSinks),
         Find(TensorId::kAttention), Find(TensorId::kLse),
         std::bit_cast<float>(call.softmax_scale_bits()), call.splits(),
         call.declared_topk(), std::max<std::int64_t>(call.query_length(), 1),
         nullptr, Find(TensorId::kExtraCache), Find(TensorId::kExtraIndices),
         Find(TensorId::kExtraLengths)},
        {});
  }
  return CallResult::NotImplemented();
}

}  // namespace mlafuzz
