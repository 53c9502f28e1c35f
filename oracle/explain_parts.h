#ifndef MLAFUZZ_ORACLE_EXPLAIN_PARTS_H_
#define MLAFUZZ_ORACLE_EXPLAIN_PARTS_H_

#include <cstdint>
#include <string>

#include "corpus/image.h"
#include "oracle/compared_step.h"
#include "oracle/damage.h"
#include "oracle/layout.h"

// Explain()'s lines about the first wrong element, a kernel each: whose it is,
// what it is made of, and the contract's rules for it. Each begins with two
// spaces.
namespace mlafuzz::oracle {

// `wrong`: where wrong elements of one kind begin.
void ExplainSlot(const ComparedStep& compared, const Region& wrong,
                 std::string* text);  // of a writer
void ExplainDst(const ComparedStep& compared, const Region& wrong,
                std::string* text);  // of a gather
void ExplainIndex(const ComparedStep& compared, const Region& wrong,
                  std::string* text);  // of an index conversion

// What an E4M3 code stands for.
float CodeValue(std::uint8_t code);

// Bits of the stored scale that begins at `bytes`, and what they stand for.
std::uint32_t ScaleBits(const RowLayout& layout, const std::uint8_t* bytes);
float ScaleValue(const RowLayout& layout, std::uint32_t bits);

// " (`source`)" of rules for the 656-byte row, which the sources that are named
// here are of; else nothing: other layouts' are in `mlafuzz contracts`.
std::string From(const PoolImage& pool, const char* source);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_EXPLAIN_PARTS_H_
