// Wrong twins of the index conversion that compacts.
#include "kernels/compacting.h"

#include "kernels/compact_call.h"
#include "kernels/mutants/variants.h"

namespace mlafuzz {
namespace {

using kernels::CompactParams;
using kernels::CompactPolicy;

// Compared with the row stride of the table.
struct ColumnsByStride : CompactPolicy {
  static __device__ bool HasColumn(const CompactParams& params,
                                   std::int64_t column) {
    return column < params.convert.table_row_stride;
  }
};

// The count is of what is no padding, past the table or not.
struct CountsNonNegative : CompactPolicy {
  static __device__ bool Counts(bool, std::int64_t token) { return token >= 0; }
};

// What lies behind the valid entries is left as it was.
struct RestUntouched : CompactPolicy {
  static __device__ void Fill(const CompactParams&, std::int32_t*, std::int64_t,
                              unsigned) {}
};

// Entries behind an invalid one of their 32 are lost.
struct EndsAtInvalid : CompactPolicy {
  static __device__ unsigned Kept(unsigned valid) {
    return valid & (valid ^ (valid + 1));
  }
};

// The last entry of 32 is not seen by the others' vote.
struct LastLaneLost : CompactPolicy {
  static __device__ unsigned Kept(unsigned valid) {
    return valid & 0x7fffffffu;
  }
};

CallResult TableRowFromShape(const ConvertArgs& args,
                             const LaunchContext& context) {
  if (std::string why = WhyRefuseConvert(args, kBuiltinWidthMultiple);
      !why.empty()) {
    return CallResult::Refused(std::move(why));
  }
  CompactParams params = {ToParams(args), args.block_table->shape[0]};
  params.convert.table_row_stride = params.convert.table_columns;
  if (params.convert.rows == 0) return CallResult::Ok();
  return ToCallResult(kernels::LaunchCompact<CompactPolicy>(
      params, StreamOf(context), {context.schedule}));
}

Contract CompactingContract() { return Compacting().contract(); }

CompiledTarget Twin(const char* name, const char* what,
                    CallResult (*convert)(const ConvertArgs&,
                                          const LaunchContext&)) {
  return {.name = name,
          .what = what,
          .kernels = {.convert = convert},
          .contract = CompactingContract,
          .rest = "builtin:compacting"};
}

}  // namespace

std::vector<CompiledTarget> CompactingMutants() {
  return {
      Twin("mutant:compacting-columns-by-stride",
           "compacting conversion bounds columns by the table's row stride",
           CallCompact<ColumnsByStride>),
      Twin("mutant:compacting-counts-non-negative",
           "compacting conversion counts what is past the table",
           CallCompact<CountsNonNegative>),
      Twin("mutant:compacting-rest-untouched",
           "compacting conversion leaves what is behind the valid entries",
           CallCompact<RestUntouched>),
      Twin("mutant:compacting-ends-at-invalid",
           "compacting conversion loses what stands behind an invalid entry",
           CallCompact<EndsAtInvalid>),
      Twin("mutant:compacting-last-lane-lost",
           "compacting conversion loses every 32nd entry",
           CallCompact<LastLaneLost>),
      Twin("mutant:compacting-table-row-from-shape",
           "compacting conversion takes the table's rows to be dense",
           TableRowFromShape),
  };
}

}  // namespace mlafuzz
