#include "properties/minimize/minimize.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "corpus/codec.h"
#include "corpus/image.h"
#include "corpus/values.h"
#include "properties/minimize/cost.h"
#include "properties/minimize/models.h"
#include "properties/repair.h"

// How it works. Reductions are tried one by one, large ones first; one is kept
// if the case still fails and costs strictly less (cost.h). Rounds of all
// reductions repeat until a whole round keeps none: then no reduction of the
// result can be kept, which is why a second run makes no progress.
//
// Generated values cannot be thinned out, so where little of them is left they
// are first written out, value by value, and then dropped by halves (ddmin,
// Zeller and Hildebrandt 2002).
namespace mlafuzz {
namespace {

class Search {
 public:
  Search(const Case& c, const MinimizeOptions& options,
         const std::function<bool(const Case&)>& still_fails,
         const std::function<void(const MinimizeProgress&)>& progress)
      : best_(c),
        options_(options),
        still_fails_(still_fails),
        report_(progress),
        start_(std::chrono::steady_clock::now()) {
    Canonicalise(best_);
    cost_ = CostOf(best_);
    progress_.bytes = CanonicalBinary(best_).size();
    // A case that Repair would change is not forced into its mould.
    Case repaired = best_;
    RepairCase(repaired, kAny);
    repairable_ = CanonicalBinary(repaired) == CanonicalBinary(best_);
  }

  Case Run() {
    bool progress = true;
    while (progress && !Exhausted()) {
      progress = false;
      progress |= DropSteps();
      progress |= PlainPool();
      progress |= SmallerPool();
      for (int i = 0; i < best_.steps_size(); ++i) {
        switch (best_.steps(i).call_case()) {
          case Step::kWrite:
            progress |= ReduceWrite(i);
            break;
          case Step::kGather:
            progress |= ReduceGather(i);
            break;
          case Step::kConvert:
            progress |= ReduceConvert(i);
            break;
          case Step::kDecode:
            progress |= ReduceDecode(i);
            break;
          case Step::kPatch:
            progress |= ReducePatch(i);
            break;
          default:
            break;
        }
      }
      // Last: plain contents make many tables alike, and leave fewer ways on.
      if (!progress) progress = PlainFill();
    }
    return best_;
  }

 private:
  static constexpr GeneratorOptions kAny = {.decode = true, .small = false};
  // Up to this many values are written out one by one.
  static constexpr std::uint64_t kMostWrittenOut = 4 * 512;
  static constexpr std::uint32_t kOne32 = 0x3f800000;

  bool Exhausted() const {
    return progress_.tries >= options_.max_tries ||
           std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         start_)
                   .count() >= options_.max_seconds;
  }

  // Whether `c` fails. Asks once only, so that a round without progress costs
  // next to nothing.
  bool Fails(const Case& c) {
    const std::uint64_t hash = CaseHash(c);
    if (const auto known = asked_.find(hash); known != asked_.end()) {
      return known->second;
    }
    if (Exhausted()) return false;
    ++progress_.tries;
    ++progress_.since_success;
    const bool fails = BuildImage(c).ok() && still_fails_(c);
    asked_.emplace(hash, fails);
    if (fails) progress_.since_success = 0;
    if (report_) report_(progress_);
    return fails;
  }

  // Keeps `c` if it is plainer and still fails.
  bool Try(Case c) {
    Canonicalise(c);
    if (TryAsIs(c)) return true;
    if (!repairable_) return false;
    // A reduction may leave a slot or a page number out of range.
    Case repaired = c;
    RepairCase(repaired, kAny);
    Canonicalise(repaired);
    return TryAsIs(repaired);
  }

  bool TryAsIs(const Case& c) {
    const CaseCost cost = CostOf(c);
    if (!(cost < cost_) || !Fails(c)) return false;
    Keep(c, cost);
    return true;
  }

  void Keep(const Case& c, const CaseCost& cost) {
    best_ = c;
    cost_ = cost;
    progress_.bytes = CanonicalBinary(best_).size();
    if (report_) report_(progress_);
  }

  // Tries best_ after `edit`.
  template <typename Edit>
  bool TryEdit(const Edit& edit) {
    Case c = best_;
    edit(c);
    return Try(std::move(c));
  }

  // Tries `set` on best_ with values in [least, now): the first few, then
  // doubling, then one less.
  template <typename Set>
  bool Lower(std::uint64_t now, std::uint64_t least, const Set& set) {
    if (now <= least) return false;
    for (std::uint64_t v = least; v < now;
         v = v < least + 4 ? v + 1 : std::max(2 * v, v + 1)) {
      if (TryEdit([&](Case& c) { set(c, v); })) return true;
    }
    return TryEdit([&](Case& c) { set(c, now - 1); });
  }

  // ---- The program

