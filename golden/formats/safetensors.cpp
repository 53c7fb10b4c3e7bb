#include "golden/formats/safetensors.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "golden/formats/file.hpp"

namespace assay::formats {
namespace {

constexpr std::size_t prefix_bytes = 8;                 // the length of the header
constexpr double largest_integer = 9007199254740992.0;  // 2^53

std::uint64_t load(const char* from, int bytes) {
  std::uint64_t bits = 0;
  for (int i = bytes; i-- > 0;) bits = bits << 8 | static_cast<unsigned char>(from[i]);
  return bits;
}

void store(std::uint64_t bits, int bytes, std::string& to) {
  for (int i = 0; i < bytes; ++i) to += static_cast<char>(bits >> (8 * i) & 0xffu);
}

// Whether x is a value of the dtype; NaN is a value of every floating-point format.
bool represents(core::dtype type, double x) {
  switch (type) {
    case core::dtype::f64:
      return true;
    case core::dtype::boolean:
      return x == 0.0 || x == 1.0;
    case core::dtype::i64:
      return std::nearbyint(x) == x && std::fabs(x) <= largest_integer;
    case core::dtype::i32:
      return std::nearbyint(x) == x && x >= -2147483648.0 && x <= 2147483647.0;
    default:
      return std::isnan(x) || core::round_to(type, x) == x;
  }
}

std::uint64_t encode(core::dtype type, double x) {
  if (core::is_floating(type)) return core::to_bits(type, x);
  return std::bit_cast<std::uint64_t>(static_cast<std::int64_t>(x));
}

// The value of these bits; nothing where they are no value that a tensor may hold.
std::optional<double> decode(core::dtype type, std::uint64_t bits) {
  if (core::is_floating(type)) return core::from_bits(type, bits);
  if (type == core::dtype::boolean) return bits <= 1 ? std::optional(static_cast<double>(bits)) : std::nullopt;
  if (type == core::dtype::i32) return std::bit_cast<std::int32_t>(static_cast<std::uint32_t>(bits));
  constexpr auto most = static_cast<std::int64_t>(largest_integer);
  const auto integer = std::bit_cast<std::int64_t>(bits);
  return integer >= -most && integer <= most ? std::optional(static_cast<double>(integer)) : std::nullopt;
}

std::string rule_of_values(core::dtype type) {
  return type == core::dtype::boolean ? "a BOOL must be 0 or 1" : "an I64 must not exceed 2^53 in magnitude";
}

std::vector<tensor_entry> layout(const core::tensors& tensors) {
  std::vector<tensor_entry> entries;
  for (const auto& [name, t] : tensors) entries.push_back({name, t.type, t.shape(), 0, 0});
  std::sort(entries.begin(), entries.end(), [](const tensor_entry& a, const tensor_entry& b) {
    const int width_a = core::bytes_of(a.type), width_b = core::bytes_of(b.type);
    return width_a != width_b ? width_a > width_b : a.name < b.name;
  });
  std::uint64_t offset = 0;
  for (tensor_entry& entry : entries) {
    entry.begin = offset;
    offset += core::element_count(entry.shape) * static_cast<std::uint64_t>(core::bytes_of(entry.type));
    entry.end = offset;
  }
  return entries;
}

tl::unexpected<file_error> unread(const core::error& e) { return tl::make_unexpected(file_error{e}); }

// The bytes of a file that was already read, with the interface of regular_file.
class bytes_in_memory {
 public:
  explicit bytes_in_memory(std::string_view bytes) : bytes_(bytes) {}
  [[nodiscard]] std::uint64_t size() const { return bytes_.size(); }
  core::result<void> read(std::uint64_t offset, char* to, std::size_t count) const {
    ASSAY_EXPECTS(offset <= size() && count <= size() - offset);
    bytes_.copy(to, count, static_cast<std::size_t>(offset));
    return {};
  }

