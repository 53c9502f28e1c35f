#include <algorithm>
#include <cstdint>
#include <vector>

#include "properties/generate_for_parts.h"
#include "properties/repair.h"

namespace mlafuzz {
namespace {

std::uint32_t TokensOf(const Case& c, const Convert& convert) {
  return c.pool().page_size() * convert.block_table().columns();
}

// A conversion of at least one row, of `width` indices at least, whose valid
// ones lie within the table.
Convert& ConvertOf(Choices& choices, const GeneratorOptions& options, Case& c,
                   std::uint32_t width, bool many_pages = false) {
  *c.mutable_pool() =
      many_pages ? ManyPages(choices, options) : GeneratePool(choices, options);
  Convert& convert = *c.add_steps()->mutable_convert();
  do {
    convert = GenerateConvert(choices, c.pool(), options);
  } while (convert.token_indices().rows() == 0 ||
           convert.token_indices().width() < width);
  Indices& indices = *convert.mutable_token_indices();
  indices.clear_set();
  indices.set_limit(1 + choices.Below(TokensOf(c, convert)));
  return convert;
}

// Fewer valid indices than there is room for.
void Pad(Choices& choices, Indices& indices) {
  indices.set_valid(choices.Below(indices.width()));
}

// Puts a token of the first column past the table somewhere.
void PastTable(Choices& choices, const Case& c, Convert& convert) {
  Indices& indices = *convert.mutable_token_indices();
  SetIndex& set = *indices.add_set();
  set.set_at(choices.Below(indices.rows() * indices.width()));
  set.set_value(static_cast<std::int32_t>(TokensOf(c, convert) +
                                          choices.Below(c.pool().page_size())));
}

void ForInvalid(Choices& choices, const GeneratorOptions& options, Case& c) {
  Convert& convert = ConvertOf(choices, options, c, 1);
  Pad(choices, *convert.mutable_token_indices());
  RepairConvert(convert, c.pool(), options);
}

void ForNegative(Choices& choices, const GeneratorOptions& options, Case& c) {
  Convert& convert = ConvertOf(choices, options, c, 1);
  Indices& indices = *convert.mutable_token_indices();
  Pad(choices, indices);
  indices.set_pad(Indices::OTHER_NEGATIVE);
  RepairConvert(convert, c.pool(), options);
}

void ForTableColumns(Choices& choices, const GeneratorOptions& options,
                     Case& c) {
  Convert& convert = ConvertOf(choices, options, c, 1);
  PastTable(choices, c, convert);
  RepairConvert(convert, c.pool(), options);
}

void ForTableRow(Choices& choices, const GeneratorOptions& options, Case& c) {
  Convert& convert = ConvertOf(choices, options, c, 1, /*many_pages=*/true);
  Indices& indices = *convert.mutable_token_indices();
  indices.set_valid(1 + choices.Below(indices.width()));
  Table& table = *convert.mutable_block_table();
  table.set_rows(2 + choices.Below(4));
  table.clear_expanded();
  table.set_row_stride(table.columns() + 1 + choices.Below(8));
  // Every page: a row's entries differ from those before them.
  table.mutable_pages()->Clear();
  table.mutable_pages()->set_count(table.rows() * table.columns());
  table.mutable_pages()->set_order(Integers::PERMUTED);
  table.mutable_pages()->set_seed(choices.Below(1u << 16));
  for (std::int64_t& id : *convert.mutable_request_ids()->mutable_values()) {
    id = 1 + choices.Below(table.rows() - 1);
  }
  RepairConvert(convert, c.pool(), options);
}

void ForValidCount(Choices& choices, const GeneratorOptions& options, Case& c) {
  Convert& convert = ConvertOf(choices, options, c, 1);
  convert.set_valid_count(true);
  Indices& indices = *convert.mutable_token_indices();
  if (choices.OneIn(2)) {
    Pad(choices, indices);
    indices.set_pad(Indices::HUGE_POSITIVE);
  } else {
    PastTable(choices, c, convert);
  }
  RepairConvert(convert, c.pool(), options);
}

void ForOrder(Choices& choices, const GeneratorOptions& options, Case& c) {
  Convert& convert = ConvertOf(choices, options, c, 2);
  Indices& indices = *convert.mutable_token_indices();
  indices.set_valid(1 + choices.Below(indices.width() - 1));
  indices.set_place(choices.Pick(
      {Indices::FRONT, Indices::FRONT, Indices::MIDDLE, Indices::SCATTERED}));
  if (indices.valid() == 1) indices.set_place(Indices::FRONT);
  RepairConvert(convert, c.pool(), options);
}

}  // namespace

// convert.requests is not among them: ids past the table are the caller's duty.
std::vector<FieldRecipe> ConvertRecipes() {
  return {{"convert.invalid", ForInvalid},
          {"convert.negative", ForNegative},
          {"convert.table_columns", ForTableColumns},
          {"convert.table_row", ForTableRow},
          {"convert.valid_count", ForValidCount},
          {"convert.order", ForOrder}};
}

}  // namespace mlafuzz