  bool DropSteps() {
    bool progress = false;
    // One alone, then without one.
    for (int i = 0; i < best_.steps_size() && best_.steps_size() > 1; ++i) {
      if (TryEdit([&](Case& c) {
            c.mutable_steps()->SwapElements(0, i);
            while (c.steps_size() > 1) c.mutable_steps()->RemoveLast();
          })) {
        return true;
      }
    }
    for (int i = best_.steps_size() - 1; i >= 0 && best_.steps_size() > 1;
         --i) {
      progress |=
          TryEdit([&](Case& c) { c.mutable_steps()->DeleteSubrange(i, 1); });
    }
    return progress;
  }

  // ---- The pool

  bool PlainPool() {
    bool progress = false;
    progress |= TryEdit([](Case& c) {
      c.clear_schedule();
      c.clear_poison();
    });
    progress |= TryEdit([](Case& c) { c.clear_schedule(); });
    progress |= TryEdit([](Case& c) { c.clear_poison(); });
    progress |= TryEdit([](Case& c) {
      Pool& p = *c.mutable_pool();
      p.clear_page_stride();
      p.clear_row_stride();
      p.clear_offset();
    });
    progress |= TryEdit([](Case& c) { c.mutable_pool()->clear_page_stride(); });
    progress |= TryEdit([](Case& c) {
      c.mutable_pool()->clear_row_stride();
      c.mutable_pool()->clear_page_stride();
    });
    progress |= TryEdit([](Case& c) { c.mutable_pool()->clear_row_stride(); });
    progress |= TryEdit([](Case& c) { c.mutable_pool()->clear_row_bytes(); });
    progress |= TryEdit([](Case& c) { c.mutable_pool()->clear_offset(); });
    progress |= TryEdit([](Case& c) { c.mutable_pool()->clear_patches(); });
    for (int i = best_.pool().patches_size() - 1; i >= 0; --i) {
      progress |= TryEdit([&](Case& c) {
        c.mutable_pool()->mutable_patches()->DeleteSubrange(i, 1);
      });
    }
    return progress;
  }

  // What the rows hold.
  bool PlainFill() {
    bool progress = false;
    // 0, 1, then 0x38: codes of 1.0 under scales with a full mantissa.
    for (const std::uint32_t byte : {0x00, 0x01, 0x38, 0x7f, 0x80, 0xff}) {
      if (TryEdit([&](Case& c) {
            c.mutable_pool()->clear_fill();
            c.mutable_pool()->mutable_fill()->set_byte(byte);
          })) {
        progress = true;
        break;
      }
    }
    // One row that differs from all others in one byte: its first rope byte, or
    // its first code under a scale that shows it.
    if (best_.pool().fill().kind() != Fill::BYTE) {
      const std::uint64_t slots =
          std::uint64_t{best_.pool().page_size()} * best_.pool().pages();
      for (std::uint64_t slot = 0; slot < std::min<std::uint64_t>(slots, 16);
           ++slot) {
        for (const bool rope : {true, false}) {
          progress |= TryEdit([&](Case& c) {
            Pool& pool = *c.mutable_pool();
            pool.clear_fill();
            pool.mutable_fill()->set_byte(rope ? 0x00 : 0x38);
            pool.clear_patches();
            Patch& patch = *pool.add_patches();
            patch.set_slot(slot);
            patch.set_at(rope ? 528 : 0);
            patch.set_data("\x01");
          });
        }
      }
    }
    if (best_.pool().fill().kind() != Fill::BYTE) {
      for (std::uint64_t seed = 0; seed < 4; ++seed) {
        progress |= TryEdit([&](Case& c) {
          Fill& fill = *c.mutable_pool()->mutable_fill();
          fill.set_kind(Fill::ROWS);
          fill.set_seed(seed);
        });
        progress |= TryEdit(
            [&](Case& c) { c.mutable_pool()->mutable_fill()->set_seed(seed); });
      }
    }
    return progress;
  }

  bool SmallerPool() {
    bool progress = false;
    progress |= Lower(best_.pool().pages(), 1, [](Case& c, std::uint64_t v) {
      c.mutable_pool()->set_pages(static_cast<std::uint32_t>(v));
    });
    progress |=
        Lower(best_.pool().page_size(), 1, [](Case& c, std::uint64_t v) {
          c.mutable_pool()->set_page_size(static_cast<std::uint32_t>(v));
        });
    progress |=
        Lower(best_.pool().page_size(), 1, [](Case& c, std::uint64_t v) {
          Repage(c, static_cast<std::int64_t>(v));
        });
    // Padding as small as alignment lets it be.
    const Pool& p = best_.pool();
    const std::uint64_t row = p.row_bytes() != 0 ? p.row_bytes() : 656;
    const std::uint64_t stride = p.row_stride() != 0 ? p.row_stride() : row;
    if (p.row_stride() > row) {
      progress |= TryEdit([&](Case& c) {
        c.mutable_pool()->set_row_stride(static_cast<std::uint32_t>(row + 8));
      });
    }
    if (p.page_stride() > stride * p.page_size()) {
      progress |= TryEdit([&](Case& c) {
        c.mutable_pool()->set_page_stride(stride * p.page_size() + 8);
      });
    }
    for (const std::uint32_t offset : {4u, 8u}) {
      if (p.offset() <= offset) break;
      progress |=
          TryEdit([&](Case& c) { c.mutable_pool()->set_offset(offset); });
    }
    return progress;
  }

