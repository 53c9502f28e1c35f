#ifndef MLAFUZZ_PROPERTIES_FIELDS_H_
#define MLAFUZZ_PROPERTIES_FIELDS_H_

#include <string>
#include <vector>

#include "corpus/image.h"
#include "corpus/types.pb.h"

namespace mlafuzz {

// A contract field whose neighbouring values a check can tell apart.
struct Field {
  std::string name;  // "writer.tail"
  Kernel kernel;
};

// All fields that Neighbours() varies in a contract of some layout, in a fixed
// order: builtin's of FP8_DS_MLA first, last those that are rules only for
// kernels that take more. An index into this is a field's number.
const std::vector<Field>& AllFields();

// Whether a campaign on pools of this layout should have seen the field: those
// of kernels that take more only where it did.
bool IsExpected(Layout layout, const std::string& field, bool seen);

// -1 if there is no such field.
int FieldNumber(const std::string& name);

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_FIELDS_H_
