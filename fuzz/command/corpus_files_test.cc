#include "fuzz/command/corpus_files.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

constexpr char kCase[] =
    "pool { page_size: 1 pages: 1 }\nsteps { write { slots { values: 0 } } }\n";

TEST(CorpusFiles, NamesWhatIsNoCase) {
  const std::string folder = testing::TempDir() + "/corpus";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder + "/below");
  const auto write = [&folder](const std::string& name,
                               const std::string& text) {
    std::ofstream(folder + "/" + name) << text;
  };
  EXPECT_EQ(ReadCorpusFiles(folder).files, 0u);
  write("good.txtpb", kCase);
  write("below/good", kCase);
  EXPECT_EQ(ReadCorpusFiles(folder).files, 2u);
  EXPECT_TRUE(ReadCorpusFiles(folder).bad.empty());
  write("README.md", "All about it.\n");
  write("below/empty", "");
  write("nopages.txtpb", "pool { pages: 1 } steps { write { } }");
  write("nosteps.txtpb", "pool { pages: 1 page_size: 1 }");
  write("long.txtpb", std::string(kMaxInputBytes, '\n') + kCase);
  const CorpusFiles files = ReadCorpusFiles(folder);
  EXPECT_EQ(files.files, 7u);
  ASSERT_EQ(files.bad.size(), 5u);
  EXPECT_EQ(files.bad[0].name, "README.md");
  EXPECT_EQ(files.bad[1].name, "below/empty");
  EXPECT_EQ(files.bad[1].why, "is empty");
  EXPECT_EQ(files.bad[2].name, "long.txtpb");
  EXPECT_NE(files.bad[2].why.find("more than the engine's 16384"),
            std::string::npos);
  EXPECT_EQ(files.bad[3].name, "nopages.txtpb");
  EXPECT_NE(files.bad[3].why.find("page_size"), std::string::npos);
  EXPECT_EQ(files.bad[4].why, "has no steps");
  const std::string text = BadFilesText(files);
  EXPECT_NE(text.find("README.md ("), std::string::npos) << text;
  EXPECT_NE(text.find("long.txtpb"), std::string::npos) << text;
  EXPECT_NE(text.find(" and 2 more"), std::string::npos) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
}

}  // namespace
}  // namespace mlafuzz
