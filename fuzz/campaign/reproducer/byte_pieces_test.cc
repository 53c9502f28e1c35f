#include "fuzz/campaign/reproducer/byte_pieces.h"

#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

std::string Unfolded(const std::vector<BytePiece>& pieces) {
  std::string bytes;
  for (const BytePiece& piece : pieces) {
    for (std::size_t i = 0; i < piece.times; ++i) bytes += piece.bytes;
  }
  return bytes;
}

TEST(BytePieces, FoldRepetitions) {
  const std::string bytes =
      std::string(656, 'a') + "xyz" + "01010101010101010101" + "end";
  const std::vector<BytePiece> pieces = FoldBytes(bytes);
  ASSERT_EQ(pieces.size(), 4u);
  EXPECT_EQ(pieces[0].times, 656u);
  EXPECT_EQ(pieces[0].bytes, "a");
  EXPECT_EQ(pieces[1].bytes, "xyz");
  EXPECT_EQ(pieces[2].times, 10u);
  EXPECT_EQ(pieces[2].bytes, "01");
  EXPECT_EQ(Unfolded(pieces), bytes);
  EXPECT_TRUE(FoldBytes("").empty());
}

TEST(BytePieces, KeepAnyBytes) {
  std::string bytes;
  unsigned state = 1;
  for (int i = 0; i < 5000; ++i) {
    state = state * 1103515245u + 12345u;
    // Runs, short and long, of few values.
    bytes.append((state >> 16) % 40, static_cast<char>(state >> 24 & 3));
  }
  EXPECT_EQ(Unfolded(FoldBytes(bytes)), bytes);
}

TEST(BytePieces, PatchWhatDiffers) {
  const std::string from(100, 'a');
  std::string to = from;
  to[10] = to[15] = 'b';
  to[60] = 'c';
  const std::vector<BytePatch> patches = DifferenceOf(from, to);
  ASSERT_EQ(patches.size(), 2u);
  EXPECT_EQ(patches[0].at, 10u);
  EXPECT_EQ(patches[0].bytes, "baaaab");
  EXPECT_EQ(patches[1].at, 60u);
  std::string patched = from;
  for (const BytePatch& patch : patches) {
    patched.replace(patch.at, patch.bytes.size(), patch.bytes);
  }
  EXPECT_EQ(patched, to);
}

TEST(BytePieces, AreStringLiterals) {
  EXPECT_EQ(ByteLiteral("", ""), "\"\"");
  EXPECT_EQ(ByteLiteral("a\"\\", ""), "\"\\x61\\x22\\x5c\"");
  EXPECT_EQ(ByteLiteral(std::string(17, '\0'), "  "),
            "\"" + std::string("\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00") +
                "\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\"\n  \"\\x00\"");
}

}  // namespace
}  // namespace mlafuzz
