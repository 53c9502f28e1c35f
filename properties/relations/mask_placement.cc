#include "properties/relations/mask_placement.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "oracle/bf16.h"
#include "oracle/decode/keys.h"
#include "oracle/decode/observed_rows.h"
#include "properties/relations/decode_agreement.h"
#include "properties/relations/decode_call.h"

namespace mlafuzz {
namespace {

std::int64_t BlockOf(const Contract& contract) {
  const std::int64_t block = contract.arithmetic().block();
  return block > 0 ? block : 64;
}

}  // namespace

bool MaskPlacement::Applies(const Contract& contract, const CaseImage&,
                            const StepImage&) {
  return contract.decode().empty_row() != DecodeContract::UNIT_WEIGHTS;
}

absl::Status MaskPlacement::Run(StepContext& context, Finding* finding) {
  const Contract& contract = context.contract();
  std::vector<Lanes> rows = ActiveEntries(contract, context.step);
  std::size_t most = 0;
  for (Lanes& row : rows) {
    row.erase(std::remove_if(row.begin(), row.end(),
                             [&](std::int32_t index) {
                               return oracle::MasksIndex(contract.decode(),
                                                         index);
                             }),
              row.end());
    most = std::max(most, row.size());
  }
  // Whole blocks in front keep every key at its place of a block.
  const std::uint32_t block = static_cast<std::uint32_t>(BlockOf(contract));
  const std::size_t pads =
      context.choices.OneIn(2) ? block : 1 + context.choices.Below(block + 2);
  const char* const kPlaces[] = {"in front", "in the middle", "at the back",
                                 "scattered"};
  const std::uint32_t place = context.choices.Below(4);
  const auto pad = [&]() -> std::int32_t {
    return contract.decode().mask() == DecodeContract::ANY_NEGATIVE_MASKED
               ? context.choices.Pick<std::int32_t>({-1, -1, -7, INT32_MIN})
               : -1;
  };
  for (Lanes& row : rows) {
    const std::size_t more = most + pads - row.size();
    const std::size_t middle =
        context.choices.Below(static_cast<std::uint32_t>(row.size() + 1));
    for (std::size_t i = 0; i < more; ++i) {
      const std::size_t at =
          place == 0   ? 0
          : place == 1 ? middle
          : place == 2 ? row.size()
                       : context.choices.Below(
                             static_cast<std::uint32_t>(row.size() + 1));
      row.insert(row.begin() + static_cast<std::ptrdiff_t>(at), pad());
    }
  }
  Decode* call;
  CaseImage image = OneDecode(context, &call);
  SetRows(image.steps[0], rows);
  if (contract.decode().capacity() != DecodeContract::PHYSICAL_WIDTH) {
    call->clear_declared_topk();
  }
  return RunAndCompare(
      context, image, {.bitwise = SamePlan(contract, OneStep(context), image)},
      absl::StrCat("masked lanes ", kPlaces[place]).c_str(), finding);
}

bool AllMasked::Applies(const Contract& contract, const CaseImage&,
                        const StepImage&) {
  return contract.decode().empty_row() != DecodeContract::UNIT_WEIGHTS;
}

absl::Status AllMasked::Run(StepContext& context, Finding* finding) {
  const Contract& contract = context.contract();
  const std::int64_t width = context.step.Find(TensorId::kIndices)->shape[1];
  const std::size_t queries =
      static_cast<std::size_t>(context.step.Find(TensorId::kQ)->shape[0]);
  std::vector<CaseImage> images;
  for (const std::int64_t lanes :
       {std::max<std::int64_t>(width, 1), width + BlockOf(contract)}) {
    Decode* call;
    images.push_back(OneDecode(context, &call));
    SetRows(images.back().steps[0],
            std::vector<Lanes>(queries,
                               Lanes(static_cast<std::size_t>(lanes), -1)));
    if (Tensor* extra = images.back().steps[0].Find(TensorId::kExtraIndices)) {
      std::fill(extra->bytes.begin(), extra->bytes.end(), 0xff);  // -1
    }
    if (contract.decode().capacity() != DecodeContract::PHYSICAL_WIDTH) {
      call->clear_declared_topk();
    }
  }
  std::vector<Observation> observations;
  if (absl::Status s = Rerun(context, images, &observations, finding);
      !s.ok() || !finding->ok()) {
    return s;
  }
  for (std::size_t i = 0; i < images.size(); ++i) {
    const StepImage& step = images[i].steps[0];
    const DecodeExpectation expected =
        ExpectDecode(contract, images[i], 0, images[i].pool.bytes);
    const oracle::ObservedRows rows(step, observations[i].steps[0]);
    if (!rows.well_formed()) {
      *finding = {Verdict::kProtocol,
                  "the observation's buffers have other sizes than the case's"};
      return absl::OkStatus();
    }
    const std::int64_t lanes = step.Find(TensorId::kIndices)->shape[1];
    for (std::int64_t row = 0; row < expected.rows(); ++row) {
      if (!rows.LseMatches(expected, row)) {
        *finding = Finding::Fail(absl::StrCat(
            "a row of ", lanes, " masked lanes has LSE ", rows.Lse(row),
            ", not ", expected.lse[static_cast<std::size_t>(row)]));
        return absl::OkStatus();
      }
      for (int c = 0; c < kDecodeColumns; ++c) {
        // A sink of NaN makes 0 / NaN.
        if ((rows.Out(row, c) & 0x7fff) == 0 ||
            DecodeOutMatches(expected, row * kDecodeColumns + c,
                             rows.Out(row, c))) {
          continue;
        }
        *finding = Finding::Fail(absl::StrCat(
            "a row of ", lanes, " masked lanes has ",
            oracle::Bf16Value(rows.Out(row, c)), " in column ", c));
        return absl::OkStatus();
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace mlafuzz
