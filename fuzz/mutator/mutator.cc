#include "fuzz/mutator/mutator.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "corpus/token_layout.h"
#include "fuzz/mutator/mutate_decode.h"
#include "properties/layout_pool.h"
#include "properties/refused.h"
#include "properties/repair.h"

namespace mlafuzz {
namespace {

// One in this many children is a fresh case. Structured generation finds every
// known wrong kernel quickly from nothing; mutation pays once novelty is kept.
// A quarter of the budget keeps both alive.
constexpr std::uint32_t kFreshOneIn = 4;
// One in this many children is bent into a class that the host must refuse.
constexpr std::uint32_t kRefusedOneIn = 24;

std::uint32_t SlotsOf(const Pool& pool) {
  return std::max(1u, pool.page_size()) * std::max(1u, pool.pages());
}

// A slot of one of the classes that writers get wrong.
std::int64_t AnySlot(Choices& choices, const Pool& pool) {
  const std::int64_t page = std::max(1u, pool.page_size());
  const std::int64_t n = SlotsOf(pool);
  switch (choices.Below(9)) {
    case 0:
      return -1;
    case 1:
      return -2 - static_cast<std::int64_t>(choices.Below(64));
    case 2:
      return choices.Pick<std::int64_t>(
          {-(std::int64_t{1} << 32), std::numeric_limits<std::int64_t>::min(),
           -(std::int64_t{1} << 31)});
    case 3:
      return 0;
    case 4:
      return n - 1;
    case 5:
      return choices.Below(std::max(1u, pool.pages())) * page;
    case 6:
      return choices.Below(std::max(1u, pool.pages())) * page + page - 1;
    default:
      return choices.Below(static_cast<std::uint32_t>(n));
  }
}

std::int64_t AnyEntry(Choices& choices, const Pool& pool) {
  switch (choices.Below(6)) {
    case 0:
      return -1;
    case 1:
      return choices.Pick<std::int64_t>(
          {std::numeric_limits<std::int32_t>::max(),
           std::numeric_limits<std::int32_t>::min(), -2, pool.pages()});
    default:
      return choices.Below(std::max(1u, pool.pages()));
  }
}

std::uint32_t AnyBits(Choices& choices) {
  switch (choices.Below(4)) {
    case 0:  // zeros, specials, the ends of both formats
      return choices.Pick<std::uint32_t>(
          {0x0000, 0x8000, 0x7f80, 0xff80, 0x7fc0, 0x7f81, 0x7f7f, 0x7c00,
           0x7e00, 0x7bff, 0x0001, 0x8001, 0x0080, 0x0400});
    case 1:  // 448 * 2^k in bf16 and in fp16, one step beside it
      return (choices.OneIn(2) ? (90 + choices.Below(60)) << 7 | 0x60
                               : (1 + choices.Below(29)) << 10 | 0x300) -
             1 + choices.Below(3);
    case 2:  // near the floors
      return choices.Pick<std::uint32_t>({0x04e0, 0x3d37, 0x38d1}) - 1 +
             choices.Below(3);
    default:
      return choices.Below(1u << 16);
  }
}

void MutatePool(Pool& pool, Choices& choices, const GeneratorOptions& options) {
  const TokenLayout& layout = TokenLayoutOf(options.layout);
  const auto token = static_cast<std::uint32_t>(layout.token_bytes);
  const auto alignment = static_cast<std::uint32_t>(layout.alignment);
  switch (choices.Below(9)) {
    case 0:
      pool.set_page_size(
          choices.Pick<std::uint32_t>({1, 2, 3, 16, 64, 128, 256}));
      pool.clear_page_stride();
      break;
    case 1:
      pool.set_pages(1 + choices.Below(8));
      break;
    case 2:
      pool.set_row_stride(choices.OneIn(2) ? 0 : token + 8 * choices.Below(16));
      pool.clear_page_stride();
      break;
    case 3:
      if (choices.OneIn(2)) {
        pool.clear_page_stride();
      } else {
        pool.set_page_stride(PlainPageStride(pool) +
                             alignment * (1 + choices.Below(16)));
      }
      break;
    case 4:
      pool.set_offset(choices.OneIn(2) ? 0 : alignment * choices.Below(100));
      break;
    case 5:
    case 6:
      *pool.mutable_fill() = GeneratePool(choices, options).fill();
      break;
    case 7:
      if (pool.patches_size() > 0 && choices.OneIn(2)) {
        pool.mutable_patches()->RemoveLast();
        break;
      }
      [[fallthrough]];
    default: {
      Patch& patch = *pool.add_patches();
      patch.set_slot(choices.Below(SlotsOf(pool)));
      const bool scale = choices.OneIn(2);
      if (scale && layout.ue8m0()) {
        patch.set_at(static_cast<std::uint32_t>(layout.scales_at) +
                     choices.Below(static_cast<std::uint32_t>(layout.tiles())));
        patch.set_data(
            std::string(1, static_cast<char>(choices.Pick<std::uint32_t>(
                               {0, 255, 1, 254, 127, choices.Below(256)}))));
      } else if (scale) {
        patch.set_at(
            static_cast<std::uint32_t>(layout.scales_at) +
            4 * choices.Below(static_cast<std::uint32_t>(layout.tiles())));
        const std::uint32_t bits = choices.Pick<std::uint32_t>(
            {0x00000000, 0x80000000, 0x00000001, 0x007fffff, 0x00800000,
             0x7f800000, 0x7fc00000, 0xbf800000, 0x7f7fffff, 0x3f800000,
             0x3fc00000, 0x3f810000});
        std::string data(4, '\0');
        for (int i = 0; i < 4; ++i) {
          data[i] = static_cast<char>(bits >> (8 * i));
        }
        patch.set_data(data);
      } else {
        patch.set_at(choices.Below(token));
        patch.set_data(std::string(
            1, static_cast<char>(choices.Pick<std::uint32_t>(
                   {0x7f, 0xff, 0x80, 0x01, 0x07, choices.Below(256)}))));
      }
      if (pool.patches_size() > 4) pool.mutable_patches()->DeleteSubrange(0, 1);
    }
  }
}

void MutateValues(Values& values, std::uint32_t columns, Choices& choices) {
  switch (choices.Below(5)) {
    case 0:
      values = GenerateValues(choices);
      break;
    case 1:
      values.set_pattern(
          static_cast<Values::Pattern>(choices.Below(Values::Pattern_MAX + 1)));
      break;
    case 2:
      values.set_seed(choices.Below(1u << 16));
      break;
    case 3:
      if (values.set_size() > 0) {
        values.mutable_set()->RemoveLast();
        break;
      }
      [[fallthrough]];
    default: {
      SetBits& set = *values.add_set();
      set.set_at(choices.Below(std::max(1u, columns)));
      set.set_bits(AnyBits(choices));
      if (values.set_size() > 8) values.mutable_set()->RemoveLast();
    }
  }
}

void MutateWrite(Write& write, const Pool& pool, Choices& choices,
                 const GeneratorOptions& options) {
  auto* slots = write.mutable_slots()->mutable_values();
  switch (choices.Below(12)) {
    case 0:
    case 1:
    case 2:
      MutateValues(*write.mutable_kv_c(), 512, choices);
      break;
    case 3:
      if (write.pe_dim() != 0) MutateValues(*write.mutable_k_pe(), 64, choices);
      break;
    case 4:
      write.set_pe_dim(write.pe_dim() == 0 ? 64 : 0);
      break;
    case 5:
      write.set_input(write.input() == F16 ? BF16 : F16);
      break;
    case 6:
    case 7:
      if (slots->size() > 0) {
        slots->Set(static_cast<int>(choices.Below(slots->size())),
                   AnySlot(choices, pool));
        break;
      }
      [[fallthrough]];
    case 8:
      slots->Add(AnySlot(choices, pool));
      break;
    case 9:
      if (slots->size() > 0) {
        slots->SwapElements(static_cast<int>(choices.Below(slots->size())),
                            slots->size() - 1);
        slots->RemoveLast();
      } else if (write.slots().count() > 0) {
        write.mutable_slots()->set_count(choices.Below(write.slots().count()));
      }
      break;
    case 10:
      switch (choices.Below(5)) {
        case 0:
          write.set_kv_c_row_stride(
              choices.OneIn(2) ? 0
                               : static_cast<std::uint32_t>(
                                     TokenLayoutOf(options.layout).codes) +
                                     8 * choices.Below(12));
          break;
        case 1:
          write.set_k_pe_row_stride(
              choices.OneIn(2) ? 0 : 64 + 2 * choices.Below(12));
          break;
        case 2:
          write.set_kv_c_offset(8 * choices.Below(8));
          break;
        case 3:
          write.set_k_pe_offset(2 * choices.Below(8));
          break;
        default:
          write.set_surplus_rows(static_cast<std::int32_t>(choices.Below(4)));
      }
      break;
    default:
      write = GenerateWrite(choices, pool, options);
  }
}

void MutateTable(Table& table, const Pool& pool, Choices& choices) {
  auto* pages = table.mutable_pages()->mutable_values();
  switch (choices.Below(5)) {
    case 0:
      table.set_row_stride(
          choices.OneIn(2) ? 0 : table.columns() + 1 + choices.Below(8));
      break;
    case 1:
      table.set_expanded(!table.expanded());
      break;
    case 2:
      table.set_columns(table.columns() + 1 + choices.Below(2));
      if (table.row_stride() != 0) table.set_row_stride(table.columns() + 1);
      break;
    default:
      if (pages->size() > 0) {
        pages->Set(static_cast<int>(choices.Below(pages->size())),
                   AnyEntry(choices, pool));
      } else {
        table.mutable_pages()->set_seed(choices.Below(1u << 16));
      }
  }
}

std::int32_t Clamped(std::int64_t value) {
  return static_cast<std::int32_t>(
      std::clamp<std::int64_t>(value, std::numeric_limits<std::int32_t>::min(),
                               std::numeric_limits<std::int32_t>::max()));
}

// A start or length `by` further on, at least 0.
std::int32_t Moved(std::int32_t value, std::int32_t by) {
  return std::max(0, Clamped(std::int64_t{value} + by));
}

// One request begins elsewhere: at, before or behind another, or nowhere.
void MoveStart(Gather& gather, Choices& choices) {
  const auto requests =
      static_cast<std::uint32_t>(gather.workspace_starts_size());
  const int at = static_cast<int>(choices.Below(requests));
  const std::int32_t other =
      gather.workspace_starts(static_cast<int>(choices.Below(requests)));
  const auto rows = static_cast<std::int32_t>(gather.dst_rows());
  gather.set_workspace_starts(
      at, choices.Pick<std::int32_t>(
              {0, other, std::min(other, rows) + 1, std::max(other, 1) - 1,
               rows, rows + 1, std::numeric_limits<std::int32_t>::max(), -1,
               static_cast<std::int32_t>(
                   choices.Below(static_cast<std::uint32_t>(rows) + 1))}));
}

void MutateGather(Gather& gather, const Pool& pool, Choices& choices,
                  const GeneratorOptions& options) {
  const int requests = gather.workspace_starts_size();
  const std::int32_t page = static_cast<std::int32_t>(pool.page_size());
  switch (choices.Below(13)) {
    case 10:
      if (requests > 0) MoveStart(gather, choices);
      break;
    case 11: {  // two requests trade places
      if (requests < 2) break;
      const int a = static_cast<int>(choices.Below(requests));
      const int b = static_cast<int>(choices.Below(requests));
      gather.mutable_workspace_starts()->SwapElements(a, b);
      if (std::max(a, b) < gather.seq_lens_size()) {
        gather.mutable_seq_lens()->SwapElements(a, b);
      }
      if (std::max(a, b) < gather.seq_starts_size()) {
        gather.mutable_seq_starts()->SwapElements(a, b);
      }
      break;
    }
    case 12:  // a length of its own, or none
      if (gather.seq_lens_size() > 0) {
        gather.set_seq_lens(
            static_cast<int>(choices.Below(gather.seq_lens_size())),
            choices.Pick<std::int32_t>(
                {0, -1, -page, std::numeric_limits<std::int32_t>::min(), page,
                 static_cast<std::int32_t>(choices.Below(2 * page + 2))}));
      } else if (requests > 0) {
        MoveStart(gather, choices);
      }
      break;
    case 0:
      gather.set_nope(!gather.nope());
      break;
    case 1:
    case 2:
      MutateTable(*gather.mutable_block_table(), pool, choices);
      break;
    case 3: {  // another length: all that follow move
      if (requests == 0) break;
      const int at = static_cast<int>(choices.Below(requests));
      const std::int32_t by = choices.Pick<std::int32_t>(
          {1, -1, page, 1 - page, page + 1,
           static_cast<std::int32_t>(choices.Below(8))});
      for (int i = at + 1; i < requests; ++i) {
        gather.set_workspace_starts(i, Moved(gather.workspace_starts(i), by));
      }
      if (at < gather.seq_lens_size()) {
        gather.set_seq_lens(at, Moved(gather.seq_lens(at), by));
      }
      gather.set_dst_rows(static_cast<std::uint32_t>(
          std::max(0, static_cast<std::int32_t>(gather.dst_rows()) + by)));
      break;
    }
    case 4: {  // a request more, at the end
      const std::uint32_t rows = choices.Below(3);
      gather.add_workspace_starts(static_cast<std::int32_t>(gather.dst_rows()));
      if (gather.seq_lens_size() > 0) {
        gather.add_seq_lens(static_cast<std::int32_t>(rows));
      }
      if (gather.seq_starts_size() > 0) {
        gather.add_seq_starts(static_cast<std::int32_t>(choices.Below(4)));
      }
      gather.set_dst_rows(gather.dst_rows() + rows);
      Table& table = *gather.mutable_block_table();
      table.set_rows(table.rows() + 1);
      // A table of two rows or more has a row stride that matters.
      if (table.columns() == 0) table.set_columns(1);
      break;
    }
    case 5:  // a request less
      if (requests == 0) break;
      gather.mutable_workspace_starts()->RemoveLast();
      if (gather.seq_lens_size() > 0) gather.mutable_seq_lens()->RemoveLast();
      if (gather.seq_starts_size() > 0) {
        gather.mutable_seq_starts()->RemoveLast();
      }
      gather.mutable_block_table()->set_rows(
          static_cast<std::uint32_t>(requests - 1));
      break;
    case 6:
      if (gather.seq_starts_size() > 0 && choices.OneIn(3)) {
        gather.clear_seq_starts();
      } else if (requests > 0) {
        gather.mutable_seq_starts()->Resize(requests, 0);
        gather.set_seq_starts(
            static_cast<int>(choices.Below(requests)),
            choices.Pick<std::int32_t>(
                {0, 1, page - 1, page, page + 1,
                 static_cast<std::int32_t>(choices.Below(3 * page + 1))}));
      }
      break;
    case 7:
      if (gather.seq_lens_size() > 0) {
        if (choices.OneIn(2)) {
          gather.clear_seq_lens();
        } else {
          const int at =
              static_cast<int>(choices.Below(gather.seq_lens_size()));
          gather.set_seq_lens(at,
                              Clamped(std::int64_t{gather.seq_lens(at)} - 1));
        }
      } else {
        for (int i = 0; i < requests; ++i) {
          const std::int64_t end = i + 1 < requests
                                       ? gather.workspace_starts(i + 1)
                                       : std::int64_t{gather.dst_rows()};
          gather.add_seq_lens(Clamped(end - gather.workspace_starts(i)));
        }
      }
      break;
    case 8:
      gather.set_dst_row_stride(
          choices.OneIn(2) ? 0
                           : static_cast<std::uint32_t>(
                                 TokenLayoutOf(options.layout).dst_columns()) +
                                 8 * choices.Below(9));
      break;
    default:
      gather = GenerateGather(choices, pool, options);
  }
}

// Another prefill request, another one of a row, or none at all.
void MutateWorkspace(Convert& convert, Choices& choices) {
  auto& ids = *convert.mutable_prefill_request_ids();
  auto& starts = *convert.mutable_prefill_workspace_starts();
  const std::uint32_t draw = choices.Below(4);
  if (draw == 0) {
    ids.Clear();
    starts.Clear();
  } else if (draw == 1 || starts.empty()) {
    starts.Add(static_cast<std::int32_t>(choices.Below(1u << 20)));
  } else if (draw == 2 && !ids.empty()) {
    ids.Set(
        static_cast<int>(choices.Below(static_cast<std::uint32_t>(ids.size()))),
        static_cast<std::int32_t>(
            choices.Below(static_cast<std::uint32_t>(starts.size()) + 1)) -
            1);
  } else {
    ids.Add(static_cast<std::int32_t>(
        choices.Below(static_cast<std::uint32_t>(starts.size()))));
  }
}

void MutateConvert(Convert& convert, const Pool& pool, Choices& choices,
                   const GeneratorOptions& options) {
  Indices& indices = *convert.mutable_token_indices();
  const std::int64_t page = std::max(1u, pool.page_size());
  const std::int64_t tokens = page * convert.block_table().columns();
  switch (choices.Below(10)) {
    case 0:
      indices.set_valid(choices.Below(indices.width() + 1));
      break;
    case 1:
      indices.set_place(static_cast<Indices::Place>(choices.Below(4)));
      indices.set_pad(static_cast<Indices::Pad>(choices.Below(4)));
      break;
    case 2:
      indices.set_width(choices.Pick<std::uint32_t>(
          {1, 2, 3, 31, 32, 33, 127, 128, 129, indices.width() + 1}));
      if (indices.row_stride() != 0)
        indices.set_row_stride(indices.width() + 1);
      if (convert.out_row_stride() != 0) {
        convert.set_out_row_stride(indices.width() + 2);
      }
      break;
    case 3:
      if (choices.OneIn(2)) {
        indices.set_row_stride(
            choices.OneIn(2) ? 0 : indices.width() + 1 + choices.Below(4));
      } else {
        convert.set_out_row_stride(
            choices.OneIn(2) ? 0 : indices.width() + 1 + choices.Below(4));
      }
      break;
    case 4:
      indices.set_limit(static_cast<std::uint32_t>(choices.Pick<std::int64_t>(
          {tokens, tokens + page, 1, tokens / 2 + 1})));
      break;
    case 5: {
      SetIndex& set = *indices.add_set();
      set.set_at(choices.Below(std::max(1u, indices.rows() * indices.width())));
      set.set_value(static_cast<std::int32_t>(choices.Pick<std::int64_t>(
          {0, page - 1, page, tokens - 1, tokens, tokens + page - 1, -1, -2,
           std::numeric_limits<std::int32_t>::min(),
           std::numeric_limits<std::int32_t>::max()})));
      if (indices.set_size() > 8) indices.mutable_set()->RemoveLast();
      break;
    }
    case 6:
      MutateTable(*convert.mutable_block_table(), pool, choices);
      break;
    case 7:
      if (choices.OneIn(2)) {
        indices.set_rows(indices.rows() + 1);
      } else if (indices.rows() > 1) {
        indices.set_rows(indices.rows() - 1);
      }
      break;
    case 8:
      if (options.workspace && choices.OneIn(2)) {
        MutateWorkspace(convert, choices);
      } else if (choices.OneIn(2)) {
        convert.set_valid_count(!convert.valid_count());
      } else {
        convert.mutable_request_ids()->add_values(choices.Below(8));
      }
      break;
    default:
      convert = GenerateConvert(choices, pool, options);
  }
}

void MutateProgram(Case& c, Choices& choices, const GeneratorOptions& options) {
  const int n = c.steps_size();
  switch (choices.Below(5)) {
    case 0:  // drop one
      if (n > 1) {
        c.mutable_steps()->DeleteSubrange(static_cast<int>(choices.Below(n)),
                                          1);
      }
      break;
    case 1:  // one again
      *c.add_steps() = Step(c.steps(static_cast<int>(choices.Below(n))));
      break;
    case 2:
      if (n > 1) {
        c.mutable_steps()->SwapElements(static_cast<int>(choices.Below(n)),
                                        static_cast<int>(choices.Below(n)));
      }
      break;
    default: {  // a new one
      Step step;
      switch (
          choices.Below(options.decode && IsDecoded(options.layout) ? 5 : 4)) {
        case 4:
          *step.mutable_decode() = GenerateDecode(choices, c.pool(), options);
          break;
        case 0:
          if (options.gather) {
            *step.mutable_gather() = GenerateGather(choices, c.pool(), options);
          }
          break;
        case 1:
          if (options.convert) {
            *step.mutable_convert() =
                GenerateConvert(choices, c.pool(), options);
          }
          break;
        case 2: {
          Patch& patch = *step.mutable_patch();
          patch.set_slot(choices.Below(SlotsOf(c.pool())));
          patch.set_at(choices.Below(static_cast<std::uint32_t>(
              TokenLayoutOf(options.layout).token_bytes)));
          patch.set_data(std::string(1, static_cast<char>(choices.Below(256))));
          break;
        }
        default:
          if (options.writer) {
            *step.mutable_write() = GenerateWrite(choices, c.pool(), options);
          }
      }
      if (step.call_case() == Step::CALL_NOT_SET) break;
      *c.add_steps() = std::move(step);
      const int last = c.steps_size() - 1;
      c.mutable_steps()->SwapElements(
          last, static_cast<int>(choices.Below(last + 1)));
    }
  }
}

bool HasCall(const Case& c) {
  return std::any_of(c.steps().begin(), c.steps().end(),
                     [](const Step& step) { return !step.has_patch(); });
}

bool HasDecode(const Case& c) {
  return std::any_of(c.steps().begin(), c.steps().end(),
                     [](const Step& step) { return step.has_decode(); });
}

void MutateOnce(Case& c, Choices& choices, const GeneratorOptions& options) {
  const std::uint32_t draw = choices.Below(16);
  if (draw < 3) {
    MutatePool(*c.mutable_pool(), choices, options);
    // Most pools that are fit for a decode stay so.
    if (HasDecode(c) && !choices.OneIn(16)) AlignForDecode(*c.mutable_pool());
    return;
  }
  if (draw == 3) {
    c.set_schedule(choices.OneIn(3) ? 0 : choices.Below(1u << 16));
    return;
  }
  if (draw == 4) {
    c.set_poison(choices.Below(1u << 16));
    return;
  }
  if (draw == 5) {
    MutateProgram(c, choices, options);
    return;
  }
  Step& step =
      *c.mutable_steps(static_cast<int>(choices.Below(c.steps_size())));
  switch (step.call_case()) {
    case Step::kWrite:
      MutateWrite(*step.mutable_write(), c.pool(), choices, options);
      break;
    case Step::kGather:
      MutateGather(*step.mutable_gather(), c.pool(), choices, options);
      break;
    case Step::kConvert:
      MutateConvert(*step.mutable_convert(), c.pool(), choices, options);
      break;
    case Step::kDecode:
      MutateDecode(*step.mutable_decode(), c.pool(), choices, options);
      break;
    case Step::kPatch:
      step.mutable_patch()->set_slot(choices.Below(SlotsOf(c.pool())));
      break;
    default:
      break;
  }
}

}  // namespace

void MutateCase(Case& c, Choices& choices, const GeneratorOptions& options) {
  if (choices.OneIn(kFreshOneIn)) {
    c = GenerateCase(choices, options);
    return;
  }
  RepairCase(c, options);
  if (!HasCall(c)) {
    c = GenerateCase(choices, options);
    return;
  }
  const std::uint32_t edits = choices.Pick<std::uint32_t>({1, 1, 2, 3});
  for (std::uint32_t i = 0; i < edits; ++i) {
    MutateOnce(c, choices, options);
    // Later edits rely on what this restores.
    RepairCase(c, options);
  }
  if (options.invalid && choices.OneIn(kRefusedOneIn)) {
    MakeRefused(c, choices);
    RepairCase(c, options);
  }
  if (!HasCall(c)) c = GenerateCase(choices, options);
}

Case CrossOverCases(const Case& a, const Case& b, Choices& choices,
                    const GeneratorOptions& options) {
  Case child = a;
  switch (choices.Below(4)) {
    case 0:  // a's calls on b's pool
      *child.mutable_pool() = b.pool();
      break;
    case 1: {  // first part of a's program, last part of b's
      const int keep = static_cast<int>(choices.Below(a.steps_size() + 1));
      while (child.steps_size() > keep) child.mutable_steps()->RemoveLast();
      for (int i = static_cast<int>(choices.Below(b.steps_size() + 1));
           i < b.steps_size(); ++i) {
        *child.add_steps() = b.steps(i);
      }
      break;
    }
    case 2:  // what the pool holds and the order of lanes from b
      *child.mutable_pool()->mutable_fill() = b.pool().fill();
      *child.mutable_pool()->mutable_patches() = b.pool().patches();
      child.set_schedule(b.schedule());
      child.set_poison(b.poison());
      break;
    default: {  // a part of one call from a call of the same kind
      for (Step& mine : *child.mutable_steps()) {
        for (const Step& theirs : b.steps()) {
          if (mine.call_case() != theirs.call_case()) continue;
          if (mine.has_write()) {
            if (choices.OneIn(2)) {
              *mine.mutable_write()->mutable_kv_c() = theirs.write().kv_c();
            } else {
              *mine.mutable_write()->mutable_slots() = theirs.write().slots();
            }
            if (choices.OneIn(2)) {
              mine.mutable_write()->set_pe_dim(theirs.write().pe_dim());
            }
          } else if (mine.has_gather()) {
            *mine.mutable_gather()->mutable_block_table()->mutable_pages() =
                theirs.gather().block_table().pages();
            mine.mutable_gather()->set_nope(theirs.gather().nope());
          } else if (mine.has_convert()) {
            if (choices.OneIn(2)) {
              *mine.mutable_convert()->mutable_token_indices() =
                  theirs.convert().token_indices();
            } else {
              *mine.mutable_convert()->mutable_block_table() =
                  theirs.convert().block_table();
            }
          } else if (mine.has_decode()) {
            CrossOverDecodes(theirs.decode(), choices, *mine.mutable_decode());
          }
          break;
        }
      }
    }
  }
  RepairCase(child, options);
  if (!HasCall(child)) return GenerateCase(choices, options);
  return child;
}

}  // namespace mlafuzz
