#ifndef MLAFUZZ_PROPERTIES_MATRIX_MATRIX_H_
#define MLAFUZZ_PROPERTIES_MATRIX_MATRIX_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "corpus/case.pb.h"
#include "corpus/parties.h"
#include "properties/matrix/chain.h"

namespace mlafuzz {

// Who can read what whom wrote: every writer with every gather and reader.

// A party that takes part: a named one, or an attached kernel.
struct MatrixParty {
  std::string name;
  PartyRole role = PartyRole::kWriter;
  std::string what;
  const CacheFormat* format = nullptr;
  const CacheFormat* leaves = nullptr;  // of a gather
  Rope rope = Rope::kWritten;           // of a writer
  Contract contract;
  bool second_cache = false;  // of a reader: calls may have one
};
MatrixParty ToMatrixParty(const Party& party);
std::vector<MatrixParty> NamedParties();

enum class CellVerdict {
  kAgree,        // no case shows a difference, and cases would have shown one
  kDisagree,     // some case does
  kRefused,      // other bytes than the reader takes, or the host says no
  kNotComputed,  // no oracle for the layout, or nothing informative
};
const char* CellVerdictName(CellVerdict verdict);  // "agree", "not computed"

inline constexpr char kNobody[] = "none";

struct Cell {
  std::string writer;
  std::string gather = kNobody;
  std::string reader = kNobody;
  CellVerdict verdict = CellVerdict::kNotComputed;
  // Of a disagreement: the fewest rules that would have to be what the rows
  // mean for it to be gone, " and " between them, " or " between choices. Of a
  // refusal: "layout", or the check.
  std::string field;
  std::string reason;  // a sentence
  // Cases that fit, and of them, by rule in question, those that would have
  // shown another value of it.
  int cases = 0;
  std::vector<std::pair<std::string, int>> informative;
  std::string witness;  // name of a MatrixWitness; empty: none
  // What `mlafuzz replay` takes beside the witness to show it; empty: nothing
  // does.
  std::string replay;
};

// A minimal case on which a chain disagrees. One may serve several cells.
struct MatrixWitness {
  std::string name;  // "dsv3_2-qk.scale_rule"
  Case message;
  std::vector<std::size_t> cells;
};

struct Matrix {
  std::vector<MatrixParty> parties;
  std::vector<Cell> cells;  // by writer, then gather, then reader
  std::vector<MatrixWitness> witnesses;
};

struct MatrixOptions {
  int cases = 64;  // seeds tried a cell
  bool witnesses = true;
};

// Deterministic. A cell for each writer with: each gather and reader; no gather
// and each reader; each gather and no reader.
Matrix BuildMatrix(std::vector<MatrixParty> parties,
                   const MatrixOptions& options);

// The chain of a cell with two parties, the reader being a gather or a reader.
Chain ChainOf(const MatrixParty& writer, const MatrixParty& reader);

// Why rows of one format are none for a reader of another: both named, and the
// label if they share one.
std::string OtherFormat(const CacheFormat& has, const CacheFormat& takes);

// What cases say of one chain: verdict, field, reason, informative. Of a
// disagreement `first` is the first case that shows each rule of `field`.
Cell JudgeChain(const Chain& chain, const MatrixOptions& options, Case* first);

// Whether the case shows that the chain disagrees, and each rule of the first
// choice of `field` (Cell::field) to be needed. In words, if so.
std::optional<std::string> Witnesses(const Chain& chain,
                                     const std::string& field, const Case& c);

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_MATRIX_MATRIX_H_