  // A number in pages of `from` rows as the same page and row, or last row, of
  // pages of `to`.
  static std::int64_t Moved(std::int64_t at, std::int64_t from,
                            std::int64_t to) {
    if (at < 0) return at;
    const std::int64_t row = at % from;
    return at / from * to + (row + 1 == from ? to - 1 : std::min(row, to - 1));
  }

  // Pages of `size` rows, with all that counts in pages moved along.
  static void Repage(Case& c, std::int64_t size) {
    const std::int64_t old = c.pool().page_size();
    const auto move = [&](auto value) {
      return static_cast<decltype(value)>(Moved(value, old, size));
    };
    c.mutable_pool()->set_page_size(static_cast<std::uint32_t>(size));
    c.mutable_pool()->clear_page_stride();
    for (Patch& patch : *c.mutable_pool()->mutable_patches()) {
      patch.set_slot(move(patch.slot()));
    }
    for (Step& step : *c.mutable_steps()) {
      if (step.has_write()) {
        for (std::int64_t& slot :
             *step.mutable_write()->mutable_slots()->mutable_values()) {
          slot = move(slot);
        }
      } else if (step.has_gather()) {
        for (std::int32_t& first :
             *step.mutable_gather()->mutable_seq_starts()) {
          first = move(first);
        }
      } else if (step.has_convert()) {
        Indices& indices = *step.mutable_convert()->mutable_token_indices();
        for (SetIndex& set : *indices.mutable_set()) {
          set.set_value(move(set.value()));
        }
      } else if (step.has_decode()) {
        Indices& indices = *step.mutable_decode()->mutable_indices();
        for (SetIndex& set : *indices.mutable_set()) {
          set.set_value(move(set.value()));
        }
      }
    }
  }

  // ---- Writes

  static std::uint64_t TokensOf(const Write& w) {
    return std::max<std::uint64_t>(w.slots().count(), w.slots().values_size());
  }

  // The tokens `keep` of `w`, with the values that they had where few enough
  // are left to be written out.
  static void KeepTokens(Write& w, const std::vector<std::uint64_t>& keep,
                         std::uint64_t slots_in_pool, bool written_out) {
    const std::vector<std::int64_t> slots =
        ExpandIntegers(w.slots(), TokensOf(w), slots_in_pool);
    w.clear_slots();
    const auto keep_rows = [&](Values& values, std::uint64_t columns) {
      if (columns == 0) return;
      const bool uniform = (values.pattern() == Values::ZERO ||
                            values.pattern() == Values::CONSTANT) &&
                           values.set_size() == 0;
      if (uniform) return;
      if (!written_out) return;
      const std::vector<std::uint16_t> bits = ExpandValues(
          values, w.input() == F16 ? F16 : BF16, (keep.back() + 1) * columns);
      values.Clear();
      for (std::size_t row = 0; row < keep.size(); ++row) {
        for (std::uint64_t i = 0; i < columns; ++i) {
          const std::uint16_t v = bits[keep[row] * columns + i];
          if (v == 0) continue;
          SetBits& set = *values.add_set();
          set.set_at(static_cast<std::uint32_t>(row * columns + i));
          set.set_bits(v);
        }
      }
    };
    if (!keep.empty()) {
      keep_rows(*w.mutable_kv_c(), w.latent_dim() != 0 ? w.latent_dim() : 512);
      keep_rows(*w.mutable_k_pe(), w.pe_dim());
    }
    for (const std::uint64_t token : keep) {
      w.mutable_slots()->add_values(slots[token]);
    }
  }

  bool TryTokens(int step, const std::vector<std::uint64_t>& keep) {
    const std::uint64_t slots =
        std::uint64_t{best_.pool().page_size()} * best_.pool().pages();
    for (const bool written_out : {false, true}) {
      if (written_out && keep.size() * 512 > kMostWrittenOut) continue;
      if (TryEdit([&](Case& c) {
            KeepTokens(*c.mutable_steps(step)->mutable_write(), keep, slots,
                       written_out);
          })) {
        return true;
      }
    }
    return false;
  }

