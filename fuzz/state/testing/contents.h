#ifndef MLAFUZZ_FUZZ_STATE_TESTING_CONTENTS_H_
#define MLAFUZZ_FUZZ_STATE_TESTING_CONTENTS_H_

#include <map>
#include <string>

namespace mlafuzz {

// Every file below a folder by its path there, with its bytes; temporary files
// that a killed process left (their names begin with a dot) and shards are left
// out.
std::map<std::string, std::string> Contents(const std::string& folder);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_STATE_TESTING_CONTENTS_H_
