#ifndef MLAFUZZ_FUZZ_COMMAND_MATRIX_TEXT_H_
#define MLAFUZZ_FUZZ_COMMAND_MATRIX_TEXT_H_

#include <nlohmann/json.hpp>
#include <string>

#include "properties/matrix/matrix.h"

namespace mlafuzz {

// Writers down, readers and gathers across: a symbol a cell, of disagreements
// and refusals the number of their field; what they stand for; totals.
std::string MatrixText(const Matrix& matrix);

// `folder`: where the witnesses lie, "corpus/witnesses"; empty: nowhere.
nlohmann::ordered_json MatrixJson(const Matrix& matrix,
                                  const std::string& folder);

// A witness as a file: what it shows, how to replay it, the case.
std::string WitnessText(const Matrix& matrix, const MatrixWitness& witness,
                        const std::string& folder);
// "NAME.txtpb".
std::string WitnessFile(const MatrixWitness& witness);

// "native-raw,none,dsv3_2", as --chain takes it.
std::string ChainName(const Cell& cell);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_COMMAND_MATRIX_TEXT_H_
