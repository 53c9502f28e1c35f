#include "oracle/some_rows.h"

#include <cstddef>
#include <map>

#include "oracle/layout.h"

namespace mlafuzz::oracle {
namespace {

using Bytes = absl::Span<const std::uint8_t>;

// What is known of one row's bytes.
struct Row {
  bool as_expected = true;
  bool as_other = true;
  bool as_before = true;
};

// The rows of a step that differ in any byte from what is compared, by number.
// Numbers of several tensors do not meet.
class Rows {
 public:
  // `row_of`: a byte's row; negative: it is no row's, and must be as expected.
  template <class RowOf>
  bool Compare(Bytes want, Bytes other, Bytes before, Bytes got,
               const RowOf& row_of) {
    if (want.size() != got.size() || other.size() != got.size() ||
        before.size() != got.size()) {
      return false;
    }
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (want[i] == got[i] && other[i] == got[i] && before[i] == got[i]) {
        continue;
      }
      const std::int64_t number = row_of(static_cast<std::int64_t>(i));
      if (number < 0) {
        if (want[i] != got[i] || other[i] != got[i]) return false;
        continue;
      }
      Row& row = rows_[number];
      row.as_expected &= want[i] == got[i];
      row.as_other &= other[i] == got[i];
      row.as_before &= before[i] == got[i];
    }
    return true;
  }

  std::int64_t UnderOther(bool untouched_count) const {
    std::int64_t wrong = 0;
    bool right_otherwise = false;
    for (const auto& [number, row] : rows_) {
      right_otherwise |= row.as_expected && !row.as_other;
      if (row.as_expected) continue;
      if (!row.as_other || (row.as_before && !untouched_count)) return 0;
      ++wrong;
    }
    return right_otherwise ? wrong : 0;
  }

 private:
  std::map<std::int64_t, Row> rows_;
};

}  // namespace

std::int64_t RowsUnderOtherRule(const CaseImage& image, int step,
                                absl::Span<const std::uint8_t> pool_before,
                                const Expectation& expected,
                                const Expectation& other,
                                const AfterImage& after) {
  if (!expected.unsettled.empty() || !other.unsettled.empty() ||
      expected.outside_writes > 0 || other.outside_writes > 0) {
    return 0;
  }
  const StepImage& s = image.steps[static_cast<std::size_t>(step)];
  Rows rows;
  const bool writes = s.kernel == Kernel::kWriter;
  if (!rows.Compare(ExpectedPool(expected, pool_before),
                    ExpectedPool(other, pool_before), pool_before, after.pool,
                    [&](std::int64_t byte) {
                      return writes ? PlaceInPool(image.pool, byte).slot : -1;
                    })) {
    return 0;
  }
  const RowLayout& layout = LayoutOf(image.pool.layout);
  for (std::size_t t = 0; t < s.tensors.size(); ++t) {
    const Tensor& tensor = s.tensors[t];
    if (!tensor.output) continue;
    const std::int64_t element = DTypeSize(tensor.dtype);
    std::int64_t row_bytes = element * tensor.strides[0];
    if (s.kernel == Kernel::kConvert) {
      row_bytes = element;
    } else if (tensor.id == TensorId::kDstScales) {
      // Which of them is a row's is a rule of its own.
      row_bytes = layout.tiles() * layout.scale_bytes;
    }
    if (row_bytes <= 0) return 0;
    // Codes and scales of a row stand under one number, elements of an index
    // conversion's outputs do not.
    const std::int64_t first =
        s.kernel == Kernel::kConvert
            ? static_cast<std::int64_t>(t) * (std::int64_t{1} << 40)
            : 0;
    if (!rows.Compare(expected.outputs[t], other.outputs[t], tensor.bytes,
                      after.outputs[t], [&](std::int64_t byte) {
                        return first + byte / row_bytes;
                      })) {
      return 0;
    }
  }
  return rows.UnderOther(s.kernel == Kernel::kConvert);
}

}  // namespace mlafuzz::oracle
