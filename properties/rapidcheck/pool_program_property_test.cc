// A program of writes, overwrites and gathers on one pool against a model that
// holds the values themselves. Inputs lie on the lattice that the format stores
// exactly (codes of E4M3 times a power of two, the largest 448 times it), so
// that what is gathered is what was written, bit for bit, without any
// arithmetic here.
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <ostream>
#include <vector>

#include "gtest/gtest.h"
#include "properties/choices.h"
#include "properties/rapidcheck/kernels_under_test.h"
#include "rapidcheck/gtest.h"
#include "rapidcheck/state.h"

namespace mlafuzz {
namespace {

constexpr std::int64_t kLatent = 512;
constexpr std::int64_t kRope = 64;
constexpr std::int64_t kColumns = kLatent + kRope;

using Row = std::array<std::uint16_t, kColumns>;  // bf16 bits

// What the pool holds: the last values of each slot that was ever written.
struct Model {
  std::uint32_t page_size = 1;
  std::uint32_t pages = 1;
  std::map<std::int64_t, Row> rows;

  std::int64_t slots() const { return std::int64_t{page_size} * pages; }
};

// The pool's bytes, between calls.
struct Cache {
  Case base;
  std::vector<std::uint8_t> bytes;

  // Runs one call on the pool as it is.
  StepObservation Call(const Step& step) {
    Case c = base;
    *c.add_steps() = step;
    absl::StatusOr<CaseImage> image = BuildImage(c);
    RC_ASSERT(image.ok());
    if (!bytes.empty()) image->pool.bytes = bytes;
    std::vector<Observation> observations;
    RC_ASSERT(PropertyExecutor()
                  .Run(KernelsUnderTest(), {&*image, 1}, &observations)
                  .ok());
    StepObservation& seen = observations[0].steps[0];
    RC_ASSERT(seen.status == CallStatus::kOk);
    RC_ASSERT(seen.strays.empty());
    bytes = seen.pool.has_value() ? *seen.pool : image->pool.bytes;
    return seen;
  }
};

// A row on the lattice, from a seed. `rope`: with one; else columns of zeros.
Row LatticeRow(std::uint64_t seed, bool rope) {
  Choices choices(seed);
  Row row{};
  for (int tile = 0; tile < 4; ++tile) {
    // Of 2^k, k from -12: above every floor in use (1e-4 is 2^-13.3).
    const std::uint32_t scale = 127 - 12 + choices.Below(32);
    const std::uint32_t leader = choices.Below(128);
    for (std::uint32_t i = 0; i < 128; ++i) {
      const std::uint32_t sign = choices.Below(2) << 15;
      // Codes 0x08..0x7e: exponent 1..15, three bits of mantissa; 448 is 0x7e.
      const std::uint32_t code =
          i == leader
              ? 0x7e
              : choices.Pick<std::uint32_t>({0, 8 + choices.Below(0x7f - 8)});
      row[tile * 128 + i] = static_cast<std::uint16_t>(
          sign |
          (code == 0 ? 0 : (scale + (code >> 3) - 7) << 7 | (code & 7) << 4));
    }
  }
  for (std::int64_t i = kLatent; rope && i < kColumns; ++i) {
    row[i] = static_cast<std::uint16_t>(choices.Below(1u << 16));
  }
  return row;
}

using PoolCommand = rc::state::Command<Model, Cache>;

struct WriteRows : PoolCommand {
  std::vector<std::int64_t> slots;
  std::uint64_t seed;
  bool rope;

  explicit WriteRows(const Model& model) {
    const std::vector<std::int64_t> drawn =
        *rc::gen::container<std::vector<std::int64_t>>(
            rc::gen::inRange<std::int64_t>(-2, model.slots()));
    for (const std::int64_t slot : drawn) {
      if (slots.size() == 4) break;
      bool taken = false;
      for (const std::int64_t s : slots) taken |= s == slot && slot >= 0;
      if (!taken) slots.push_back(slot);
    }
    seed = *rc::gen::arbitrary<std::uint64_t>();
    rope = *rc::gen::arbitrary<bool>();
  }

