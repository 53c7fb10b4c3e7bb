#include "golden/formats/safetensors_header.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>

#include "golden/formats/json_file.hpp"

namespace assay::formats {
namespace {

using nlohmann::json;

struct named_dtype {
  std::string_view name;
  core::dtype type;
};
constexpr named_dtype dtypes[] = {{"F64", core::dtype::f64},     {"F32", core::dtype::f32}, {"F16", core::dtype::f16},
                                  {"BF16", core::dtype::bf16},   {"I64", core::dtype::i64}, {"I32", core::dtype::i32},
                                  {"BOOL", core::dtype::boolean}};

// No tensor of Assay has more than 4 axes; the limit stops a hostile header from asking for millions.
constexpr std::size_t max_rank = 32;

std::optional<core::dtype> dtype_of(std::string_view name) {
  for (const named_dtype& d : dtypes)
    if (d.name == name) return d.type;
  return std::nullopt;
}

bool is_count_array(const json& value) {
  return value.is_array() &&
         std::all_of(value.begin(), value.end(), [](const json& v) { return v.is_number_unsigned(); });
}

// The number of bytes of a shape. Nothing where the product of its non-zero sizes and the element size exceeds a signed
// 64-bit integer: [2^62, 2^62, 0] is empty, but its strides would overflow.
std::optional<std::uint64_t> byte_count(const core::shape& shape, core::dtype type) {
  constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
  std::uint64_t product = static_cast<std::uint64_t>(core::bytes_of(type));
  bool empty = false;
  for (const std::uint64_t size : shape) {
    empty = empty || size == 0;
    if (size > most / product) return std::nullopt;
    product *= std::max<std::uint64_t>(size, 1);
  }
  // Values are held as doubles, so this number of doubles must be addressable, too.
  if (product / static_cast<std::uint64_t>(core::bytes_of(type)) > most / sizeof(double)) return std::nullopt;
  return empty ? 0 : product;
}

// Parses one member of the header; the text of an error is the broken rule.
tl::expected<tensor_entry, std::string> parse_entry(const std::string& name, const json& value) {
  const auto refuse = [](std::string rule) { return tl::make_unexpected(std::move(rule)); };
  if (!value.is_object()) return refuse("must be an object");
  for (const auto& [key, ignored] : value.items())
    if (key != "dtype" && key != "shape" && key != "data_offsets")
      return refuse("must have no member but dtype, shape and data_offsets");
  if (value.size() != 3) return refuse("must have the members dtype, shape and data_offsets");

  tensor_entry entry{name, {}, {}, 0, 0};
  const json& type_name = value["dtype"];
  if (!type_name.is_string()) return refuse("dtype must be a string");
  const auto type = dtype_of(type_name.get_ref<const std::string&>());
  if (!type) return refuse("dtype must be one of F64, F32, F16, BF16, I64, I32, BOOL");
  entry.type = *type;

  const json& shape = value["shape"];
  if (!is_count_array(shape)) return refuse("shape must be an array of non-negative integers");
  if (shape.size() > max_rank) return refuse("shape must have at most " + std::to_string(max_rank) + " axes");
  entry.shape = shape.get<core::shape>();
  const auto bytes = byte_count(entry.shape, entry.type);
  if (!bytes) return refuse("the product of the shape must not overflow");

  const json& offsets = value["data_offsets"];
  if (!is_count_array(offsets) || offsets.size() != 2) return refuse("data_offsets must be two non-negative integers");
  entry.begin = offsets[0].get<std::uint64_t>();
  entry.end = offsets[1].get<std::uint64_t>();
  if (entry.begin > entry.end) return refuse("data_offsets must not decrease");
  if (entry.end - entry.begin != *bytes)
    return refuse("data_offsets must span the " + std::to_string(*bytes) + " bytes of the shape but span " +
                  std::to_string(entry.end - entry.begin));
  return entry;
}

bool is_string_map(const json& value) {
  return value.is_object() && std::all_of(value.begin(), value.end(), [](const json& v) { return v.is_string(); });
}

}  // namespace

std::string_view safetensors_name(core::dtype type) {
  return std::find_if(std::begin(dtypes), std::end(dtypes), [&](const auto& d) { return d.type == type; })->name;
}

tl::expected<header, header_error> parse_header(std::string_view text, std::uint64_t data_bytes) {
  auto parsed = parse_strict_json(text, {.counts_only = true, .max_depth = 3});
  if (!parsed) return tl::make_unexpected(header_error{std::move(parsed.error()), file_fault::other});
  const auto refuse = [&](const std::string& name, const std::string& rule, file_fault kind = file_fault::other) {
    return tl::make_unexpected(header_error{{parsed->key_offsets.at(name), "'" + shown(name) + "': " + rule}, kind});
  };

  metadata about;
  std::vector<tensor_entry> entries;
  for (const auto& [name, value] : parsed->value.items()) {
    if (name == "__metadata__") {
      if (!is_string_map(value)) return refuse(name, "must be an object of strings");
      about = value.get<metadata>();
      continue;
    }
    auto entry = parse_entry(name, value);
    if (!entry) return refuse(name, entry.error());
    entries.push_back(std::move(*entry));
  }

  std::sort(entries.begin(), entries.end(),
            [](const auto& a, const auto& b) { return std::tie(a.begin, a.end) < std::tie(b.begin, b.end); });
  std::uint64_t expected = 0;
  for (const tensor_entry& entry : entries) {
    if (entry.begin != expected)
      return refuse(entry.name, std::string(entry.begin > expected ? "no gap may lie before its bytes"
                                                                   : "its bytes must not overlap those before") +
                                    ": they begin at " + std::to_string(entry.begin) + " instead of " +
                                    std::to_string(expected));
    if (entry.end > data_bytes)
      return refuse(entry.name,
                    "its bytes must lie within the file: they end at " + std::to_string(entry.end) + " of " +
                        std::to_string(data_bytes),
                    file_fault::truncated);
    expected = entry.end;
  }
  if (expected != data_bytes)
    return tl::make_unexpected(header_error{
        {text.size() + static_cast<std::size_t>(expected), "every byte behind the header must belong to a tensor"},
        file_fault::oversized});
  return header{std::move(entries), std::move(about)};
}

std::string format_header(const std::vector<tensor_entry>& entries, const metadata& about) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!about.empty()) header["__metadata__"] = about;
  for (const tensor_entry& entry : entries)
    header[entry.name] = {
        {"dtype", safetensors_name(entry.type)}, {"shape", entry.shape}, {"data_offsets", {entry.begin, entry.end}}};
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

}  // namespace assay::formats