  bool DropTokens(int step) {
    bool progress = false;
    const auto tokens = [&] { return TokensOf(best_.steps(step).write()); };
    if (tokens() == 0) return false;
    if (TryTokens(step, {})) return true;
    // Any one alone.
    if (tokens() > 1) {
      for (std::uint64_t t = 0; t < std::min<std::uint64_t>(tokens(), 128);
           ++t) {
        if (TryTokens(step, {t})) return true;
      }
    }
    // Without a run of them.
    for (std::uint64_t run = tokens() / 2; run > 0; run /= 2) {
      for (std::uint64_t at = 0; at < tokens() && tokens() > 1;) {
        std::vector<std::uint64_t> keep;
        for (std::uint64_t t = 0; t < tokens(); ++t) {
          if (t < at || t >= at + run) keep.push_back(t);
        }
        if (TryTokens(step, keep)) {
          progress = true;
        } else {
          at += run;
        }
      }
    }
    return progress;
  }

  // Drops entries of values.set by halves, quarters, ... while the case fails.
  // Works on a case of its own: many values written out cost more than a
  // pattern until enough of them are gone.
  template <typename ValuesOf>
  bool ThinOut(Case c, const ValuesOf& values_of) {
    Canonicalise(c);
    if (CanonicalBinary(c) != CanonicalBinary(best_) && !Fails(c)) return false;
    int size = values_of(c).set_size();
    for (int run = (size + 1) / 2; run > 0 && size > 0;
         run = run == 1 ? 0 : (run + 1) / 2) {
      for (int at = 0; at < size;) {
        Case fewer = c;
        auto* set = values_of(fewer).mutable_set();
        set->DeleteSubrange(at, std::min(run, size - at));
        if (Fails(fewer)) {
          c = std::move(fewer);
          size = values_of(c).set_size();
        } else {
          at += run;
        }
      }
    }
    const CaseCost cost = CostOf(c);
    if (!(cost < cost_)) return false;
    Keep(c, cost);
    return true;
  }

  template <typename ValuesOf>
  bool ReduceWritten(int step, std::uint64_t columns, const ValuesOf& of) {
    const Write& w = best_.steps(step).write();
    return ReduceValues(
        [&](Case& c) -> Values& {
          return of(*c.mutable_steps(step)->mutable_write());
        },
        w.input() == F16 ? F16 : BF16, TokensOf(w) * columns);
  }

  // `count` 16-bit values.
  template <typename ValuesOf>
  bool ReduceValues(const ValuesOf& values_of, DType dtype,
                    std::uint64_t count) {
    bool progress = false;
    const std::uint32_t one = dtype == F16 ? 0x3c00 : 0x3f80;
    progress |= TryEdit([&](Case& c) { values_of(c).Clear(); });
    progress |= TryEdit([&](Case& c) {
      values_of(c).Clear();
      values_of(c).set_pattern(Values::CONSTANT);
      values_of(c).set_bits(one);
    });
    progress |= TryEdit([&](Case& c) { values_of(c).clear_set(); });
    progress |= TryEdit([&](Case& c) {
      values_of(c).clear_pattern();
      values_of(c).clear_seed();
      values_of(c).clear_bits();
    });
    // One value of 1.0 alone.
    progress |= TryEdit([&](Case& c) {
      values_of(c).Clear();
      values_of(c).add_set()->set_bits(one);
    });
    Case copy = best_;
    const Values& now = values_of(copy);
    if (now.pattern() != Values::ZERO && count <= kMostWrittenOut) {
      const std::vector<std::uint16_t> bits = ExpandValues(now, dtype, count);
      Case written_out = best_;
      Values& values = values_of(written_out);
      values.Clear();
      for (std::uint64_t i = 0; i < count; ++i) {
        if (bits[i] == 0) continue;
        SetBits& set = *values.add_set();
        set.set_at(static_cast<std::uint32_t>(i));
        set.set_bits(bits[i]);
      }
      progress |= ThinOut(std::move(written_out), values_of);
    } else if (now.set_size() > 0) {
      progress |= ThinOut(best_, values_of);
    }
    progress |= ReduceSets(values_of, dtype, one);
    if (values_of(copy).pattern() != Values::ZERO) {
      for (std::uint64_t seed = 0; seed < 3; ++seed) {
        progress |= TryEdit([&](Case& c) {
          if (values_of(c).pattern() != Values::ZERO)
            values_of(c).set_seed(seed);
        });
      }
    }
    return progress;
  }

