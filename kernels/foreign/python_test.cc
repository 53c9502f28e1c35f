#include "kernels/foreign/python.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

using testing::HasSubstr;

TEST(ParsePythonName, TakesObjectsOffModulesAndFiles) {
  const auto both = [](const char* text) {
    const PythonName name = ParsePythonName(text);
    return name.module + "|" + name.object;
  };
  EXPECT_EQ(both("pkg.kernels"), "pkg.kernels|");
  EXPECT_EQ(both("pkg.kernels:Fast"), "pkg.kernels|Fast");
  EXPECT_EQ(both("pkg.kernels:a.b"), "pkg.kernels|a.b");
  EXPECT_EQ(both("/a/b.py"), "/a/b.py|");
  EXPECT_EQ(both("/a/b.py:Fast"), "/a/b.py|Fast");
  EXPECT_EQ(both("/a:b/c.py"), "/a:b/c.py|");  // a colon in a folder
  EXPECT_EQ(both("a:b.py"), "a:b.py|");
}

TEST(ParsePythonName, KnowsPaths) {
  EXPECT_TRUE(IsPath(ParsePythonName("b.py")));
  EXPECT_TRUE(IsPath(ParsePythonName("a/b.py:Fast")));
  EXPECT_FALSE(IsPath(ParsePythonName("a.b:Fast")));
}

class Interpreter : public testing::Test {
 protected:
  Interpreter() {
    std::filesystem::create_directories(venv_ + "/bin");
    std::ofstream(venv_ + "/bin/python3") << "#!/bin/sh\n";
    chmod((venv_ + "/bin/python3").c_str(), 0755);
  }
  static std::string Why(const std::string& wanted) {
    return std::string(FindInterpreter(wanted).status().message());
  }
  std::string venv_ = testing::TempDir() + "/venv";
};

TEST_F(Interpreter, IsAProgramAVenvOrInThePath) {
  EXPECT_EQ(*FindInterpreter(venv_), venv_ + "/bin/python3");
  EXPECT_EQ(*FindInterpreter(venv_ + "/bin/python3"), venv_ + "/bin/python3");
  setenv("PATH", (testing::TempDir() + ":" + venv_ + "/bin").c_str(), 1);
  EXPECT_EQ(*FindInterpreter("python3"), venv_ + "/bin/python3");
  unsetenv("MLAFUZZ_PYTHON");
  EXPECT_EQ(*FindInterpreter(""), venv_ + "/bin/python3");
  setenv("MLAFUZZ_PYTHON", "/bin/sh", 1);
  EXPECT_EQ(*FindInterpreter(""), "/bin/sh");
}

TEST_F(Interpreter, ThatIsNotThereIsNamedWithTheWayOut) {
  EXPECT_THAT(Why(testing::TempDir()), HasSubstr("without bin/python3"));
  EXPECT_THAT(Why("/nowhere/python"), HasSubstr("/nowhere/python is no prog"));
  setenv("PATH", venv_.c_str(), 1);
  EXPECT_THAT(Why("python9"), HasSubstr("python9 is not in $PATH"));
  EXPECT_THAT(Why("python9"), HasSubstr("--python=PATH"));
}

}  // namespace
}  // namespace mlafuzz
