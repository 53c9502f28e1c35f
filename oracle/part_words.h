#ifndef MLAFUZZ_ORACLE_PART_WORDS_H_
#define MLAFUZZ_ORACLE_PART_WORDS_H_

#include <string>

#include "corpus/contract.pb.h"
#include "oracle/layout.h"

namespace mlafuzz::oracle {

// Damage in the terms of the rows at hand: those of a layout without rope have
// none that could be right, a gather that copies bytes fills no latent columns.
struct PartWords {
  // What the columns of a gather's output hold that come of codes, in the
  // plural: "latent values", "dequantised values", "copied bytes", ...
  std::string gathered;
  // The bytes of rope in a row that carries none, and of columns of the output.
  std::string tail_bytes;
  std::string tail_values;

  // Of a step in which nothing else is wrong, a clause each.
  std::string only_codes;
  std::string only_scales;
  std::string only_tail;
  std::string only_values;
  std::string only_rope_columns;
};

// `contract` is that of the kernel, `layout` its pool's.
PartWords PartWordsOf(const Contract& contract, const RowLayout& layout);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_PART_WORDS_H_
