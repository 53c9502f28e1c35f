#ifndef MLAFUZZ_ORACLE_CASE_FIXTURE_H_
#define MLAFUZZ_ORACLE_CASE_FIXTURE_H_

#include <string>
#include <utility>

#include "corpus/case.pb.h"
#include "corpus/codec.h"
#include "corpus/image.h"
#include "gtest/gtest.h"

namespace mlafuzz {

// Tests of one case, from its text.
class CaseTest : public testing::Test {
 protected:
  // Fails fatally if the text is no case, or one without an image.
  void Use(const std::string& text) {
    absl::StatusOr<Case> c = ParseCaseText(text);
    ASSERT_TRUE(c.ok()) << c.status();
    case_ = *std::move(c);
    absl::StatusOr<CaseImage> image = BuildImage(case_);
    ASSERT_TRUE(image.ok()) << image.status();
    image_ = *std::move(image);
  }

  Case case_;
  CaseImage image_;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_ORACLE_CASE_FIXTURE_H_