  // Plainer bits and places of single values.
  template <typename ValuesOf>
  bool ReduceSets(const ValuesOf& values_of, DType dtype, std::uint32_t one) {
    bool progress = false;
    constexpr int kFew = 16;
    Case copy = best_;
    const int size = values_of(copy).set_size();
    if (size > kFew) return false;
    for (int i = 0; i < size; ++i) {
      const auto bits = [&] {
        copy = best_;
        return values_of(copy).set(i).bits();
      };
      const auto try_bits = [&](std::uint32_t b) {
        return BitsCost(b, dtype) < BitsCost(bits(), dtype) &&
               TryEdit(
                   [&](Case& c) { values_of(c).mutable_set(i)->set_bits(b); });
      };
      progress |= try_bits(one);
      progress |= try_bits(one | 0x8000);
      progress |= try_bits(bits() & 0x7fff);
      const int mantissa_bits = dtype == F16 ? 10 : 7;
      for (int bit = mantissa_bits - 1; bit >= 0; --bit) {
        progress |= try_bits(one | 1u << bit);
      }
      for (int bit = 0; bit < mantissa_bits; ++bit) {
        progress |= try_bits(bits() & ~(1u << bit));
      }
      // The exponent of 1.0, then nearer to it by half.
      const std::uint32_t field = 0x7fffu >> mantissa_bits << mantissa_bits;
      progress |= try_bits((bits() & ~field) | one);
      while (true) {
        const int exponent =
            static_cast<int>((bits() & 0x7fff) >> mantissa_bits);
        const int target = static_cast<int>(one >> mantissa_bits);
        const int half = (exponent + target) / 2;
        if (half == exponent ||
            !try_bits((bits() & ~field) |
                      (static_cast<std::uint32_t>(half) << mantissa_bits))) {
          break;
        }
        progress = true;
      }
      copy = best_;
      const std::uint32_t at = values_of(copy).set(i).at();
      for (const std::uint32_t to :
           {0u, 1u, at % 128, at / 128 * 128, at / 128 * 128 + 1}) {
        if (to >= at) continue;
        if (TryEdit(
                [&](Case& c) { values_of(c).mutable_set(i)->set_at(to); })) {
          progress = true;
          break;
        }
      }
    }
    return progress;
  }

  bool ReduceWrite(int step) {
    bool progress = false;
    const auto write = [&](Case& c) -> Write& {
      return *c.mutable_steps(step)->mutable_write();
    };
    progress |= TryEdit([&](Case& c) {
      Write& w = write(c);
      w.clear_kv_c_row_stride();
      w.clear_k_pe_row_stride();
      w.clear_kv_c_offset();
      w.clear_k_pe_offset();
      w.clear_surplus_rows();
    });
    progress |= TryEdit([&](Case& c) { write(c).clear_kv_c_row_stride(); });
    progress |= TryEdit([&](Case& c) { write(c).clear_k_pe_row_stride(); });
    progress |= TryEdit([&](Case& c) { write(c).clear_kv_c_offset(); });
    progress |= TryEdit([&](Case& c) { write(c).clear_k_pe_offset(); });
    progress |= TryEdit([&](Case& c) { write(c).clear_surplus_rows(); });
    progress |= TryEdit([&](Case& c) { write(c).clear_latent_dim(); });
    progress |= TryEdit([&](Case& c) {
      Write& w = write(c);
      w.clear_pe_dim();
      w.clear_k_pe();
      w.clear_k_pe_row_stride();
      w.clear_k_pe_offset();
    });
    progress |= TryEdit([&](Case& c) {
      write(c).clear_input();
      write(c).mutable_kv_c()->clear_set();
      write(c).mutable_k_pe()->clear_set();
    });
    progress |= TryEdit([&](Case& c) { write(c).clear_input(); });
    if (best_.steps(step).write().input() == F16) {
      // Its few values as 1.5 in the other format.
      progress |= TryEdit([&](Case& c) {
        write(c).clear_input();
        for (SetBits& set : *write(c).mutable_kv_c()->mutable_set()) {
          set.set_bits(0x3fc0);
        }
      });
    }
    progress |= DropTokens(step);
    progress |= WriteOutIntegers(
        [&](Case& c) -> Integers& { return *write(c).mutable_slots(); });
    progress |= ReduceIntegers(
        [&](Case& c) -> Integers& { return *write(c).mutable_slots(); });
    const Write& w = best_.steps(step).write();
    progress |=
        ReduceWritten(step, w.latent_dim() != 0 ? w.latent_dim() : 512,
                      [](Write& x) -> Values& { return *x.mutable_kv_c(); });
    if (best_.steps(step).write().pe_dim() != 0) {
      progress |=
          ReduceWritten(step, best_.steps(step).write().pe_dim(),
                        [](Write& x) -> Values& { return *x.mutable_k_pe(); });
    }
    // Smaller numbers where a knob is needed.
    const Write now = best_.steps(step).write();
    if (now.kv_c_row_stride() > 520) {
      progress |= TryEdit([&](Case& c) { write(c).set_kv_c_row_stride(520); });
    }
    if (now.k_pe_row_stride() > 66) {
      progress |= TryEdit([&](Case& c) { write(c).set_k_pe_row_stride(66); });
    }
    if (now.kv_c_offset() > 8) {
      progress |= TryEdit([&](Case& c) { write(c).set_kv_c_offset(8); });
    }
    if (now.kv_c_offset() > 1) {
      progress |= TryEdit([&](Case& c) { write(c).set_kv_c_offset(1); });
    }
    if (now.k_pe_offset() > 2) {
      progress |= TryEdit([&](Case& c) { write(c).set_k_pe_offset(2); });
    }
    for (const std::int32_t rows : {1, -1}) {
      if (now.surplus_rows() * rows > 1) {
        progress |= TryEdit([&](Case& c) { write(c).set_surplus_rows(rows); });
      }
    }
    return progress;
  }

