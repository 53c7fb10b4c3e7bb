#include "tools/explore/heinsen/streams.hpp"

#include <cmath>
#include <limits>

#include "reference/core/fnv1a.hpp"

namespace assay::explore {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

double log_sigmoid(double g) { return std::fmin(g, 0.0) - std::log1p(std::exp(-std::fabs(g))); }

}  // namespace

const std::vector<stream_family>& stream_families() {
  constexpr std::string_view mean = "mean of the gate logits", p = "p";
  static const std::vector<stream_family> all{
      {"gates", "random gates, p = sigmoid(N(decay, 1)), and random inputs", mean},
      {"constant", "constant p and random inputs: rounding errors add up with one sign", p},
      {"still", "constant p and h = 0", p},
      {"drift", "as gates, and inputs that grow by 0.05 a token", mean},
      {"spikes", "as gates, and every 64th input is larger by 30 scale", mean},
      {"resets", "as gates, and every 1000th token forgets all (log p = -inf)", mean},
      {"silence", "as gates, and only every 16th token has an input (h = -inf)", mean},
      {"faint", "as gates, and inputs around -16 scale, which add little", mean}};
  return all;
}

token_stream::token_stream(const cell& c, std::size_t lane)
    : cell_(c), format_(find_format(c.storage)), random_(core::fnv1a(c.family, c.seed * 0x10001 + lane)) {
  ASSAY_EXPECTS(format_ != nullptr);
  if (is_recorded(c.family)) {
    recorded_ = recorded_inputs_of(c.family).value();
    recorded_at_ = lane % recorded_->lanes * recorded_->tokens;
  }
  if (c.family == "constant" || c.family == "still") constant_ = format_->round(std::log(c.decay));
}

void token_stream::token(double& a, double& h) {
  ++index_;
  if (recorded_) {
    a = format_->round(recorded_->log_p.at(recorded_at_));
    h = format_->round(cell_.scale * recorded_->h[recorded_at_++]);
    return;
  }
  const bool is_constant = cell_.family == "constant" || cell_.family == "still";
  a = is_constant ? constant_ : format_->round(log_sigmoid(cell_.decay + random_.normal()));
  h = cell_.family == "still" ? 0.0 : cell_.scale * random_.normal();
  if (cell_.family == "faint") h = h / cell_.scale - 16.0 * cell_.scale;
  if (cell_.family == "drift") h += 0.05 * static_cast<double>(index_);
  if (cell_.family == "spikes" && index_ % 64 == 0) h += 30.0 * cell_.scale;
  if (cell_.family == "resets" && index_ % 1000 == 0) a = -infinity;
  h = format_->round(h);
  if (cell_.family == "silence" && index_ % 16 != 0) h = -infinity;
}

void token_stream::next(std::span<double> a, std::span<double> h) {
  for (std::size_t i = 0; i < a.size(); ++i) token(a[i], h[i]);
}

}  // namespace assay::explore
