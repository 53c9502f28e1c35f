// A row is copied in blocks of 128 bytes by a kernel that asks only whether a
// block begins in the quantised part: 528 bytes are no multiple of 128, so the
// block that begins at 512 is taken for rope, at an offset below it. The tile
// scales come from in front of the rope's row.
//
// Source: sgl-project/sglang#15522 (merged; the fault and its fix are told in
// a comment): set_mla_kv_buffer_kernel with nope_dim 528 and blocks of 128.
#include "properties/ledger/foreign/exports.h"
#include "properties/ledger/foreign/right_writer.h"

namespace {

class BlockOnBoundary : public wild::RightWriter {
 protected:
  void Store(const MlafuzzWrite& args, int64_t token, const uint8_t* staged,
             uint8_t* row) override {
    const uint8_t* rope = Rope(args, token);
    if (rope == nullptr) {
      RightWriter::Store(args, token, staged, row);
      return;
    }
    constexpr int kBlock = 128;
    constexpr int kRow = wild::kRopeAt + 2 * wild::kRope;
    for (int base = 0; base < kRow; base += kBlock) {
      const int count = std::min(kBlock, kRow - base);
      const bool quantised = base + kBlock <= wild::kRopeAt;
      const uint8_t* from =
          quantised ? staged + base : rope + (base - wild::kRopeAt);
      std::memcpy(row + base, from, size_t(count));
    }
  }
};

}  // namespace

WILD_EXPORT_WRITER(BlockOnBoundary);
