#include "properties/fields.h"

#include <algorithm>

#include "corpus/contracts.h"
#include "corpus/token_layout.h"
#include "properties/layout_pool.h"

namespace mlafuzz {

const std::vector<Field>& AllFields() {
  static const auto* fields = [] {
    auto* all = new std::vector<Field>;
    for (const TokenLayout& layout : TokenLayouts()) {
      const Contract contract = BuiltinContract(layout.layout);
      for (const Kernel kernel : kAllKernels) {
        if (kernel == Kernel::kDecode && !IsDecoded(layout.layout)) continue;
        for (const Neighbour& n : Neighbours(contract, kernel)) {
          if (std::none_of(all->begin(), all->end(), [&n](const Field& field) {
                return field.name == n.field;
              })) {
            all->push_back({n.field, kernel});
          }
        }
      }
    }
    return all;
  }();
  return *fields;
}

int FieldNumber(const std::string& name) {
  const std::vector<Field>& fields = AllFields();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace mlafuzz
