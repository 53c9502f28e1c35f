// Cases for kernels that take what most do not.
#ifndef MLAFUZZ_PROPERTIES_VARIANTS_H_
#define MLAFUZZ_PROPERTIES_VARIANTS_H_

#include "corpus/case.pb.h"
#include "properties/choices.h"
#include "properties/generate.h"

namespace mlafuzz {

// Changes a generated case into one for the kernels that `options` speak of:
// fp32 inputs, workspaces, other rows of a gather, pages past the pool and
// requests past the table. One in sixteen is left as it is, where such a kernel
// has to refuse or may take it too; all, where `options` say nothing of the
// kind. Keeps RepairCase() at rest.
void Vary(Choices& choices, const GeneratorOptions& options, Case& c);

// Of a gather: columns and type of dst, where a case says nothing else.
std::uint32_t DstColumns(const GeneratorOptions& options);
DType DstDtype(const GeneratorOptions& options);

// Bytes of a row of codes under one scale.
inline constexpr std::uint32_t kOneScaleRow = 576;

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_VARIANTS_H_