  // A short generated list becomes a literal one.
  template <typename ListOf>
  bool WriteOutIntegers(const ListOf& list_of) {
    Case c = best_;
    Integers& list = list_of(c);
    if (list.count() <= static_cast<std::uint32_t>(list.values_size()) ||
        list.count() > 8) {
      return false;
    }
    const std::vector<std::int64_t> all =
        ExpandIntegers(list, list.count(),
                       std::uint64_t{c.pool().page_size()} * c.pool().pages());
    list.Clear();
    list.mutable_values()->Assign(all.begin(), all.end());
    return Try(std::move(c));
  }

  template <typename ListOf>
  bool ReduceIntegers(const ListOf& list_of) {
    bool progress = false;
    Case copy = best_;
    const int size = std::min(list_of(copy).values_size(), 64);
    for (int i = 0; i < size; ++i) {
      copy = best_;
      if (i >= list_of(copy).values_size()) break;
      const std::int64_t now = list_of(copy).values(i);
      for (const std::int64_t to :
           {std::int64_t{0}, std::int64_t{1}, std::int64_t{2}, now / 2, now - 1,
            std::int64_t{-1}, std::int64_t{-2}, std::int64_t{-16},
            std::int64_t{std::numeric_limits<std::int32_t>::min()}}) {
        if (now == std::numeric_limits<std::int64_t>::min() && to > 0) continue;
        if (SlotCost(to) >= SlotCost(now)) continue;
        if (TryEdit([&](Case& c) { list_of(c).set_values(i, to); })) {
          progress = true;
          break;
        }
      }
    }
    return progress;
  }

  // ---- Gathers

  bool ReduceGather(int step) {
    bool progress = false;
    const auto gather = [&](Case& c) -> Gather& {
      return *c.mutable_steps(step)->mutable_gather();
    };
    progress |= TryEdit([&](Case& c) { gather(c).clear_dst_row_stride(); });
    progress |= TryEdit([&](Case& c) { gather(c).clear_dst_columns(); });
    progress |= TryEdit([&](Case& c) { gather(c).clear_output(); });
    progress |= TryEdit([&](Case& c) { gather(c).clear_nope(); });
    GatherModel model;
    if (!ToModel(best_.steps(step).gather(), best_.pool(), &model)) {
      // The order is part of the fault only if nothing simpler fails.
      if (TryEdit([&](Case& c) { Straighten(&gather(c)); })) return true;
      for (int i = best_.steps(step).gather().workspace_starts_size() - 1;
           i >= 0; --i) {
        if (TryEdit([&](Case& c) { DropRequest(i, &gather(c)); })) return true;
      }
      // Else, as where requests disagree in number: fewer of all.
      progress |= ReduceRequests(step);
      progress |= ReduceBatch(step);
      return progress;
    }
    const auto try_model = [&](const GatherModel& m) {
      if (!TryEdit([&](Case& c) { FromModel(m, &gather(c)); })) return false;
      ToModel(best_.steps(step).gather(), best_.pool(), &model);
      return true;
    };
    for (const GatherModel& smaller : ReductionsOf(model)) {
      if (try_model(smaller)) return true;  // the rest is made anew
    }
    if (best_.steps(step).gather().dst_row_stride() > 584) {
      progress |= TryEdit([&](Case& c) { gather(c).set_dst_row_stride(584); });
    }
    return progress;
  }

  // One number of one request at a time.
  bool ReduceRequests(int step) {
    bool progress = false;
    const auto gather = [&](Case& c) -> Gather& {
      return *c.mutable_steps(step)->mutable_gather();
    };
    const auto lower = [&](const auto& list, const auto& set) {
      for (int i = 0; i < list.size(); ++i) {
        const std::int32_t now = list.Get(i);
        for (const std::int32_t v : {0, 1, -1, now / 2}) {
          if (v == now ||
              std::abs(std::int64_t{v}) > std::abs(std::int64_t{now}))
            continue;
          if (TryEdit([&](Case& c) { set(gather(c), i, v); })) {
            progress = true;
            break;
          }
        }
      }
    };
    const Gather before = best_.steps(step).gather();
    lower(before.workspace_starts(), [](Gather& g, int i, std::int32_t v) {
      g.set_workspace_starts(i, v);
    });
    lower(before.seq_lens(),
          [](Gather& g, int i, std::int32_t v) { g.set_seq_lens(i, v); });
    lower(before.seq_starts(),
          [](Gather& g, int i, std::int32_t v) { g.set_seq_starts(i, v); });
    return progress;
  }

