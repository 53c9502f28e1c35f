#include "oracle/validity.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "oracle/decode/validity_decode.h"
#include "oracle/layout.h"
#include "oracle/validity_parts.h"

namespace mlafuzz {

StepValidity Classify(const Contract& contract, const CaseImage& image,
                      int step) {
  const StepImage& s = image.steps[static_cast<std::size_t>(step)];
  if (s.is_patch) return {};
  const Layout layout =
      contract.layout() == LAYOUT_UNSPECIFIED ? FP8_DS_MLA : contract.layout();
  if (layout != image.pool.layout && s.kernel != Kernel::kConvert) {
    return {Validity::kUnspecified,
            absl::StrCat(KernelName(s.kernel), ".layout"),
            absl::StrCat("the pool is ", Layout_Name(image.pool.layout),
                         ", the contract is of ", Layout_Name(layout))};
  }
  switch (s.kernel) {
    case Kernel::kWriter:
      return oracle::ClassifyWrite(contract.writer(), image.pool, s);
    case Kernel::kGather:
      return oracle::ClassifyGather(contract.gather(), image.pool, s);
    case Kernel::kConvert:
      return oracle::ClassifyConvert(contract.convert(), image.pool, s);
    case Kernel::kDecode:
      return ClassifyDecode(contract, image, step);
  }
  return {};
}

namespace oracle {
namespace {

// By strength; the order of the enum itself is that of the documentation.
int Strength(Validity validity) {
  switch (validity) {
    case Validity::kValid:
      return 0;
    case Validity::kBoundary:
      return 1;
    case Validity::kInvalid:
      return 2;
    case Validity::kUnspecified:
      return 3;
  }
  return 0;
}

}  // namespace

void RuleCollector::Keep(Validity validity, absl::string_view rule,
                         Reason reason) {
  if (Strength(validity) <= Strength(kept_.validity)) return;
  kept_.validity = validity;
  kept_.rule.assign(rule.data(), rule.size());
  kept_.reason = reason();
}

bool HasRowBytes(const PoolImage& pool) {
  return pool.row_bytes == LayoutOf(pool.layout).row_bytes;
}

int PoolAlignment(const PoolImage& pool) {
  return LayoutOf(pool.layout).copied ? 4 : 8;
}

bool IsAligned(const PoolImage& pool) {
  const std::int64_t alignment = PoolAlignment(pool);
  return pool.offset % alignment == 0 &&
         (pool.page_size <= 1 || pool.row_stride % alignment == 0) &&
         (pool.pages <= 1 || pool.page_stride % alignment == 0);
}

bool Overlaps(const PoolImage& pool) {
  if (pool.split()) {
    return pool.pages > 1 && pool.page_stride < pool.page_bytes();
  }
  const std::int64_t row = LayoutOf(pool.layout).row_bytes;
  if (pool.page_size > 1 && pool.row_stride < row) return true;
  return pool.pages > 1 &&
         pool.page_stride < (pool.page_size - 1) * pool.row_stride + row;
}

bool IsAligned(const Tensor& tensor, std::int64_t alignment) {
  if (tensor.shape[0] == 0) return true;
  if (static_cast<std::int64_t>(tensor.misalignment) % alignment != 0) {
    return false;
  }
  return tensor.shape[0] == 1 ||
         tensor.strides[0] * DTypeSize(tensor.dtype) % alignment == 0;
}

}  // namespace oracle
}  // namespace mlafuzz
