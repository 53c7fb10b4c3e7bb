// Reads safetensors files such as those of Assay's golden sets, in C++17 on little-endian machines, with nlohmann-json
// (Debian: nlohmann-json3-dev). CC0: copy it.
//
// golden::file f = golden::read("scan-mild.bf16.safetensors");  // std::runtime_error says what is wrong with a file
// f.tensors.at("h").dtype "BF16", .shape {2, 6, 2}, .values doubles, exact (I64 to 2^53); f.metadata.at("operation")
#pragma once
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>
// clang-format off
namespace golden {
struct tensor { std::string dtype; std::vector<std::uint64_t> shape; std::vector<double> values; };
struct file { std::map<std::string, tensor> tensors; std::map<std::string, std::string> metadata; };
template <class T> double as(std::uint64_t bits) { T x; std::memcpy(&x, &bits, sizeof x); return double(x); }
inline double bfloat(std::uint64_t bits) { return as<float>(bits << 16); }
inline double half(std::uint64_t b) {  // the bits in the places of f32: 2^-112 times the value, save inf, NaN
  return std::ldexp(as<float>(b >> 15 << 31 | (b & 0x7fff) << 13 | (b >> 10) % 32 / 31 * 0x7f800000), 112); }
inline const std::map<std::string, std::pair<std::size_t, double (*)(std::uint64_t)>> formats{{"F64", {8, as<double>}},
    {"F32", {4, as<float>}}, {"F16", {2, half}}, {"BF16", {2, bfloat}}, {"I64", {8, as<std::int64_t>}}};
// const golden::file f = golden::read("scan-mild.f32.safetensors");
// for (const auto& [name, t] : f.tensors) std::cout << name << " " << t.dtype << " " << t.values.size() << "\n";
inline file read(const std::string& path) try {
  const std::string data{std::istreambuf_iterator<char>(std::ifstream(path, std::ios::binary).rdbuf()), {}};
  const auto check = [](bool holds, const std::string& rule) { if (!holds) throw std::runtime_error(rule); };
  const auto bits = [&](std::size_t i, std::size_t n) { std::uint64_t x = 0; std::memcpy(&x, &data[i], n); return x; };
  check(data.size() >= 8 && bits(0, 8) <= data.size() - 8, "the header does not fit into the file");
  std::size_t start = 8 + bits(0, 8), offset = start;
  auto header = nlohmann::json::parse(&data[8], &data[8] + start - 8, nullptr, false);  // true: errors quote the file
  file f{{}, header.value("__metadata__", decltype(file::metadata){})};
  std::multimap<nlohmann::json, std::string> order;  // names by offsets
  for (const auto& [name, e] : header.items()) if (name != "__metadata__") order.emplace(e.at("data_offsets"), name);
  for (const auto& [offsets, name] : order) {
    tensor& t = f.tensors[name] = {header[name].at("dtype"), header[name].at("shape"), {}};
    const auto [size, value] = formats.at(t.dtype);
    std::size_t bytes = size;
    for (const auto n : t.shape) check(bytes == 0 || n <= SIZE_MAX / bytes, "shape of " + name), bytes *= n;
    check(bytes <= data.size() - offset && header[name]["shape"] == t.shape &&
          offsets == nlohmann::json{offset - start, offset - start + bytes}, "shape or offsets of " + name);
    for (const std::size_t end = offset + bytes; offset < end; offset += size)
      t.values.push_back(value(bits(offset, size)));
  }
  check(offset == data.size(), "its tensors do not end where the file ends");
  return f;
} catch (const std::exception& e) { throw std::runtime_error(path + ": no safetensors file: " + e.what()); }
}  // namespace golden