  bool ReduceBatch(int step) {
    bool progress = false;
    const auto gather = [&](Case& c) -> Gather& {
      return *c.mutable_steps(step)->mutable_gather();
    };
    progress |= TryEdit([&](Case& c) { gather(c).clear_seq_lens(); });
    progress |= TryEdit([&](Case& c) { gather(c).clear_seq_starts(); });
    progress |= TryEdit([&](Case& c) {
      gather(c).clear_workspace_starts();
      gather(c).set_dst_rows(0);
    });
    progress |= TryEdit([&](Case& c) { gather(c).set_dst_rows(0); });
    progress |= TryEdit(
        [&](Case& c) { gather(c).mutable_block_table()->clear_pages(); });
    progress |= TryEdit([&](Case& c) {
      Table& table = *gather(c).mutable_block_table();
      const std::uint32_t rows = table.rows();
      table.Clear();
      table.set_rows(rows);
    });
    progress |= TryEdit([&](Case& c) {
      gather(c).mutable_block_table()->clear_expanded();
      gather(c).mutable_block_table()->clear_row_stride();
    });
    progress |= Lower(best_.steps(step).gather().block_table().rows(), 0,
                      [&](Case& c, std::uint64_t v) {
                        gather(c).mutable_block_table()->set_rows(
                            static_cast<std::uint32_t>(v));
                      });
    progress |= Lower(best_.steps(step).gather().block_table().columns(), 0,
                      [&](Case& c, std::uint64_t v) {
                        gather(c).mutable_block_table()->set_columns(
                            static_cast<std::uint32_t>(v));
                      });
    progress |= Lower(best_.steps(step).gather().dst_rows(), 0,
                      [&](Case& c, std::uint64_t v) {
                        gather(c).set_dst_rows(static_cast<std::uint32_t>(v));
                      });
    return progress;
  }

  // ---- Index conversion

  bool ReduceConvert(int step) {
    bool progress = false;
    const auto convert = [&](Case& c) -> Convert& {
      return *c.mutable_steps(step)->mutable_convert();
    };
    progress |= TryEdit([&](Case& c) {
      convert(c).clear_out_row_stride();
      convert(c).mutable_token_indices()->clear_row_stride();
    });
    progress |= TryEdit([&](Case& c) { convert(c).clear_out_row_stride(); });
    progress |= TryEdit([&](Case& c) {
      convert(c).mutable_token_indices()->clear_row_stride();
    });
    progress |= TryEdit([&](Case& c) { convert(c).clear_valid_count(); });
    progress |= TryEdit([&](Case& c) { convert(c).clear_surplus_requests(); });
    const std::int32_t surplus = best_.steps(step).convert().surplus_requests();
    for (const std::int32_t one : {1, -1}) {
      if (surplus * one > 1) {
        progress |=
            TryEdit([&](Case& c) { convert(c).set_surplus_requests(one); });
      }
    }
    ConvertModel model;
    if (!ToModel(best_.steps(step).convert(), best_.pool(), &model)) {
      return progress;
    }
    for (const ConvertModel& smaller : ReductionsOf(model)) {
      if (TryEdit([&](Case& c) { FromModel(smaller, &convert(c)); })) {
        return true;
      }
    }
    return progress;
  }

  // ---- Decodes

