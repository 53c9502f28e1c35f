#include "oracle/decode/decode_impostors.h"

#include <algorithm>

#include "oracle/cause_keys.h"
#include "oracle/decode/decode.h"
#include "oracle/diagnosis_parts.h"
#include "oracle/tensor_view.h"

namespace mlafuzz::oracle {

Repeat RepeatsQuery(const WrongDecode& wrong, std::int64_t row) {
  const Tensor& q = *wrong.step.Find(TensorId::kQ);
  const Storage<std::uint16_t> storage(&q);
  const std::int64_t heads = wrong.declared.heads;
  const std::int64_t at =
      row / heads * q.strides[0] + row % heads * q.strides[1];
  bool any = false;
  for (int c = 0; c < kDecodeColumns; ++c) {
    const std::int64_t element = at + c * q.strides[2];
    if (!storage.Has(element)) return Repeat::kNo;
    if (wrong.rows.Out(row, c) != storage[element]) return Repeat::kNo;
    any |= (storage[element] & 0x7fff) != 0;
  }
  return any ? Repeat::kYes : Repeat::kZeros;
}

void AddImpostors(const WrongDecode& wrong, Diagnosis& diagnosis) {
  if (wrong.rows.Untouched()) AddAlso(diagnosis, kNothingWritten);
  if (std::all_of(wrong.wrong.begin(), wrong.wrong.end(),
                  [&](std::int64_t row) {
                    return RepeatsQuery(wrong, row) != Repeat::kNo;
                  })) {
    AddAlso(diagnosis, kRepeatsInput);
  }
}

}  // namespace mlafuzz::oracle
