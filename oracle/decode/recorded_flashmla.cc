#include "oracle/decode/recorded_flashmla.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>

#include "corpus/contracts.h"
#include "nlohmann/json.hpp"
#include "oracle/bf16.h"
#include "oracle/decode/decode.h"
#include "oracle/decode/rounding.h"

namespace mlafuzz {
namespace {

using Json = nlohmann::json;

std::string ReadAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::uint8_t> Bytes(const std::string& data, const Json& blob) {
  const std::size_t at = blob.at("offset");
  const std::size_t size = blob.at("nbytes");
  return {data.begin() + at, data.begin() + at + size};
}

template <typename T>
std::vector<T> Elements(const std::string& data, const Json& blob) {
  const std::vector<std::uint8_t> bytes = Bytes(data, blob);
  std::vector<T> elements(bytes.size() / sizeof(T));
  std::memcpy(elements.data(), bytes.data(), bytes.size());
  return elements;
}

// A dense tensor with the given bytes; an output's are zero.
Tensor Dense(TensorId id, DType dtype, std::vector<std::int64_t> shape,
             std::vector<std::uint8_t> bytes) {
  Tensor t{.id = id, .dtype = dtype, .output = bytes.empty()};
  t.ndim = static_cast<int>(shape.size());
  std::int64_t stride = 1;
  for (int i = t.ndim - 1; i >= 0; --i) {
    t.shape[i] = shape[i];
    t.strides[i] = stride;
    stride *= shape[i];
  }
  t.bytes = bytes.empty() ? std::vector<std::uint8_t>(stride * DTypeSize(dtype))
                          : std::move(bytes);
  return t;
}

// The geometry of a cache of the recorded layout; its bytes stay empty.
PoolImage PoolOf(Layout layout, std::int64_t pages, std::int64_t page_size,
                 std::int64_t page_stride, std::int64_t row,
                 std::int64_t entry) {
  PoolImage pool;
  pool.layout = layout;
  pool.pages = pages;
  pool.page_size = page_size;
  pool.page_stride = page_stride;
  pool.row_stride = pool.row_part = row;
  pool.row_bytes = row + entry;
  return pool;
}

FlashMlaCase Load(const std::string& data, const Json& c) {
  FlashMlaCase out;
  out.name = c.at("name");
  out.compare = c.at("check") == "compare";
  // Scales stand behind the rows, or in them.
  const std::int64_t entry = c.value("footer_row_bytes", 0);
  const Layout layout = entry == 0 ? FP8_DS_MLA : DSV4_FOOTER_584;
  out.image.pool = PoolOf(layout, c.at("num_pages"), c.at("page_size"),
                          c.at("page_stride_bytes"), c.at("row_bytes"), entry);
  out.image.pool.bytes = Bytes(data, c.at("cache"));
  const std::int64_t b = c.at("b"), heads = c.at("h_q"), topk = c.at("topk");
  Decode& d = *out.step.mutable_decode();
  d.set_queries(static_cast<std::uint32_t>(b));
  d.set_heads(static_cast<std::uint32_t>(heads));
  const std::int64_t columns = c.at("d_qk");
  d.set_pe_dim(static_cast<std::uint32_t>(columns - 512));
  d.set_softmax_scale_bits(static_cast<std::uint32_t>(
      std::stoul(c.at("sm_scale_f32_hex").get<std::string>(), nullptr, 16)));
  out.splits =
      c.at("splits").get<std::vector<std::vector<std::pair<int, int>>>>();
  out.out = Elements<std::uint16_t>(data, c.at("out"));
  out.lse = Elements<float>(data, c.at("lse"));
  StepImage& step = out.image.steps.emplace_back();
  step.kernel = Kernel::kDecode;
  step.tensors = {
      Dense(TensorId::kQ, BF16, {b, heads, columns}, Bytes(data, c.at("q"))),
      Dense(TensorId::kIndices, I32, {b, topk}, Bytes(data, c.at("indices"))),
      Dense(TensorId::kAttention, BF16, {b, heads, 512}, {}),
      Dense(TensorId::kLse, F32, {b, heads}, {})};
  const auto add = [&](TensorId id, DType dtype, const char* name,
                       const std::vector<std::int64_t>& shape) {
    if (!c.contains(name)) return;
    step.tensors.push_back(Dense(id, dtype, shape, Bytes(data, c.at(name))));
  };
  add(TensorId::kLengths, I32, "topk_length", {b});
  add(TensorId::kSinks, F32, "attn_sink", {heads});
  if (!c.contains("extra_cache")) return out;
  step.extra =
      PoolOf(layout, c.at("extra_num_pages"), c.at("extra_page_size"),
             c.at("extra_page_stride_bytes"), c.at("row_bytes"), entry);
  add(TensorId::kExtraCache, U8, "extra_cache",
      {step.extra.pages, step.extra.page_stride});
  add(TensorId::kExtraIndices, I32, "extra_indices", {b, c.at("extra_topk")});
  add(TensorId::kExtraLengths, I32, "extra_topk_length", {b});
  return out;
}

std::vector<FlashMlaCase> LoadSet(const std::string& name) {
  const std::string folder = "oracle/decode/testdata/";
  const Json manifest = Json::parse(ReadAll(folder + name + ".json"));
  const std::string data = ReadAll(folder + name + ".bin");
  std::vector<FlashMlaCase> cases;
  for (const Json& c : manifest.at("cases")) cases.push_back(Load(data, c));
  for (FlashMlaCase& c : cases) c.image.steps[0].step = &c.step;
  return cases;
}

}  // namespace

std::vector<FlashMlaCase> LoadFlashMla() { return LoadSet("flashmla_public"); }

std::vector<FlashMlaCase> LoadFlashMlaDsv4() {
  return LoadSet("flashmla_dsv4_public");
}

FlashMlaAgreement CompareFlashMla(const FlashMlaCase& c,
                                  const Contract& contract) {
  ExpectOptions options;
  options.splits = &c.splits;
  const DecodeExpectation e =
      ExpectDecode(contract, c.image, 0, c.image.pool.bytes, options);
  FlashMlaAgreement a;
  double square = 0, error = 0;
  for (std::size_t i = 0; i < c.out.size(); ++i) {
    const double got = oracle::Bf16Value(c.out[i]);
    if (std::isinf(e.out_bound[i])) ++a.open;
    if (!DecodeOutMatches(e, static_cast<std::int64_t>(i), c.out[i])) {
      ++a.outside;
    }
    a.equal += got == oracle::RoundBf16(e.out[i]) ? 1 : 0;
    square += e.out[i] * e.out[i];
    error += (got - e.out[i]) * (got - e.out[i]);
  }
  a.equal /= static_cast<double>(c.out.size());
  a.relative_l2 = square > 0 ? std::sqrt(error / square) : std::sqrt(error);
  for (std::size_t i = 0; i < c.lse.size(); ++i) {
    if (!DecodeLseMatches(e, static_cast<std::int64_t>(i), c.lse[i])) {
      ++a.lse_outside;
    }
    if (std::isinf(e.lse[i]) && e.lse[i] == c.lse[i]) continue;
    a.lse = std::max(
        a.lse, std::fabs(c.lse[i] - e.lse[i]) / (1 + std::fabs(e.lse[i])));
  }
  return a;
}

Contract FlashMlaContract() {
  Contract c = BuiltinContract();
  c.mutable_qk()->set_scale_rule(ReaderSide::SCALE_BF16);
  c.mutable_v()->set_scale_rule(ReaderSide::SCALE_BF16);
  DecodeContract& d = *c.mutable_decode();
  d.set_mask(DecodeContract::MINUS_ONE_MASKED);
  d.set_length(DecodeContract::LENGTH_IGNORED);
  d.set_empty_row(DecodeContract::ZERO_AND_PLUS_INF);
  d.set_lse_base(DecodeContract::BASE_E);
  d.set_sink(DecodeContract::SINK_NOT_IN_LSE);
  d.clear_pe_dims();
  d.add_pe_dims(64);
  Arithmetic& a = *c.mutable_arithmetic();
  a.set_dequantised(Arithmetic::DEQUANTISED_BF16);
  a.set_query(Arithmetic::QUERY_BF16);
  a.set_weights(Arithmetic::WEIGHTS_BF16);
  a.set_block(64);
  a.set_blocks_per_split(0);  // its scheduler's choice
  a.set_partials(Arithmetic::PARTIALS_FP32);
  a.set_accumulator(Arithmetic::MMA);
  a.set_accumulator_bits(26);          // measured with these recordings
  a.set_exp2_relative_error(0x1p-22);  // ex2.approx.ftz.f32
  a.set_denormals(Arithmetic::DENORMALS_FLUSHED);
  return c;
}

Contract FlashMlaDsv4Contract() {
  Contract c = FlashMlaContract();
  c.set_layout(DSV4_FOOTER_584);
  DecodeContract& d = *c.mutable_decode();
  d.set_length(DecodeContract::LENGTH_MASKED);
  d.clear_pe_dims();
  d.add_pe_dims(0);
  return c;
}

}  // namespace mlafuzz