  Row RowOf(std::size_t token) const { return LatticeRow(seed + token, rope); }

  // Kept when a shorter program moves it to another state: slots must exist.
  void checkPreconditions(const Model& model) const override {
    for (const std::int64_t slot : slots) RC_PRE(slot < model.slots());
  }

  void apply(Model& model) const override {
    for (std::size_t i = 0; i < slots.size(); ++i) {
      if (slots[i] >= 0) model.rows[slots[i]] = RowOf(i);
    }
  }

  void run(const Model&, Cache& cache) const override {
    Step step;
    Write& w = *step.mutable_write();
    if (rope) w.set_pe_dim(kRope);
    for (std::size_t i = 0; i < slots.size(); ++i) {
      w.mutable_slots()->add_values(slots[i]);
      const Row row = RowOf(i);
      for (std::int64_t c = 0; c < kColumns; ++c) {
        if (row[c] == 0) continue;
        const bool latent = c < kLatent;
        SetBits& set =
            *(latent ? w.mutable_kv_c() : w.mutable_k_pe())->add_set();
        set.set_at(static_cast<std::uint32_t>(
            latent ? i * kLatent + c : i * kRope + c - kLatent));
        set.set_bits(row[c]);
      }
    }
    cache.Call(step);
  }

  void show(std::ostream& out) const override {
    out << "write slots";
    for (const std::int64_t slot : slots) out << " " << slot;
    out << " seed " << seed << (rope ? "" : " without rope");
  }
};

struct GatherRows : PoolCommand {
  std::int64_t first = 0;
  std::int64_t rows = 1;
  std::vector<std::int64_t> table;

  explicit GatherRows(const Model& model) {
    first = *rc::gen::inRange<std::int64_t>(0, model.page_size);
    rows = *rc::gen::inRange<std::int64_t>(1, 2 * model.page_size + 2);
    const std::int64_t columns = (first + rows - 1) / model.page_size + 1;
    table = *rc::gen::container<std::vector<std::int64_t>>(
        static_cast<std::size_t>(columns),
        rc::gen::inRange<std::int64_t>(0, model.pages));
  }

  void run(const Model& model, Cache& cache) const override {
    Step step;
    Gather& g = *step.mutable_gather();
    g.add_workspace_starts(0);
    g.add_seq_starts(static_cast<std::int32_t>(first));
    g.set_dst_rows(static_cast<std::uint32_t>(rows));
    g.mutable_block_table()->set_rows(1);
    g.mutable_block_table()->set_columns(
        static_cast<std::uint32_t>(table.size()));
    for (const std::int64_t page : table) {
      g.mutable_block_table()->mutable_pages()->add_values(page);
    }
    const StepObservation seen = cache.Call(step);
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t token = first + r;
      const std::int64_t slot =
          table[static_cast<std::size_t>(token / model.page_size)] *
              model.page_size +
          token % model.page_size;
      const auto known = model.rows.find(slot);
      if (known == model.rows.end()) continue;
      Row got;
      std::memcpy(got.data(), seen.outputs[0].data() + r * kColumns * 2,
                  kColumns * 2);
      RC_ASSERT(got == known->second);
    }
  }

  void show(std::ostream& out) const override {
    out << "gather " << rows << " rows from token " << first << ", pages";
    for (const std::int64_t page : table) out << " " << page;
  }
};

RC_GTEST_PROP(PoolProgram, HoldsWhatWasWrittenLast, ()) {
  Model model;
  model.page_size = *rc::gen::element(1u, 2u, 3u, 16u);
  model.pages = *rc::gen::inRange(1u, 4u);
  Cache cache;
  Pool& pool = *cache.base.mutable_pool();
  pool.set_page_size(model.page_size);
  pool.set_pages(model.pages);
  pool.mutable_fill()->set_kind(Fill::RANDOM_BYTES);
  if (*rc::gen::arbitrary<bool>()) {
    pool.set_row_stride(664);
    pool.set_page_stride(664 * model.page_size + 48);
  }
  rc::state::check(model, cache,
                   rc::state::gen::execOneOfWithArgs<WriteRows, GatherRows>());
}

}  // namespace
}  // namespace mlafuzz
