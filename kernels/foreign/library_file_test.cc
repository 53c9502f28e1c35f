#include "kernels/foreign/library_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

std::string Write(const std::string& name, const std::string& bytes) {
  const std::string path = testing::TempDir() + "/" + name;
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  return path;
}

std::string Error(const std::string& path) {
  const auto file = LookAtLibrary(path);
  return file.ok() ? "" : std::string(file.status().message());
}

TEST(LibraryFile, SaysWhatIsNone) {
  EXPECT_EQ(Error(testing::TempDir() + "/none.so"), "no such file");
  EXPECT_EQ(Error(testing::TempDir()),
            "a folder; name the shared library in it, lib:PATH.so");
  EXPECT_EQ(Error("/dev/null"),
            "no regular file; name a shared library, lib:PATH.so");
}

TEST(LibraryFile, TheSameBytesAreTheSameLibrary) {
  const std::string path = Write("a.so", "0123456789");
  const auto file = LookAtLibrary(path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(ChangeOf(*file), "");
  // Another inode, another time.
  unlink(path.c_str());
  Write("b.so", "");
  Write("a.so", "0123456789");
  EXPECT_EQ(ChangeOf(*file), "");
}

TEST(LibraryFile, OtherBytesAreAnother) {
  const std::string path = Write("a.so", "0123456789");
  const auto file = LookAtLibrary(path);
  ASSERT_TRUE(file.ok());
  Write("a.so", "012345678");
  EXPECT_NE(ChangeOf(*file).find("(10 bytes then, 9 now)"), std::string::npos);
  // As many, replaced by renaming as linkers and package managers do it.
  rename(Write("b.so", "012345678x").c_str(), path.c_str());
  EXPECT_NE(ChangeOf(*file).find("10 bytes as before, but others"),
            std::string::npos)
      << ChangeOf(*file);
  unlink(path.c_str());
  EXPECT_NE(ChangeOf(*file).find("gone"), std::string::npos);
}

}  // namespace
}  // namespace mlafuzz