  bool ReduceDecode(int step) {
    bool progress = false;
    const auto decode = [&](Case& c) -> Decode& {
      return *c.mutable_steps(step)->mutable_decode();
    };
    const auto now = [&]() -> const Decode& {
      return best_.steps(step).decode();
    };
    progress |= TryEdit([&](Case& c) {
      Decode& d = decode(c);
      d.clear_lengths();
      d.clear_sink_bits();
      d.clear_splits();
      d.clear_declared_topk();
      d.clear_query_length();
      d.mutable_indices()->clear_row_stride();
    });
    progress |= TryEdit(
        [&](Case& c) { decode(c).mutable_indices()->clear_row_stride(); });
    progress |= TryEdit([&](Case& c) { decode(c).clear_lengths(); });
    progress |= TryEdit([&](Case& c) { decode(c).clear_sink_bits(); });
    progress |= TryEdit([&](Case& c) { decode(c).clear_splits(); });
    progress |= TryEdit([&](Case& c) { decode(c).clear_declared_topk(); });
    progress |= TryEdit([&](Case& c) { decode(c).clear_query_length(); });
    progress |=
        TryEdit([&](Case& c) { decode(c).set_softmax_scale_bits(kOne32); });
    progress |= Lower(now().splits(), 1, [&](Case& c, std::uint64_t v) {
      decode(c).set_splits(static_cast<std::uint32_t>(v));
    });
    progress |= Lower(now().declared_topk(), 1, [&](Case& c, std::uint64_t v) {
      decode(c).set_declared_topk(static_cast<std::uint32_t>(v));
    });
    for (int i = 0; i < std::min(now().sink_bits_size(), 4); ++i) {
      for (const std::uint32_t bits : {0u, kOne32}) {
        progress |= i < now().sink_bits_size() &&
                    TryEdit([&](Case& c) { decode(c).set_sink_bits(i, bits); });
      }
    }
    DecodeModel model;
    if (ToModel(now(), &model)) {
      for (const DecodeModel& smaller : ReductionsOf(model)) {
        for (const bool written_out : {false, true}) {
          if (written_out &&
              (smaller.queries.empty() || smaller.queries[0].q.empty() ||
               smaller.queries.size() * smaller.heads > 4)) {
            continue;
          }
          if (TryEdit([&](Case& c) {
                FromModel(smaller, written_out, &decode(c));
              })) {
            return true;  // the rest is made anew
          }
        }
      }
      // The same lanes in other words.
      progress |= TryEdit([&](Case& c) {
        FromModel(model, /*written_out=*/false, &decode(c));
      });
    } else {
      progress |= ReduceShapes(step);
    }
    if (now().pe_dim() != 0) {
      progress |= TryEdit([&](Case& c) { WithoutRope(decode(c)); });
      progress |= TryEdit([&](Case& c) { decode(c).clear_pe_dim(); });
    }
    progress |= ReduceValues(
        [&](Case& c) -> Values& { return *decode(c).mutable_q(); }, BF16,
        std::uint64_t{now().queries()} * now().heads() *
            (512 + now().pe_dim()));
    return progress;
  }

  // Of a call that has to be refused.
  bool ReduceShapes(int step) {
    bool progress = false;
    const auto decode = [&](Case& c) -> Decode& {
      return *c.mutable_steps(step)->mutable_decode();
    };
    const auto now = [&]() -> const Decode& {
      return best_.steps(step).decode();
    };
    progress |= TryEdit([&](Case& c) {
      Indices& indices = *decode(c).mutable_indices();
      const std::uint32_t rows = indices.rows();
      indices.Clear();
      indices.set_rows(rows);
      indices.set_width(1);
    });
    progress |= Lower(now().queries(), 0, [&](Case& c, std::uint64_t v) {
      decode(c).set_queries(static_cast<std::uint32_t>(v));
    });
    progress |= Lower(now().indices().rows(), 0, [&](Case& c, std::uint64_t v) {
      decode(c).mutable_indices()->set_rows(static_cast<std::uint32_t>(v));
    });
    progress |= Lower(now().heads(), 0, [&](Case& c, std::uint64_t v) {
      decode(c).set_heads(static_cast<std::uint32_t>(v));
    });
    return progress;
  }

  // The same values of q without the rope's columns.
  static void WithoutRope(Decode& d) {
    const std::uint32_t columns = 512 + d.pe_dim();
    Values& q = *d.mutable_q();
    std::vector<SetBits> kept;
    for (const SetBits& set : q.set()) {
      if (set.at() % columns >= 512) continue;
      kept.push_back(set);
      kept.back().set_at(set.at() / columns * 512 + set.at() % columns);
    }
    q.clear_set();
    for (const SetBits& set : kept) *q.add_set() = set;
    d.clear_pe_dim();
  }

  bool ReducePatch(int step) {
    bool progress = false;
    const auto patch = [&](Case& c) -> Patch& {
      return *c.mutable_steps(step)->mutable_patch();
    };
    progress |= TryEdit([&](Case& c) { patch(c).clear_slot(); });
    progress |= TryEdit([&](Case& c) { patch(c).clear_at(); });
    progress |= TryEdit([&](Case& c) {
      std::string& data = *patch(c).mutable_data();
      if (data.size() > 1) data.resize(data.size() / 2);
    });
    return progress;
  }

  Case best_;
  CaseCost cost_;
  const MinimizeOptions options_;
  const std::function<bool(const Case&)>& still_fails_;
  const std::function<void(const MinimizeProgress&)>& report_;
  const std::chrono::steady_clock::time_point start_;
  MinimizeProgress progress_;
  bool repairable_ = false;
  std::unordered_map<std::uint64_t, bool> asked_;
};

}  // namespace

Case Minimize(const Case& c, const MinimizeOptions& options,
              const std::function<bool(const Case&)>& still_fails,
              const std::function<void(const MinimizeProgress&)>& progress) {
  return Search(c, options, still_fails, progress).Run();
}

}  // namespace mlafuzz
