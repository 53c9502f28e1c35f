#include "properties/fields.h"

#include <algorithm>

#include "corpus/contracts.h"
#include "corpus/token_layout.h"
#include "properties/layout_pool.h"

namespace mlafuzz {

namespace {

// What other kernels than builtin's take.
Contract TakingMore(Layout layout) {
  Contract contract = BuiltinContract(layout);
  contract.mutable_writer()->add_inputs(F32);
  contract.mutable_gather()->set_rows(GatherContract::ROWS_BYTES);
  ConvertContract& convert = *contract.mutable_convert();
  convert.set_workspace(ConvertContract::WORKSPACE_WITHIN_TABLE);
  convert.set_pages(ConvertContract::PAGES_FITTING);
  return contract;
}

void Append(const Contract& contract, std::vector<Field>* all) {
  for (const Kernel kernel : kAllKernels) {
    if (kernel == Kernel::kDecode && !IsDecoded(contract.layout())) continue;
    for (const Neighbour& n : Neighbours(contract, kernel)) {
      if (std::none_of(all->begin(), all->end(), [&n](const Field& field) {
            return field.name == n.field;
          })) {
        all->push_back({n.field, kernel});
      }
    }
  }
}

}  // namespace

const std::vector<Field>& AllFields() {
  static const auto* fields = [] {
    auto* all = new std::vector<Field>;
    for (const TokenLayout& layout : TokenLayouts()) {
      Append(BuiltinContract(layout.layout), all);
    }
    for (const TokenLayout& layout : TokenLayouts()) {
      Append(TakingMore(layout.layout), all);
    }
    return all;
  }();
  return *fields;
}

bool IsExpected(Layout layout, const std::string& field, bool seen) {
  return RuleApplies(layout, field) &&
         (seen || RuleApplies(BuiltinContract(layout), field));
}

int FieldNumber(const std::string& name) {
  const std::vector<Field>& fields = AllFields();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace mlafuzz
