#include "oracle/decode/name_decode_damage.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "oracle/cause_keys.h"
#include "oracle/decode/decode_impostors.h"
#include "oracle/decode/dequant.h"
#include "oracle/decode/keys.h"
#include "oracle/diagnosis_parts.h"
#include "oracle/layout.h"

namespace mlafuzz::oracle {
namespace {

constexpr char kSlot0[] = "decode.masked_lanes=MASKED_READ_SLOT0";

// Of both caches.
bool Slot0IsFinite(const WrongDecode& wrong) {
  const Caches caches(wrong.image.pool, wrong.before, wrong.step);
  double values[kLatent], radius[kLatent];
  double rope[kRope];
  Arithmetic exact;
  exact.set_dequantised(Arithmetic::DEQUANTISED_FP32);
  exact.set_denormals(Arithmetic::DENORMALS_KEPT);
  ReaderSide raw;
  raw.set_scale_rule(ReaderSide::SCALE_RAW);
  const RowLayout& layout = caches.layout();
  const Dequantiser dequantiser(layout, raw, exact, false);
  TokenBytes buffer;
  for (const bool extra : {false, true}) {
    const Key key = caches.Slot0(extra);
    if (key.at < 0) continue;
    const std::uint8_t* token = caches.Token(key, &buffer);
    if (!dequantiser.Row(token, values, radius).finite) return false;
    if (layout.rope != 0 &&
        !ReadRope(token + layout.rope_at, false, rope).finite) {
      return false;
    }
  }
  return true;
}

// What all wrong rows have in common, and what any of them has.
struct Shape {
  bool all_nan = true;
  bool all_zero = true;
  bool all_masked = true;    // have masked lanes
  bool any_out = false;      // a wrong output value
  bool any_lse = false;      // a wrong LSE
  std::int64_t repeats = 0;  // rows that hold the query
};

Shape ShapeOf(const WrongDecode& wrong) {
  Shape shape;
  for (const std::int64_t row : wrong.wrong) {
    const KeyPlan plan = PlanKeys(wrong.contract, wrong.image.pool, wrong.step,
                                  row / wrong.declared.heads, {});
    shape.repeats += RepeatsQuery(wrong, row) == Repeat::kYes ? 1 : 0;
    // NaN or zeros that are right beside a wrong LSE are no damage.
    const bool wrong_out = wrong.rows.WrongColumn(wrong.declared, row) >= 0;
    shape.all_nan &= wrong_out && wrong.rows.AllNan(row);
    shape.all_zero &= wrong_out && wrong.rows.AllZero(row);
    shape.all_masked &= plan.masked > 0;
    shape.any_out |= wrong_out;
    shape.any_lse |= !wrong.rows.LseMatches(wrong.declared, row);
  }
  return shape;
}

Diagnosis NameOf(const Shape& shape) {
  if (shape.all_nan) {
    return Pattern("nan-output", "rows of NaN without a reason");
  }
  if (shape.all_zero) {
    return Pattern("zero-output", "rows of zeros without a reason");
  }
  if (!shape.any_lse) {
    return Pattern("wrong-output", "wrong values beside a right LSE");
  }
  if (!shape.any_out) {
    return Pattern("wrong-lse", "a wrong LSE beside right values");
  }
  return Pattern(kWrongOutputAndLse,
                 "no neighbouring rule explains output and LSE");
}

}  // namespace

Diagnosis NameDecodeDamage(const WrongDecode& wrong,
                           const std::vector<std::string>& possible) {
  if (wrong.rows.Untouched()) {
    return Pattern(kNothingWritten,
                   absl::StrCat("the decode left all ", wrong.declared.rows(),
                                " rows as they were"));
  }
  const Shape shape = ShapeOf(wrong);
  if (shape.repeats > 0) {
    return Pattern(kRepeatsInput,
                   absl::StrCat(shape.repeats, " of ", wrong.declared.rows(),
                                " rows hold the raw bytes of the input, the "
                                "latent part of the query"));
  }
  Diagnosis d = NameOf(shape);
  // Where splits are not known the rule says too little to be tested.
  if (shape.all_masked && !Slot0IsFinite(wrong) &&
      std::find(possible.begin(), possible.end(), kSlot0) != possible.end()) {
    const std::string damage = d.key;
    d = {.field = "decode.masked_lanes",
         .key = kSlot0,
         .cause =
             "rows with masked lanes are wrong while slot 0 holds NaN or Inf"};
    AddAlso(d, damage);
  }
  for (const std::string& other : possible) AddPossible(d, other);
  // One fault of no known shape shows now here, now there.
  AddAlso(d, kWrongOutputAndLse);
  AddImpostors(wrong, d);
  return d;
}

}  // namespace mlafuzz::oracle
