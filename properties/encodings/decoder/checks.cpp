// Attention as decoders use it: families of positions, documents and pages, and sizes.
#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "properties/harness/usual_sizes.hpp"
#include "properties/kinds/attention.hpp"
#include "reference/core/special_values.hpp"
#include "reference/oracle.hpp"

namespace assay::properties::encodings::decoder {

std::vector<variant> mutants();  // variants.cpp
std::vector<variant> controls();

namespace {

using core::dtype;

// Positions from 0 on, in one document, and slopes of ALiBi.
void in_one_document(drawn_inputs& in, core::counter_random& random) {
  const std::size_t m = in.sizes.at("m");
  if (std::vector<double>* position = numbers_of(in, "position"))
    for (std::size_t k = 0; k < position->size(); ++k) (*position)[k] = static_cast<double>(k % m);
  const double document = static_cast<double>(random.below(100)) - 50;
  if (std::vector<double>* documents = numbers_of(in, "document"))
    std::fill(documents->begin(), documents->end(), document);
  if (std::vector<double>* slope = numbers_of(in, "slope"))
    for (std::size_t k = 0; k < slope->size(); ++k) (*slope)[k] = std::exp2(-0.5 - static_cast<double>(k % 8));
}
// Pages in any order, each used once if there are enough. Rows end within their last page, at the end of a page, or
// anywhere before: places of the table behind the end belong to no row.
void in_pages(drawn_inputs& in, core::counter_random& random) {
  std::vector<double>* table = numbers_of(in, "table");
  if (table == nullptr) return;
  const std::size_t pages = in.sizes.at("P"), s = in.sizes.at("s"), all = in.sizes.at("t") * s, n = in.sizes.at("n");
  std::vector<double> order(pages);
  for (std::size_t k = 0; k < pages; ++k) order[k] = static_cast<double>(k);
  for (std::size_t k = pages; k > 1; --k) std::swap(order[k - 1], order[random.below(k)]);
  for (std::size_t k = 0; k < table->size(); ++k) (*table)[k] = pages == 0 ? 0.0 : order[k % pages];
  for (double& length : in.numbers.at("length")) {
    std::size_t tokens = all;
    if (all > n) tokens = random.one_in(2) ? all - random.below(std::min(all, s)) : n + random.below(all - n + 1);
    if (random.one_in(3)) tokens -= tokens % s;
    length = static_cast<double>(all <= n ? all : std::max(n, tokens));
  }
}
// Keys and values that are computed from latents are of order 1, as latents are.
void usual(drawn_inputs& in, const core::operation&, dtype, core::counter_random& random) {
  in_one_document(in, random);
  in_pages(in, random);
  for (const char* name : {"key_up", "value_up"})
    if (std::vector<double>* matrix = numbers_of(in, name))
      for (double& x : *matrix) x /= std::sqrt(static_cast<double>(in.sizes.at("l")));
}

family of_calls(std::string name, std::string summary, input_filler then) {
  return attention_family(
      std::move(name), std::move(summary),
      [then](drawn_inputs& in, const core::operation& op, dtype type, core::counter_random& random) {
        usual(in, op, type, random);
        then(in, op, type, random);
      });
}

// About four documents, one after another; positions restart in each.
void packed(drawn_inputs& in, const core::operation&, dtype, core::counter_random& random) {
  const std::size_t m = in.sizes.at("m");
  std::vector<double>&position = in.numbers.at("position"), &document = in.numbers.at("document");
  for (std::size_t k = 0, start = 0; k < position.size(); ++k) {
    if (k % m == 0 || random.below(std::max<std::size_t>(m, 3)) < 3) start = k;
    position[k] = static_cast<double>(k - start);
    document[k] = static_cast<double>(start % m);
  }
}
// Ids that narrow integers and floats cannot distinguish.
void interleaved_documents(drawn_inputs& in, const core::operation&, dtype, core::counter_random& random) {
  for (double& id : in.numbers.at("document")) id = random.one_in(2) ? 0x1p31 : random.one_in(2) ? -0x1p31 : 0x1p31 - 1;
}
void far_positions(drawn_inputs& in, const core::operation&, dtype type, core::counter_random& random) {
  const double first = std::floor(std::exp2(random.uniform(6, type == dtype::f16 ? 15 : 17)));
  for (double& position : in.numbers.at("position")) position += first;
}
void at_origin(drawn_inputs& in, const core::operation&, dtype, core::counter_random&) {
  for (double& position : in.numbers.at("position")) position = 0.0;
}
// Rows whose squares are near epsilon.
void small_rows(drawn_inputs& in, const core::operation&, dtype, core::counter_random& random) {
  for (const char* name : {"q", "k"})
    for (double& x : in.numbers.at(name)) x *= std::exp2(-random.uniform(8, 12));
}
void loud_sinks(drawn_inputs& in, const core::operation&, dtype, core::counter_random& random) {
  for (double& sink : in.numbers.at("sink")) sink = random.one_in(4) ? -core::infinity : 3 + random.normal();
}
void large_queries(drawn_inputs& in, const core::operation&, dtype, core::counter_random&) {
  for (double& x : in.numbers.at("q")) x *= 64;
}
// The first pages of all rows are the same page, as for a prompt that they share.
void shared_pages(drawn_inputs& in, const core::operation&, dtype, core::counter_random&) {
  std::vector<double>& table = in.numbers.at("table");
  const std::size_t t = in.sizes.at("t");
  for (std::size_t k = 0; k < table.size(); ++k)
    if (k % t <= t / 2) table[k] = table[k % t];
}
// For each place of each page: whether a table names the page, and whether some row has a token there. Pages that do
// not exist are left out; no valid request names them.
struct use_of_places {
  std::vector<bool> named, read;
};
use_of_places use_of(const std::vector<double>& table, const std::vector<double>& length, std::size_t pages,
                     std::size_t s) {
  use_of_places use{std::vector<bool>(pages * s, false), std::vector<bool>(pages * s, false)};
  const std::size_t row_places = length.empty() ? 0 : table.size() / length.size() * s;
  for (std::size_t k = 0; k < table.size() * s; ++k) {
    if (!(table[k / s] >= 0.0) || table[k / s] >= static_cast<double>(pages)) continue;
    const std::size_t place = static_cast<std::size_t>(table[k / s]) * s + k % s;
    use.named[place] = true;
    if (static_cast<double>(k % row_places) < length[k / row_places]) use.read[place] = true;
  }
  return use;
}
// Places that must not be read hold numbers that would take all weight.
void stale_pages(drawn_inputs& in, const core::operation&, dtype, core::counter_random&) {
  const std::size_t s = in.sizes.at("s"), places = in.sizes.at("P") * s;
  const use_of_places use = use_of(in.numbers.at("table"), in.numbers.at("length"), in.sizes.at("P"), s);
  for (const auto& [name, width, stale] :
       {std::tuple("key_pages", in.sizes.at("d"), 16.0), std::tuple("value_pages", in.sizes.at("e"), 1000.0)}) {
    const std::size_t row = in.sizes.at("h") * width;
    for (std::size_t k = 0; k < places; ++k)
      if (!use.read[k]) std::fill_n(in.numbers.at(name).begin() + static_cast<std::ptrdiff_t>(k * row), row, stale);
  }
}
// NaN in pages that belong to no row.
void free_pages(drawn_inputs& in, const core::operation&, dtype, core::counter_random&) {
  const std::size_t s = in.sizes.at("s"), places = in.sizes.at("P") * s;
  const use_of_places use = use_of(in.numbers.at("table"), in.numbers.at("length"), in.sizes.at("P"), s);
  for (const char* name : {"key_pages", "value_pages"}) {
    std::vector<double>& all = in.numbers.at(name);
    for (std::size_t k = 0; k < all.size(); ++k)
      if (!use.named[k / (all.size() / places)]) all[k] = std::nan("");
  }
}
// A hidden key has the weight 0, and 0 times NaN is NaN in programs that sum over all keys: only queries get a NaN.
void nan_in_a_query(drawn_inputs& in, const core::operation& op, dtype, core::counter_random& random) {
  std::vector<double>& q = in.numbers.at("q");
  const bool is_before_all = op.input("table") != nullptr && in.sizes.at("t") * in.sizes.at("s") < in.sizes.at("n");
  if (!q.empty() && !is_before_all) q[random.below(q.size())] = std::nan("");
}

bool is_whole(const core::operation& op) { return op.forward_name() == "decoder/attention"; }
bool is_paged(const core::operation& op) { return op.forward_name() == "decoder/paged"; }
bool has_no_pages(const core::operation& op) { return !is_paged(op); }

std::vector<family> families() {
  return {
      attention_family("mild", "numbers of order 1; positions from 0, one document, pages in any order", usual),
      only_for(is_whole, of_calls("packed", "documents one behind the other, whose positions begin anew", packed)),
      only_for(is_whole,
               of_calls("interleaved_documents", "documents between one another, with ids up to 2^31 of either sign",
                        interleaved_documents)),
      only_for(has_no_pages, of_calls("far_positions", "positions from 2^6 to 2^17 on, 2^15 in f16", far_positions)),
      only_for(has_no_pages, of_calls("at_origin", "all positions are 0: nothing turns", at_origin)),
      only_for(is_whole,
               of_calls("small_rows", "queries and keys of 2^-8 to 2^-12, whose squares are near epsilon", small_rows)),
      only_for(is_whole, of_calls("loud_sinks", "sinks that take most of the weight, or none", loud_sinks)),
      of_calls("large_queries", "queries of order 64", large_queries),
      only_for(is_paged, of_calls("shared_pages", "rows that share their first pages", shared_pages)),
      only_for(is_paged,
               of_calls("stale_pages", "pages of nobody, and places behind the last token, that would take all weight",
                        stale_pages)),
      only_for(is_paged, of_calls("free_pages", "NaN in pages of nobody", free_pages)),
      holding_nan(of_calls("nan_inside", "a NaN in a query", nan_in_a_query)),
  };
}

// Whether a row has fewer tokens than queries, so that the first queries come before all keys, or more tokens than its
// pages hold; or whether a NaN stands in a page that a table names, behind the last token.
bool is_of_convention(const request& call) {
  if (!call.inputs.contains("length")) return false;
  const core::tensor &table = call.inputs.at("table"), &keys = call.inputs.at("key_pages");
  const std::size_t pages = keys.shape()[0], s = keys.shape()[1];
  const auto numbers_of = [](const core::tensor& t) {
    return std::vector<double>(t.values.storage().begin(), t.values.storage().end());
  };
  const std::vector<double> lengths = numbers_of(call.inputs.at("length"));
  const auto n = static_cast<double>(call.inputs.at("q").shape()[2]), most = static_cast<double>(table.shape()[1] * s);
  if (std::any_of(lengths.begin(), lengths.end(), [&](double own) { return own < n || own > most; })) return true;
  const use_of_places use = use_of(numbers_of(table), lengths, pages, s);
  for (const char* name : {"key_pages", "value_pages"}) {
    const core::tensor& t = call.inputs.at(name);
    const std::size_t row = t.size() / std::max<std::size_t>(1, pages * s);
    for (std::size_t k = 0; k < t.size(); ++k)
      if (std::isnan(t.values.storage()[k]) && use.named[k / row] && !use.read[k / row]) return true;
  }
  return false;
}

// Queries are among the tokens; long calls have no groups of heads, and pages of few tokens.
void fit(usual_size& size, std::int64_t page) {
  core::axis_sizes& axes = size.axes;
  const bool has_pages = axes.contains("t");
  const auto in_page = static_cast<std::size_t>(page);
  std::size_t& keys = axes.at(has_pages ? "t" : "m");
  keys = std::max(keys, has_pages ? (axes.at("n") + in_page - 1) / in_page : axes.at("n"));
  if (has_pages) size.settings["page_size"] = page;
  if (size.functions.front() != "decoder/latent" && axes.at("n") * keys > 1000)
    size.settings["group"] = std::int64_t{1};
}

// Calls with many pairs of tokens have one row and one head, unless all axes are whole blocks.
void leave_one_head(usual_size& size) {
  core::axis_sizes& axes = size.axes;
  const std::size_t pairs = axes.at("n") * axes.at(axes.contains("t") ? "t" : "m");
  if (pairs <= 300 || pairs == 4096) return;
  for (const char* axis : {"B", "h"})
    if (axes.at(axis) == 2) axes[axis] = 1;
}

std::vector<usual_size> sizes() {
  const std::vector<std::string> whole{"decoder/attention"}, latent{"decoder/latent"}, paged{"decoder/paged"};
  std::vector<usual_size> all;
  for (const std::string& operation : {whole[0], latent[0], paged[0]})
    for (usual_size& u : sizes_by_roles(*reference::find_operation(operation))) {
      fit(u, 1);
      leave_one_head(u);
      all.push_back(std::move(u));
    }
  add_sizes(all, whole, "B h n m d e", "2 2 129 130 2 1, 1 1 63 127 2 1, 1 2 3 1300 3 2");
  add_sizes(all, whole, "B h n m d e", "1 2 65 130 128 128, 2 2 2 2049 3 2, 2 65 3 17 4 3, 2 2 258 258 2 3", false);
  add_sizes(all, latent, "B h n m d e r l",
            "5 2 3 5 3 3 33 3, 2 9 3 5 3 3 33 3, 2 2 66 66 3 3 33 3, 2 2 3 130 3 3 33 3, 2 2 3 5 66 3 33 3,"
            "2 2 3 5 3 66 33 3, 2 2 3 5 3 3 33 66, 2 2 64 64 64 64 32 64, 2 2 129 130 2 1 1 2, 1 1 63 127 2 1 1 2");
  add_sizes(all, latent, "B h n m d e r l", "2 2 3 5 3 3 33 3", true, every_family);
  add_sizes(all, latent, "B h n m d e r l", "1 2 33 65 128 128 32 512, 2 2 2 2049 3 2 1 2", false);
  add_sizes(all, paged, "B h n P t d e", "2 2 129 140 130 2 1, 1 1 63 9 64 2 1, 1 1 3 9 67 128 128");
  add_sizes(all, paged, "B h n P t d e", "1 2 65 9 65 128 128, 2 2 2 300 2048 3 2", false);
  for (std::size_t k = 0; k < all.size(); ++k) fit(all[k], k % 2 == 0 ? 1 : 2);
  add_sizes(all, paged, "B h n P t d e", "1 1 3 9 8 64 64, 2 2 64 9 4 64 64");
  for (std::size_t k = all.size() - 2; k < all.size(); ++k) fit(all[k], 16);
  return all;
}

}  // namespace

encoding_tests make_tests() {
  encoding_tests tests;
  tests.name = "decoder";
  tests.families = families();
  tests.mutants = mutants();
  tests.controls = controls();
  tests.sizes = sizes();
  tests.long_ones = {{{"decoder/attention", "decoder/latent"}, {{"m", 0}}, {{"n", 200}}},
                     {{"decoder/paged"}, {{"t", 0}}}};
  tests.rests_on_convention = is_of_convention;
  return tests;
}

}  // namespace assay::properties::encodings::decoder
