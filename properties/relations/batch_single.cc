#include "properties/relations/batch_single.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace mlafuzz {
namespace {

// At most this many calls replace one: enough to separate every row of a small
// case, few enough that a large one does not cost its square.
constexpr std::int64_t kMostParts = 6;

struct Part {
  std::int64_t first;
  std::int64_t count;
};

// Runs that cover [0, n), in random order.
std::vector<Part> Split(Choices& choices, std::int64_t n) {
  std::vector<Part> parts;
  const std::int64_t pieces = std::min(n, kMostParts);
  for (std::int64_t i = 0; i < pieces; ++i) {
    const std::int64_t first = i * n / pieces;
    parts.push_back({first, (i + 1) * n / pieces - first});
  }
  for (std::size_t i = parts.size(); i > 1; --i) {
    std::swap(parts[i - 1],
              parts[choices.Below(static_cast<std::uint32_t>(i))]);
  }
  return parts;
}

std::int64_t Items(const StepImage& step) {
  switch (step.kernel) {
    case Kernel::kWriter:
      return step.Find(TensorId::kSlotMapping)->shape[0];
    case Kernel::kGather:
      // Where codes are copied the last entry is an end.
      return step.Find(TensorId::kWorkspaceStarts)->shape[0] -
             (step.Find(TensorId::kDstScales) != nullptr ? 1 : 0);
    case Kernel::kDecode:
      return step.Find(TensorId::kQ)->shape[0];
    default:
      return step.Find(TensorId::kTokenIndices)->shape[0];
  }
}

// Rows of dst of requests [first, first + count): their own, without those of
// nobody before and behind.
Part RowsOfRequests(const std::vector<RequestRows>& requests,
                    const Part& part) {
  std::int64_t begin = -1, end = -1;
  for (std::int64_t i = part.first; i < part.first + part.count; ++i) {
    const RequestRows& r = requests[static_cast<std::size_t>(i)];
    if (r.rows == 0) continue;
    if (begin < 0) begin = r.first_row;
    end = r.first_row + r.rows;
  }
  return begin < 0 ? Part{0, 0} : Part{begin, end - begin};
}

// Requests fill dst from front to back, so that consecutive ones have a range
// of rows to themselves.
bool InOrder(const std::vector<RequestRows>& requests) {
  std::int64_t end = 0;
  for (const RequestRows& r : requests) {
    if (r.rows == 0) continue;
    if (r.first_row < end) return false;
    end = r.first_row + r.rows;
  }
  return true;
}

Tensor Sublist(const Tensor& list, const Part& part) {
  return RowsOf(list, part.first, part.count);
}

// The call on the part alone.
StepImage PartOf(const StepImage& whole, const Part& part, const Part& dst) {
  StepImage step;
  step.kernel = whole.kernel;
  step.step = whole.step;
  step.extra = whole.extra;  // where things lie in a second cache
  for (const Tensor& t : whole.tensors) {
    if (t.id == TensorId::kDst || t.id == TensorId::kDstScales) {
      step.tensors.push_back(RowsOf(t, dst.first, dst.count));
    } else if (t.id == TensorId::kBlockTable &&
               whole.kernel == Kernel::kConvert) {
      step.tensors.push_back(t);  // request ids number its rows
    } else if (t.id == TensorId::kPrefillStarts) {
      step.tensors.push_back(t);  // prefill request ids number them
    } else if (t.id == TensorId::kWorkspaceStarts) {
      std::vector<std::int64_t> starts;
      const std::int64_t end =
          whole.Find(TensorId::kDstScales) != nullptr ? 1 : 0;
      for (std::int64_t i = part.first; i < part.first + part.count + end;
           ++i) {
        // An empty request in front may start before the part's rows.
        starts.push_back(std::clamp<std::int64_t>(
            ElementAt<std::int32_t>(t, i) - dst.first, 0, dst.count));
      }
      step.tensors.push_back(MakeList(t.id, starts, I32));
    } else if (t.id == TensorId::kSinks || t.id == TensorId::kExtraCache) {
      step.tensors.push_back(t);  // one a head; of all queries
    } else if (t.ndim == 1) {
      step.tensors.push_back(Sublist(t, part));
    } else {
      step.tensors.push_back(RowsOf(t, part.first, part.count));
    }
  }
  return step;
}

}  // namespace

bool BatchSingle::Applies(const Contract& contract, const CaseImage& image,
                          const StepImage& step) {
  if (Items(step) < 2) return false;
  if (step.kernel == Kernel::kWriter) return SlotsDistinct(image.pool, step);
  // Splits that are not declared may follow from the number of queries.
  if (step.kernel == Kernel::kDecode) {
    return contract.arithmetic().block() > 0 &&
           contract.arithmetic().blocks_per_split() > 0;
  }
  if (step.kernel == Kernel::kConvert) {
    return contract.convert().workspace() !=
           ConvertContract::WORKSPACE_START_OF_ROW;
  }
  if (step.kernel != Kernel::kGather) return true;
  // A launch that holds fewer tasks than its parts together is another call.
  return RowsDisjoint(*step.Find(TensorId::kDst)) &&
         InOrder(RequestsOf(step)) &&
         contract.gather().table_row() == GatherContract::TABLE_ROW_STRIDE &&
         contract.gather().page_tasks() != GatherContract::ROWS_ONLY &&
         // By the codes' stride a part's scales lie elsewhere.
         contract.gather().scale_rows() !=
             GatherContract::SCALE_ROWS_BY_CODE_STRIDE;
}

absl::Status BatchSingle::Run(StepContext& context, Finding* finding) {
  const std::vector<Part> parts = Split(context.choices, Items(context.step));
  CaseImage image = OneStep(context);
  image.steps.clear();
  std::vector<Part> dst_rows;
  const bool gather = context.step.kernel == Kernel::kGather;
  const std::vector<RequestRows> requests =
      gather ? RequestsOf(context.step) : std::vector<RequestRows>();
  for (const Part& part : parts) {
    dst_rows.push_back(gather ? RowsOfRequests(requests, part) : part);
    image.steps.push_back(PartOf(context.step, part, dst_rows.back()));
  }
  Observation observation;
  if (absl::Status s = Rerun(context, image, &observation, finding);
      !s.ok() || !finding->ok()) {
    return s;
  }
  if (std::string d =
          FirstPoolDifference(context.image.pool, context.pool_after(),
                              FinalPool(image, observation));
      !d.empty()) {
    *finding = Finding::Fail(absl::StrCat("rows alone: ", d));
    return absl::OkStatus();
  }
  for (std::size_t p = 0; p < parts.size(); ++p) {
    for (std::size_t i = 0; i < context.step.tensors.size(); ++i) {
      const Tensor& t = context.step.tensors[i];
      if (!t.output) continue;
      Tensor whole = t;
      whole.bytes = context.plain.outputs[i];
      const Part& rows = t.id == TensorId::kDst || t.id == TensorId::kDstScales
                             ? dst_rows[p]
                             : parts[p];
      const Tensor expected = RowsOf(whole, rows.first, rows.count);
      if (std::string d = FirstTensorDifference(expected, expected.bytes,
                                                observation.steps[p].outputs[i],
                                                AnyNan(context));
          !d.empty()) {
        *finding = Finding::Fail(
            absl::StrCat("rows from ", rows.first, " on alone: ", d));
        return absl::OkStatus();
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace mlafuzz
