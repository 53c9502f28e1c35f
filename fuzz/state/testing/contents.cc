#include "fuzz/state/testing/contents.h"

#include <filesystem>

#include "corpus/codec.h"
#include "gtest/gtest.h"

namespace mlafuzz {

std::map<std::string, std::string> Contents(const std::string& folder) {
  namespace fs = std::filesystem;
  std::map<std::string, std::string> contents;
  for (fs::recursive_directory_iterator it(folder), end; it != end; ++it) {
    const std::string name = it->path().filename().string();
    if (it->is_directory() && name == "shards") it.disable_recursion_pending();
    if (!it->is_regular_file() || name[0] == '.') continue;
    const auto bytes = ReadFile(it->path().string());
    EXPECT_TRUE(bytes.ok()) << bytes.status();
    contents[it->path().lexically_relative(folder).string()] =
        bytes.value_or("");
  }
  return contents;
}

}  // namespace mlafuzz
