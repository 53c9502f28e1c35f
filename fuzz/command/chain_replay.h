#ifndef MLAFUZZ_FUZZ_COMMAND_CHAIN_REPLAY_H_
#define MLAFUZZ_FUZZ_COMMAND_CHAIN_REPLAY_H_

#include <string>

#include "absl/status/statusor.h"
#include "corpus/case.pb.h"
#include "properties/matrix/chain.h"

namespace mlafuzz {

// "WRITER,GATHER,READER": names of contracts, "none" for no gather or no
// reader. NotFound names the nearest known one.
absl::StatusOr<Chain> ReadChain(const std::string& names);

// What the case says of the chain, by the oracle alone: a line, and the exit
// code: 1 it disagrees, 0 it agrees and would have shown a wrong rule, 3 it
// would not, or the case is none of this chain.
struct ChainAnswer {
  std::string line;
  int code = 0;
};
ChainAnswer ReplayChain(const Chain& chain, const Case& c);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_COMMAND_CHAIN_REPLAY_H_
