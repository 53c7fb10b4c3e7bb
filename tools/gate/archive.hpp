// Conversion of values to JSON and back. The members of a type are listed once, for both directions; the compiler
// refuses an incomplete list.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "golden/formats/number_text.hpp"
#include "reference/core/tensor.hpp"

namespace assay::tools::archive {

using nlohmann::json;

/// The file does not hold what was written.
struct malformed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class T>
json save(const T& x);
template <class T>
void load(const json& j, T& x);

class writer {
 public:
  template <class T>
  void operator()(const std::string& name, const T& x) {
    object[name] = save(x);
  }
  json object = json::object();
};

class reader {
 public:
  explicit reader(const json& object) : object_(object) {}
  template <class T>
  void operator()(const std::string& name, T& x) {
    const auto it = object_.find(name);
    if (it == object_.end()) throw malformed("the member '" + name + "' is missing");
    load(*it, x);
  }

 private:
  const json& object_;
};

/// Reads or writes each member under its name; `names` has the form "first, second".
template <class Archive, class... Members>
void each(Archive& a, std::string_view names, Members&... all) {
  const auto next = [&] {
    const std::string name(names.substr(0, names.find(',')));
    names.remove_prefix(std::min(names.find_first_not_of(", ", name.size()), names.size()));
    return name;
  };
  (a(next(), all), ...);
}
#define ASSAY_ARCHIVE(a, ...) ::assay::tools::archive::each(a, #__VA_ARGS__, __VA_ARGS__)

/// Defines `members` of a type from the list of all its members: the names in the file, in the order of declaration.
#define ASSAY_MEMBERS(type, ...)      \
  template <class Archive>            \
  void members(Archive& a, type& x) { \
    auto& [__VA_ARGS__] = x;          \
    ASSAY_ARCHIVE(a, __VA_ARGS__);    \
  }

/// Reads an integer that fits the type: JSON's own conversion truncates fractions and wraps.
template <class T>
T integer_from(const json& j) {
  const bool fits = j.is_number_unsigned()  ? std::in_range<T>(j.get<std::uint64_t>())
                    : j.is_number_integer() ? std::in_range<T>(j.get<std::int64_t>())
                                            : false;
  if (!fits) throw malformed(j.dump() + " is no integer of this member");
  return j.get<T>();
}

/// Reads an enumerator by its number, from 0 to that of the last.
template <class E>
E enumerator_from(const json& j, E last) {
  const int number = integer_from<int>(j);
  if (number < 0 || number > static_cast<int>(last)) throw malformed(j.dump() + " is no value of this member");
  return static_cast<E>(number);
}

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_sequence = false;
template <class T>
inline constexpr bool is_sequence<std::vector<T>> = true;
template <class T, std::size_t N>
inline constexpr bool is_sequence<std::array<T, N>> = true;
template <class T>
inline constexpr bool is_map = false;
template <class K, class V>
inline constexpr bool is_map<std::map<K, V>> = true;

/// Types that are neither scalars nor containers define how they are written: `members(archive, x)` lists their
/// members, or `to_scalar` and `from_scalar` convert them to and from one JSON value.
template <class T>
concept has_members = requires(writer& a, T& x) {
  members(a, x);
};
template <class T>
concept is_scalar = requires(const T& x, T& y, const json& j) {
  { to_scalar(x) } -> std::convertible_to<json>;
  from_scalar(j, y);
};

template <class T>
json save(const T& x) {
  if constexpr (is_scalar<T>) {
    return to_scalar(x);
  } else if constexpr (std::is_same_v<T, double>) {
    return formats::number_text(x);
  } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
    return x;
  } else if constexpr (is_optional<T>) {
    return x ? save(*x) : json();
  } else if constexpr (is_sequence<T>) {
    json all = json::array();
    for (const auto& element : x) all.push_back(save(element));
    return all;
  } else if constexpr (is_map<T>) {
    json all = json::array();
    for (const auto& [key, value] : x) all.push_back({save(key), save(value)});
    return all;
  } else {
    static_assert(has_members<T>);
    writer w;
    members(w, const_cast<T&>(x));  // a writer changes nothing
    return std::move(w.object);
  }
}

template <class T>
void load(const json& j, T& x) {
  if constexpr (is_scalar<T>) {
    from_scalar(j, x);
  } else if constexpr (std::is_same_v<T, double>) {
    const auto number = formats::parse_number(j.get<std::string>());
    if (!number) throw malformed(j.dump() + " is no number");
    x = *number;
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    x = integer_from<T>(j);
  } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
    x = j.get<T>();
  } else if constexpr (is_optional<T>) {
    x.reset();
    if (!j.is_null()) load(j, x.emplace());
  } else if constexpr (is_sequence<T>) {
    if constexpr (requires { x.resize(j.size()); }) x.resize(j.size());
    if (x.size() != j.size()) throw malformed("an array has the wrong length");
    for (std::size_t k = 0; k < j.size(); ++k) load(j[k], x[k]);
  } else if constexpr (is_map<T>) {
    x.clear();
    for (const json& entry : j) {
      typename T::key_type key{};
      load(entry.at(0), key);
      load(entry.at(1), x[key]);
    }
  } else {
    static_assert(has_members<T>);
    reader r(j);
    members(r, x);
  }
}

}  // namespace assay::tools::archive
