#include "golden/formats/strict_json.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

namespace assay::formats {
namespace {

using nlohmann::json;

// The parser's view of the text; it tells the handler how far the parser has read.
class counting_iterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  counting_iterator(const char* position, const char** furthest) : position_(position), furthest_(furthest) {}
  reference operator*() const { return *position_; }
  counting_iterator& operator++() {
    *furthest_ = ++position_;
    return *this;
  }
  counting_iterator operator++(int) {
    const counting_iterator before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const counting_iterator& a, const counting_iterator& b) { return a.position_ == b.position_; }

 private:
  const char* position_;
  const char** furthest_;
};

// Builds the document from the parser's events; `false` stops the parser.
class strict_handler final : public nlohmann::json_sax<json> {
 public:
  strict_handler(std::string_view text, json_rules rules) : text_(text), rules_(rules), read_(text.data()) {}

  const char** furthest() { return &read_; }
  json_document& document() { return document_; }
  json_error& error() { return error_; }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return refuse("binary values are no JSON"); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_integer(number_integer_t value) override {
    return rules_.counts_only ? refuse("numbers must not be negative") : add(value);
  }
  bool number_float(number_float_t value, const string_t&) override {
    return rules_.counts_only ? refuse("numbers must be integers below 2^64 without fraction or exponent") : add(value);
  }

  bool start_object(std::size_t) override { return open(json::object()); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    const std::size_t begin = string_begin();
    if (open_.back()->contains(name)) {
      refuse("keys must not repeat");
      error_.offset = begin;
      return false;
    }
    if (open_.size() == 1) document_.key_offsets[name] = begin;
    key_ = std::move(name);
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& e) override {
    std::string what = e.what();
    if (const auto tag = what.find("] "); tag != std::string::npos) what.erase(0, tag + 2);
    // The library quotes the offending token, which may be as long as the text.
    constexpr std::size_t longest = 160;
    if (what.size() > longest) what = what.substr(0, longest) + "...";
    // The quoted token may contain bytes that are no text.
    std::replace_if(
        what.begin(), what.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
    error_ = {position == 0 ? 0 : position - 1, "must be valid JSON: " + what};
    return false;
  }

 private:
  bool refuse(const char* rule) {
    const std::size_t consumed = static_cast<std::size_t>(read_ - text_.data());
    error_ = {consumed == 0 ? 0 : consumed - 1, rule};
    return false;
  }

  json* place(json value) {
    if (open_.empty()) return &(document_.value = std::move(value));
    json& parent = *open_.back();
    if (parent.is_object()) return &(parent[key_] = std::move(value));
    parent.push_back(std::move(value));
    return &parent.back();
  }

  bool add(json value) {
    place(std::move(value));
    return true;
  }

  // Pointers into open containers stay valid: only the innermost one grows.
  bool open(json container) {
    if (open_.size() == rules_.max_depth) return refuse("values must not be nested so deeply");
    open_.push_back(place(std::move(container)));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  // The string just read ends before read_. Its opening quote is the nearest one with an even number of backslashes
  // before it: a quote inside the string has an odd number.
  [[nodiscard]] std::size_t string_begin() const {
    auto quote = static_cast<std::size_t>(read_ - text_.data()) - 1;
    while (quote > 0) {
      quote = text_.rfind('"', quote - 1);
      std::size_t slashes = 0;
      while (slashes < quote && text_[quote - 1 - slashes] == '\\') ++slashes;
      if (slashes % 2 == 0) break;
    }
    return quote;
  }

  std::string_view text_;
  json_rules rules_;
  const char* read_;
  json_document document_;
  json_error error_;
  std::vector<json*> open_;
  std::string key_;
};

}  // namespace

tl::expected<json_document, json_error> parse_strict_json(std::string_view text, json_rules rules) {
  if (text.empty() || text.front() != '{') return tl::make_unexpected(json_error{0, "must begin with '{'"});
  if (const auto nul = text.find('\0'); nul != std::string_view::npos)
    return tl::make_unexpected(json_error{nul, "must not contain a NUL byte"});
  strict_handler handler(text, rules);
  const counting_iterator first(text.data(), handler.furthest());
  // The end is never advanced, so that sharing the counter does no harm.
  const counting_iterator last(text.data() + text.size(), handler.furthest());
  if (!json::sax_parse(first, last, &handler)) return tl::make_unexpected(std::move(handler.error()));
  return std::move(handler.document());
}

}  // namespace assay::formats
