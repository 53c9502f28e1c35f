#ifndef MLAFUZZ_FUZZ_COMMAND_CORPUS_FILES_H_
#define MLAFUZZ_FUZZ_COMMAND_CORPUS_FILES_H_

#include <cstddef>
#include <string>
#include <vector>

namespace mlafuzz {

// The most bytes of an engine's input; it cuts longer files.
inline constexpr std::size_t kMaxInputBytes = 16 << 10;

// The files of a corpus folder, and those that an engine could not use.
struct CorpusFiles {
  struct Bad {
    std::string name;  // below the folder; as shown, in one line
    std::string why;
  };
  std::size_t files = 0;
  std::vector<Bad> bad;           // by name
  std::vector<std::string> good;  // paths, sorted
};

// Reads every file below `folder`: one that is no case, does not build, or is
// longer than kMaxInputBytes is bad.
CorpusFiles ReadCorpusFiles(const std::string& folder);

// "a.txt (not a case: ...), b, c and 7 more": one line.
std::string BadFilesText(const CorpusFiles& files);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_COMMAND_CORPUS_FILES_H_
