#ifndef MLAFUZZ_PROPERTIES_MINIMIZE_REDUCE_VALUES_H_
#define MLAFUZZ_PROPERTIES_MINIMIZE_REDUCE_VALUES_H_

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include "corpus/case.pb.h"
#include "corpus/codec.h"
#include "corpus/values.h"
#include "properties/minimize/model_parts.h"
#include "properties/minimize/search.h"

// Reductions of lists of values, wherever in a case they stand: the first
// argument after the search finds them in one.
namespace mlafuzz::minimize {

// Up to this many values are written out one by one.
inline constexpr std::uint64_t kMostWrittenOut = 4 * 512;

inline std::uint64_t TokensOf(const Write& w) {
  return std::max<std::uint64_t>(w.slots().count(), w.slots().values_size());
}

// Drops entries of values.set by halves, quarters, ... while the case fails.
// Works on a case of its own: many values written out cost more than a
// pattern until enough of them are gone.
template <typename ValuesOf>
bool ThinOut(Search& search, Case c, const ValuesOf& values_of) {
  Canonicalise(c);
  if (CanonicalBinary(c) != CanonicalBinary(search.best()) && !search.Fails(c))
    return false;
  int size = values_of(c).set_size();
  for (int run = (size + 1) / 2; run > 0 && size > 0;
       run = run == 1 ? 0 : (run + 1) / 2) {
    for (int at = 0; at < size;) {
      Case fewer = c;
      auto* set = values_of(fewer).mutable_set();
      set->DeleteSubrange(at, std::min(run, size - at));
      if (search.Fails(fewer)) {
        c = std::move(fewer);
        size = values_of(c).set_size();
      } else {
        at += run;
      }
    }
  }
  const CaseCost cost = CostOf(c);
  if (!(cost < search.cost())) return false;
  search.Keep(c, cost);
  return true;
}

template <typename ValuesOf>
bool ReduceWritten(Search& search, int step, std::uint64_t columns,
                   const ValuesOf& of) {
  const Write& w = search.best().steps(step).write();
  return ReduceValues(
      search,
      [&](Case& c) -> Values& {
        return of(*c.mutable_steps(step)->mutable_write());
      },
      w.input() == F16 ? F16 : BF16, TokensOf(w) * columns);
}

// `count` 16-bit values.
template <typename ValuesOf>
bool ReduceValues(Search& search, const ValuesOf& values_of, DType dtype,
                  std::uint64_t count) {
  bool progress = false;
  const std::uint32_t one = dtype == F16 ? 0x3c00 : 0x3f80;
  progress |= search.TryEdit([&](Case& c) { values_of(c).Clear(); });
  progress |= search.TryEdit([&](Case& c) {
    values_of(c).Clear();
    values_of(c).set_pattern(Values::CONSTANT);
    values_of(c).set_bits(one);
  });
  progress |= search.TryEdit([&](Case& c) { values_of(c).clear_set(); });
  progress |= search.TryEdit([&](Case& c) {
    values_of(c).clear_low_seed();
    for (SetBits& set : *values_of(c).mutable_set()) set.clear_low();
  });
  progress |= search.TryEdit([&](Case& c) {
    for (SetBits& set : *values_of(c).mutable_set()) set.set_low(1);
  });
  progress |= search.TryEdit([&](Case& c) {
    values_of(c).clear_pattern();
    values_of(c).clear_seed();
    values_of(c).clear_bits();
  });
  // One value of 1.0 alone.
  progress |= search.TryEdit([&](Case& c) {
    values_of(c).Clear();
    values_of(c).add_set()->set_bits(one);
  });
  Case copy = search.best();
  const Values& now = values_of(copy);
  if (now.pattern() != Values::ZERO && count <= kMostWrittenOut) {
    // Of an fp32 tensor with its lower halves; a 16-bit one has none.
    const std::vector<std::uint16_t> bits = ExpandValues(now, dtype, count);
    const std::vector<std::uint32_t> wide = ExpandFp32Values(now, count);
    Case written_out = search.best();
    Values& values = values_of(written_out);
    const bool low = now.low_seed() != 0;
    values.Clear();
    for (std::uint64_t i = 0; i < count; ++i) {
      if (bits[i] == 0) continue;
      SetBits& set = *values.add_set();
      set.set_at(static_cast<std::uint32_t>(i));
      set.set_bits(bits[i]);
      if (low) set.set_low(wide[i] & 0xffff);
    }
    progress |= ThinOut(search, std::move(written_out), values_of);
  } else if (now.set_size() > 0) {
    progress |= ThinOut(search, search.best(), values_of);
  }
  progress |= MoveSetsToFront(search, values_of);
  progress |= ReduceSets(search, values_of, dtype, one);
  if (values_of(copy).pattern() != Values::ZERO) {
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      progress |= search.TryEdit([&](Case& c) {
        if (values_of(c).pattern() != Values::ZERO) values_of(c).set_seed(seed);
      });
    }
  }
  return progress;
}

// All single values as far to the front as the first can go: to where it
// stands in its tile, or to the very first place.
template <typename ValuesOf>
bool MoveSetsToFront(Search& search, const ValuesOf& values_of) {
  Case copy = search.best();
  const Values& values = values_of(copy);
  if (values.set_size() == 0) return false;
  std::uint32_t first = UINT32_MAX;
  for (const SetBits& set : values.set()) first = std::min(first, set.at());
  for (const std::uint32_t by : {first, first / 128 * 128}) {
    if (by == 0) continue;
    if (search.TryEdit([&](Case& c) {
          for (SetBits& set : *values_of(c).mutable_set()) {
            set.set_at(set.at() - by);
          }
        })) {
      return true;
    }
  }
  return false;
}

