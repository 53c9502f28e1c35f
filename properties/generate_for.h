#ifndef MLAFUZZ_PROPERTIES_GENERATE_FOR_H_
#define MLAFUZZ_PROPERTIES_GENERATE_FOR_H_

#include "corpus/case.pb.h"
#include "properties/choices.h"
#include "properties/generate.h"

namespace mlafuzz {

// Cases made *for* a contract field: a kernel that kept another rule for it
// would have to answer differently under BuiltinContract(). At least nine in
// ten of them are informative for the field (generate_for_test); the others are
// those in which a rule happens not to matter. All else about them is drawn as
// in other cases.

// Whether there are such cases. There are none for a field whose declared value
// leaves the matter to the caller: what would tell is unspecified; nor for one
// that is no rule of the layout.
bool CanGenerateFor(int field, Layout layout = FP8_DS_MLA);

// A case for field `field` of AllFields(); the field's kernel must be among
// those of `options`. Valid or boundary under BuiltinContract(). The field must
// be one that CanGenerateFor().
Case GenerateFor(int field, Choices& choices, const GeneratorOptions& options);

// A field of one of the kernels of `options`, drawn as `options.steering` says;
// -1 if there is none to draw.
int PickField(Choices& choices, const GeneratorOptions& options);

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_GENERATE_FOR_H_