 private:
  std::string_view bytes_;
};

template <class File>
tl::expected<header, file_error> read_header(const File& file, const std::string& name) {
  const auto refuse = [&](std::uint64_t offset, const std::string& rule, file_fault kind) {
    return tl::make_unexpected(file_error{{name + ": byte " + std::to_string(offset) + ": " + rule}, kind});
  };
  if (file.size() < prefix_bytes)
    return refuse(file.size(), "a file must have at least 8 bytes", file_fault::truncated);
  char prefix[prefix_bytes];
  if (auto ok = file.read(0, prefix, prefix_bytes); !ok) return unread(ok.error());
  const std::uint64_t length = load(prefix, prefix_bytes);
  if (length > max_header_bytes)
    return refuse(0, "the header must have at most 1048576 bytes, but its length is " + std::to_string(length),
                  file_fault::oversized);
  if (length > file.size() - prefix_bytes)
    return refuse(0,
                  "the header must lie within the file, but its length is " + std::to_string(length) +
                      " and the file has " + std::to_string(file.size()) + " bytes",
                  file_fault::truncated);
  std::string text(length, '\0');
  if (auto ok = file.read(prefix_bytes, text.data(), text.size()); !ok) return unread(ok.error());
  auto parsed = parse_header(text, file.size() - prefix_bytes - length);
  if (!parsed)
    return refuse(prefix_bytes + parsed.error().offset, "header: " + parsed.error().rule, parsed.error().kind);
  for (tensor_entry& entry : parsed->entries) {
    entry.begin += prefix_bytes + length;
    entry.end += prefix_bytes + length;
  }
  return std::move(*parsed);
}

// Decodes a tensor; the error counts bytes from `offset`.
core::result<core::tensor> decode_tensor(core::dtype type, const core::shape& shape, std::string_view bytes,
                                         std::uint64_t offset) {
  const int width = core::bytes_of(type);
  core::tensor t = core::zeros(type, shape);
  ASSAY_EXPECTS(bytes.size() == t.size() * static_cast<std::size_t>(width));
  for (std::size_t i = 0; i < t.size(); ++i) {
    const std::size_t position = i * static_cast<std::size_t>(width);
    const auto value = decode(type, load(bytes.data() + position, width));
    if (!value) return core::failure("byte " + std::to_string(offset + position) + ": " + rule_of_values(type));
    t.values.data()[i] = *value;
  }
  return t;
}

template <class File>
core::result<core::tensor> read_tensor(const File& file, const std::string& name, const tensor_entry& entry) {
  std::string bytes(static_cast<std::size_t>(entry.end - entry.begin), '\0');
  if (auto ok = file.read(entry.begin, bytes.data(), bytes.size()); !ok) return tl::make_unexpected(ok.error());
  auto t = decode_tensor(entry.type, entry.shape, bytes, entry.begin);
  if (!t) return core::failure(name + ": " + t.error().message);
  return t;
}

template <class File>
tl::expected<described_tensors, file_error> read_all(const File& file, const std::string& name,
                                                     const read_limits& limits) {
  const auto too_large = [&](std::uint64_t most, const char* units, std::uint64_t has) {
    return tl::make_unexpected(file_error{{name + ": a file must have at most " + std::to_string(most) + " " + units +
                                           ", but this one has " + std::to_string(has)},
                                          file_fault::oversized});
  };
  if (file.size() > limits.file_bytes) return too_large(limits.file_bytes, "bytes", file.size());
  auto header = read_header(file, name);
  if (!header) return tl::make_unexpected(header.error());
  std::uint64_t elements = 0;
  for (const tensor_entry& entry : header->entries)
    elements += (entry.end - entry.begin) / static_cast<std::uint64_t>(core::bytes_of(entry.type));
  if (elements > limits.elements) return too_large(limits.elements, "elements", elements);
  described_tensors all{{}, std::move(header->about)};
  for (const tensor_entry& entry : header->entries) {
    auto t = read_tensor(file, name, entry);
    if (!t) return unread(t.error());
    all.tensors.emplace(entry.name, std::move(*t));
  }
  return all;
}

core::result<void> append_bytes(const core::tensor& t, std::string& to) {
  for (std::size_t i = 0; i < t.size(); ++i) {
    const double x = t.values.data()[i];
    if (!represents(t.type, x))
      return core::failure("element " + std::to_string(i) + " is no value of " + std::string(core::name_of(t.type)));
    store(encode(t.type, x), core::bytes_of(t.type), to);
  }
  return {};
}

}  // namespace

core::result<std::string> safetensors_bytes(const core::tensors& tensors, const metadata& about) {
  const std::vector<tensor_entry> entries = layout(tensors);
  std::string header;
  try {
    header = format_header(entries, about);
  } catch (const nlohmann::json::exception&) {
    return core::failure("names of tensors and metadata must be valid UTF-8");
  }
  if (tensors.contains("__metadata__")) return core::failure("a tensor must not be named '__metadata__'");
  if (header.size() > max_header_bytes) return core::failure("the header must have at most 1048576 bytes");

  std::string bytes;
  bytes.reserve(prefix_bytes + header.size() + static_cast<std::size_t>(entries.empty() ? 0 : entries.back().end));
  store(header.size(), prefix_bytes, bytes);
  bytes += header;
  for (const tensor_entry& entry : entries)
    if (auto ok = append_bytes(tensors.at(entry.name), bytes); !ok)
      return core::failure("tensor '" + entry.name + "': " + ok.error().message);
  return bytes;
}

core::result<std::string> tensor_bytes(const core::tensor& t) {
  std::string bytes;
  bytes.reserve(t.size() * static_cast<std::size_t>(core::bytes_of(t.type)));
  if (auto ok = append_bytes(t, bytes); !ok) return tl::make_unexpected(ok.error());
  return bytes;
}

core::result<core::tensor> tensor_from_bytes(core::dtype type, const core::shape& shape, std::string_view bytes) {
  return decode_tensor(type, shape, bytes, 0);
}

core::result<void> write_safetensors(const std::filesystem::path& path, const core::tensors& tensors) {
  const auto bytes = safetensors_bytes(tensors);
  if (!bytes) return core::failure(path.string() + ": " + bytes.error().message);
  return replace_file(path, *bytes);
}

tl::expected<core::tensors, file_error> read_safetensors(const std::filesystem::path& path, const read_limits& limits) {
  auto all = read_described_safetensors(path, limits);
  if (!all) return tl::make_unexpected(std::move(all.error()));
  return std::move(all->tensors);
}

tl::expected<described_tensors, file_error> read_described_safetensors(const std::filesystem::path& path,
                                                                       const read_limits& limits) {
  auto file = regular_file::open(path);
  std::error_code unknown;
  if (!file && !std::filesystem::exists(std::filesystem::symlink_status(path, unknown)))
    return tl::make_unexpected(file_error{file.error(), file_fault::missing});
  if (!file) return unread(file.error());
  return read_all(*file, path.string(), limits);
}

tl::expected<described_tensors, file_error> described_safetensors_from(std::string_view bytes, const std::string& name,
                                                                       const read_limits& limits) {
  return read_all(bytes_in_memory(bytes), name, limits);
}

}  // namespace assay::formats