// Plainer bits and places of single values.
template <typename ValuesOf>
bool ReduceSets(Search& search, const ValuesOf& values_of, DType dtype,
                std::uint32_t one) {
  bool progress = false;
  constexpr int kFew = 16;
  Case copy = search.best();
  const int size = values_of(copy).set_size();
  if (size > kFew) return false;
  for (int i = 0; i < size; ++i) {
    // An edit that is kept may leave fewer of them: two at one place are one.
    const auto there = [&] {
      copy = search.best();
      return i < values_of(copy).set_size();
    };
    const auto bits = [&] {
      return there() ? values_of(copy).set(i).bits() : 0u;
    };
    const auto try_bits = [&](std::uint32_t b) {
      return there() && BitsCost(b, dtype) < BitsCost(bits(), dtype) &&
             search.TryEdit(
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
      const int exponent = static_cast<int>((bits() & 0x7fff) >> mantissa_bits);
      const int target = static_cast<int>(one >> mantissa_bits);
      const int half = (exponent + target) / 2;
      if (half == exponent ||
          !try_bits((bits() & ~field) |
                    (static_cast<std::uint32_t>(half) << mantissa_bits))) {
        break;
      }
      progress = true;
    }
    if (!there()) break;
    const std::uint32_t at = values_of(copy).set(i).at();
    for (const std::uint32_t to :
         {0u, 1u, at % 128, at / 128 * 128, at / 128 * 128 + 1}) {
      if (to >= at) continue;
      if (search.TryEdit(
              [&](Case& c) { values_of(c).mutable_set(i)->set_at(to); })) {
        progress = true;
        break;
      }
    }
  }
  return progress;
}

// A short generated list becomes a literal one.
template <typename ListOf>
bool WriteOutIntegers(Search& search, const ListOf& list_of) {
  Case c = search.best();
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
  return search.Try(std::move(c));
}

// Where only the length of a list counts, and its ends: 0 or 1 there, all else
// -1. Of typical lengths and of its own.
template <typename ListOf>
bool EndsAlone(Search& search, const ListOf& list_of) {
  constexpr std::uint64_t kMostEntries = 1024;
  Case c = search.best();
  const Integers& list = list_of(c);
  const std::uint64_t n =
      std::max<std::uint64_t>(list.count(), list.values_size());
  if (n < 2 || n > kMostEntries) return false;
  std::vector<std::uint64_t> lengths(std::begin(kTypicalWidths),
                                     std::end(kTypicalWidths));
  lengths.push_back(n);
  for (const std::uint64_t length : lengths) {
    if (length > n) continue;
    // The last, the first, both.
    for (const int which : {0, 1, 2}) {
      if (search.TryEdit([&](Case& to) {
            Integers& plain = list_of(to);
            plain.Clear();
            for (std::uint64_t i = 0; i < length; ++i) plain.add_values(-1);
            if (which != 0) plain.set_values(0, 0);
            if (which != 1) {
              plain.set_values(static_cast<int>(length - 1), which / 2);
            }
            to.mutable_pool()->set_page_size(1);
            to.mutable_pool()->set_pages(which == 2 ? 2 : 1);
            to.mutable_pool()->clear_page_stride();
          })) {
        return true;
      }
    }
  }
  return false;
}

template <typename ListOf>
bool ReduceIntegers(Search& search, const ListOf& list_of) {
  bool progress = false;
  Case copy = search.best();
  const int size = std::min(list_of(copy).values_size(), 64);
  // Of a long list the entries that say nothing stay as they are.
  constexpr int kShort = 16;
  for (int i = 0; i < size; ++i) {
    copy = search.best();
    if (i >= list_of(copy).values_size()) break;
    const std::int64_t now = list_of(copy).values(i);
    if (size > kShort && now == -1) continue;
    const auto kept = [&](std::int64_t to) {
      return search.TryEdit([&](Case& c) { list_of(c).set_values(i, to); });
    };
    bool plainer = false;
    for (const std::int64_t to :
         {std::int64_t{0}, std::int64_t{1}, std::int64_t{2}, now / 2,
          std::int64_t{-1}, std::int64_t{-2}, std::int64_t{-16},
          std::int64_t{std::numeric_limits<std::int32_t>::min()}}) {
      if (now == std::numeric_limits<std::int64_t>::min() && to > 0) continue;
      if (SlotCost(to) >= SlotCost(now)) continue;
      if (kept(to)) {
        plainer = true;
        break;
      }
    }
    // Between its half and itself by halves, then one less.
    std::int64_t passes = now / 2, fails = now;
    while (!plainer && now > 4 && fails - passes > 1) {
      const std::int64_t middle = passes + (fails - passes) / 2;
      (kept(middle) ? fails : passes) = middle;
    }
    plainer |= fails < now;
    progress |= plainer;
  }
  return progress;
}

}  // namespace mlafuzz::minimize

#endif  // MLAFUZZ_PROPERTIES_MINIMIZE_REDUCE_VALUES_H_
