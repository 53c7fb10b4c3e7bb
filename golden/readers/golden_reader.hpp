// Reads safetensors files such as those of Assay's golden sets, in C++17 on little-endian machines. CC0: copy it.
//
// golden::file f = golden::read("scan-mild.bf16.safetensors");  // std::runtime_error says what is wrong with a file
// f.tensors.at("h").dtype "BF16", .shape {2, 6, 2}, .values doubles, every value exact; f.metadata.at("operation")
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>
// clang-format off
namespace golden {
using words = std::map<std::string, std::string>;
struct tensor { std::string dtype; std::vector<std::size_t> shape; std::vector<double> values; };
struct file { std::map<std::string, tensor> tensors; words metadata; };
template <class T> double as(std::uint64_t bits) { T x; std::memcpy(&x, &bits, sizeof x); return double(x); }
inline double half(std::uint64_t bits) {  // its exponent is that of f32 less 112
  const double x = std::ldexp(as<float>((bits & 0x7fff) << 13), 112);
  return (bits >> 15 ? -1 : 1) * (x < 65536 ? x : x > 65536 ? NAN : INFINITY);
}
struct format { std::size_t size; double (*value)(std::uint64_t bits); };
inline const std::map<std::string, format> formats{
    {"F64", {8, as<double>}}, {"F32", {4, as<float>}}, {"F16", {2, half}}, {"I64", {8, as<std::int64_t>}},
    {"BF16", {2, [](std::uint64_t bits) { return as<float>(bits << 16); }}}};
inline file read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string data{std::istreambuf_iterator<char>(in), {}};
  const auto check = [&](bool ok, const std::string& what) { if (!ok) throw std::runtime_error(path + ": " + what); };
  const auto bits = [&](std::size_t i, std::size_t n) { std::uint64_t x = 0; std::memcpy(&x, &data[i], n); return x; };
  check(data.size() >= 8 && bits(0, 8) <= data.size() - 8, "the header does not fit into the file");
  const std::size_t start = 8 + bits(0, 8);
  std::map<std::string, words> entries;  // of a tensor its dtype, and shape and data_offsets as texts such as "2,6,2"
  std::string name, key, text;
  std::size_t depth = 0, last = 0;
  for (std::size_t i = 8; i < start; ++i) {  // texts at depth 1 are names, those at depth 2 keys and values
    if (data[i] == '"') {
      for (text = ""; ++i < start && data[i] != '"';) text += data[i] == '\\' ? data[++i] : data[i];
      (depth == 1 ? name : key.empty() ? key : entries[name][key]) = text;
    } else if (depth == 3 && data[i] != ']') entries[name][key] += data[i];
    depth += data[i] == '{' || data[i] == '[' ? 1 : data[i] == '}' || data[i] == ']' ? -1 : 0;
    if (depth == 1 || (depth == 2 && data[i] == ',')) key = "";
  }
  file f{{}, entries["__metadata__"]};
  std::map<std::size_t, std::size_t> ends;  // of the tensors with bytes, by their beginning
  for (auto& [tensor_name, entry] : entries) {
    if (tensor_name == "__metadata__") continue;
    tensor& t = f.tensors[tensor_name];
    std::size_t begin = 0, end = 0, count = 1;
    const auto kind = formats.find(t.dtype = entry["dtype"]);
    check(kind != formats.end(), "unknown dtype of " + tensor_name);
    const std::size_t size = kind->second.size;
    std::istringstream shape(entry["shape"]), offsets(entry["data_offsets"]);
    for (std::size_t n; shape >> n && n <= data.size() && count <= data.size(); shape.ignore(), count *= n)
      t.shape.push_back(n);
    check(shape.eof() && offsets >> begin && offsets.ignore() >> end && begin <= end && end <= data.size() - start &&
          end - begin == count * size && (count == 0 || ends.emplace(begin, end).second), "offsets of " + tensor_name);
    for (std::size_t i = begin; i < end; i += size) t.values.push_back(kind->second.value(bits(start + i, size)));
  }
  for (const auto& [begin, end] : ends) {
    check(begin == last, "tensors overlap or leave a gap");
    last = end;
  }
  check(depth == 0 && !f.tensors.empty(), "the header is no object of tensors");
  check(last == data.size() - start, "bytes behind the last tensor");
  return f;
}
}  // namespace golden
