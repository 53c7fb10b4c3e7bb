// Wrong and right ways to move keys, and to add angles.
#include "properties/faults/call_changes.hpp"
#include "properties/faults/declared_faults.hpp"
#include "properties/kinds/attention.hpp"
#include "properties/kinds/rotation_faults.hpp"
#include "reference/encodings/contextual.hpp"

namespace assay::properties::encodings::contextual {
namespace {

using namespace reference;  // the ways below are written in its vocabulary
using formula::traced, formula::traced_truth;
using encoding = reference::encodings::contextual;
using token = encoding::token;
inline constexpr auto& changed = make_variant<encoding>;

// Reverses tokens along the axis of steps.
traced backwards(const traced& x) {
  const std::size_t n = shape_of(x)[0];
  std::vector<std::int64_t> order;
  for (std::size_t t = n; t-- > 0;) order.push_back(static_cast<std::int64_t>(t));
  return n == 0 ? x : gathered(x, formula::known_integers({n}, order), 0);
}
traced places_of(std::size_t n, const core::shape& s) { return reshaped(index_number(formula::counted(n)), s); }
traced by_token(const traced& x) { return transposed(x, {2, 0, 1, 3}); }

// Moves queries from the last token to the first, as fla-org/flash-linear-attention does between blocks.
traced query_by_query(const encoding::scheme&, const recorded_call& in) {
  const std::size_t n = in.size("n");
  const auto turn = [&](const std::vector<traced>& carried, const std::vector<traced>& now) {
    const traced read = contracted(now[0], carried[0], "bhd,bhid->bhi");
    const traced_truth are_moved = !less(places_of(n, {1, 1, n, 1}), now[3]);
    return formula::loop_turn{{carried[0] - encoding::moves_of(carried[0], {now[1], now[2]}, are_moved)}, {read}};
  };
  std::vector<traced> stepped;
  for (const traced& x :
       {by_token(in["k"]), by_token(in["w"]), transposed(in["beta"], {2, 0, 1}), places_of(n, {n, 1, 1, 1, 1})})
    stepped.push_back(backwards(x));
  return transposed(backwards(formula::looped(n, {in["q"]}, stepped, turn).given[0]), {1, 2, 3, 0});
}

// q . k minus q . w of all moves u [B, h, t, j] of keys: u_t = beta_t (w_t . k - sum_{s < t} (w_t . w_s) u_s).
template <class Moves>
traced all_at_once(const recorded_call& in, Moves moves) {
  const std::size_t rows = in.size("B"), heads = in.size("h"), n = in.size("n");
  const traced q = in["q"], k = in["k"], w = in["w"], none(0.0);
  const auto where = [&](auto is) {
    std::vector<bool> truths;
    for (std::size_t t = 0; t < n; ++t)
      for (std::size_t j = 0; j < n; ++j) truths.push_back(is(t, j));
    return broadcast(formula::known_truths({n, n}, truths), {rows, heads, n, n});
  };
  const traced_truth before = where([](std::size_t t, std::size_t j) { return j < t; });
  const traced_truth up_to = where([](std::size_t t, std::size_t j) { return j <= t; });
  const auto met = [](const traced& x, const traced& y) { return contracted(x, y, "bhid,bhjd->bhij"); };
  const traced u = moves(either(before, met(w, k), none), either(before, met(w, w), none),
                         reshaped(in["beta"], {rows, heads, n, 1}));
  return met(q, k) - contracted(either(up_to, met(q, w), none), u, "bhit,bhtj->bhij");
}
// The triangular system of the paper, for all tokens.
traced by_triangular_system(const encoding::scheme&, const recorded_call& in) {
  return all_at_once(in, [](const traced& key_products, const traced& token_products, const traced& beta) {
    const core::shape s = shape_of(key_products);
    const std::size_t n = s[2];
    const auto turn = [&](const std::vector<traced>& carried, const std::vector<traced>& now) {
      const traced lack = now[0] - contracted(now[1], carried[0], "bht,bhtj->bhj");
      const traced u = reshaped(now[2], {s[0], s[1], 1, 1}) * reshaped(lack, {s[0], s[1], 1, n});
      return formula::loop_turn{{either(equal(places_of(n, {1, 1, n, 1}), now[3]), u, carried[0])}, {}};
    };
    return formula::looped(
               n, {broadcast(traced(0.0), s)},
               {by_token(key_products), by_token(token_products), by_token(beta), places_of(n, {n, 1, 1, 1, 1})}, turn)
        .left[0];
  });
}

// Rotates neighbours: features 2t and 2t + 1 of features that are given as halves.
traced_pairs neighbours_turned(const traced_pairs& x, const traced_rotation& by) {
  const core::shape half = shape_of(x.first);
  core::shape by_two = half, whole = half;
  by_two.push_back(2), whole[3] *= 2;
  const traced all = reshaped(formula::joined({x.first, x.second}, 3), by_two);
  const traced_pairs y = turned({reshaped(between(all, 4, 0, 1), half), reshaped(between(all, 4, 1, 2), half)}, by);
  by_two[4] = 1;
  const traced out = reshaped(formula::joined({reshaped(y.first, by_two), reshaped(y.second, by_two)}, 4), whole);
  return {between(out, 3, 0, half[3]), between(out, 3, half[3], whole[3])};
}
// A rotation whose sine has the derivative 1 and whose cosine has 0, as for the torque of y.
traced_rotation of_torque(const traced& angle) { return rotations::of_torque(angle, traced(1.0)); }

// Sums of four angles at a time, joined with the sums of earlier blocks by `carry`.
template <class Carry>
traced block_by_block(const traced& phi, const traced& s0, Carry carry) {
  const std::size_t n = shape_of(phi)[1];
  std::vector<traced> all{s0};
  for (std::size_t first = 0; first < n; first += 4) {
    const traced& before = all.back();
    const std::size_t last = shape_of(before)[1];
    const traced sums = cumulative_sum(between(phi, 1, first, std::min(n, first + 4)), 1);
    all.push_back(carry(between(before, 1, last - 1, last), sums));
  }
  return formula::joined(all, 1);
}

}  // namespace

std::vector<variant> mutants() {
  return all_of(
      {reported_faults({
           {"mutant/contextual_path_half_moves", "fla-org/flash-linear-attention, layers/path_attn.py: 2 sigmoid",
            "contextual/path_attention/beta/halved"},
           {"mutant/contextual_path_directions_late", "a causal convolution of w that leaves out its own token",
            "contextual/path_attention/w/one_late_along_n_2"},
           {"mutant/contextual_rotation_cache_dropped", "tile-ai/TileOPs#1557: initial states are silently dropped",
            "contextual/selective_rotation/s0/zeroed"},
           {"mutant/contextual_rotation_temperature_of_first_pair", "one temperature for all pairs",
            "contextual/selective_rotation/temperature/first_for_all_along_r_0"},
       }),
       {
           changed("mutant/contextual_path_own_move_missing", "a product up to i - 1: an exclusive end",
                   "a query reads keys that its own token has not moved",
                   {.formula = [](auto& scheme) { scheme.moves_before = false; }, .representative = true}),
           changed(
               "mutant/contextual_path_own_key_moved", "a product from j on: an inclusive start",
               "a token moves its own key, too",
               {.formula =
                    [](auto& scheme) { scheme.moves = [](const traced& j, const traced& t) { return !less(t, j); }; },
                .representative = true}),
           changed("mutant/contextual_path_no_inverse", "the sum of all moves: without the triangular inverse",
                   "each token moves keys as they came, not as tokens before have left them",
                   {.formula =
                        [](auto& scheme) {
                          scheme.products = [](const encoding::scheme&, const recorded_call& in) {
                            return all_at_once(in, [](const traced& key_products, const traced&, const traced& beta) {
                              return beta * key_products;
                            });
                          };
                        },
                    .representative = true}),
           changed("mutant/contextual_path_blocks_apart", "a product that stays within a block of 4 tokens",
                   "tokens move the keys of their own block alone",
                   {.formula =
                        [](auto& scheme) {
                          scheme.moves = [](const traced& j, const traced& t) {
                            const traced quarter(0.25);
                            return less(j, t) && equal(floor(j * quarter), floor(t * quarter));
                          };
                        },
                    .representative = true}),
           changed("mutant/contextual_path_share_squared", "sqrt(beta) w taken for beta w: beta on either side",
                   "H = I - beta^2 w w^T",
                   {.formula =
                        [](auto& scheme) {
                          scheme.move = [](const traced& keys, const token& by, const traced_truth& which) {
                            return keys - encoding::moves_of(keys, {by.w, by.beta * by.beta}, which);
                          };
                        },
                    .representative = true}),
           changed("mutant/contextual_path_keys_in_bf16", "a cache of moved keys in bf16",
                   "keys are rounded to bf16 by every token",
                   {.formula =
                        [](auto& scheme) {
                          scheme.move = [](const traced& keys, const token& by, const traced_truth& which) {
                            return held_in(core::dtype::bf16, keys - encoding::moves_of(keys, by, which));
                          };
                        }}),
           changed("mutant/contextual_path_no_shift", "pytorch/pytorch#1835: overflow", "exp without a shift",
                   {.formula = weights::steps(weights::without_shift)}),
           changed("mutant/contextual_path_moves_detached", "pytorch/pytorch#196705: a path dropped",
                   "moves hand no gradient on to w and beta",
                   {.gradient =
                        [](auto& scheme) {
                          scheme.move = [](const traced& keys, const token& by, const traced_truth& which) {
                            return keys - encoding::moves_of(keys, {detach(by.w), detach(by.beta)}, which);
                          };
                        }}),
           changed("mutant/contextual_rotation_own_angle_missing", "an exclusive cumulative sum",
                   "a token turns by the angles before it",
                   {.formula = [](auto& scheme) { scheme.turns_by_own = false; }, .representative = true}),
           changed("mutant/contextual_rotation_sums_in_bf16", "EleutherAI/gpt-neox#1003: angles in a short format",
                   "sums of angles are rounded to bf16",
                   {.formula =
                        [](auto& scheme) {
                          scheme.sums = [](const traced& phi, const traced& s0) {
                            return held_in(core::dtype::bf16, cumulative_sum(formula::joined({s0, phi}, 1), 1));
                          };
                        },
                    .representative = true}),
           changed("mutant/contextual_rotation_sums_start_again", "a chunked scan that loses its carry",
                   "each block of four tokens begins at 0",
                   {.formula =
                        [](auto& scheme) {
                          scheme.sums = [](const traced& phi, const traced& s0) {
                            return block_by_block(phi, s0, [](const traced&, const traced& sums) { return sums; });
                          };
                        },
                    .representative = true}),
           changed(
               "mutant/contextual_rotation_backwards", "a sign exchanged in a port", "vectors turn by -a",
               {.formula = [](auto& scheme) { scheme.turn = rotations::turned_backwards; }, .representative = true}),
           changed("mutant/contextual_rotation_neighbours", "huggingface/candle#3948: the layout of pairs",
                   "neighbours turn together in place of halves",
                   {.formula = [](auto& scheme) { scheme.turn = neighbours_turned; }, .representative = true}),
           changed("mutant/contextual_rotation_torque_of_own_token", "a backward pass without the reversed sum",
                   "the gradient of phi is the torque of its own token alone",
                   {.gradient =
                        [](auto& scheme) {
                          scheme.sums = [](const traced& phi, const traced& s0) {
                            const traced all = formula::joined({s0, phi}, 1);
                            return with_gradient_of(cumulative_sum(all, 1), all);
                          };
                        }}),
       }});
}

std::vector<variant> controls() {
  return {
      changed("control/contextual_path_by_queries", "fla-org/flash-linear-attention, naive_path_attn: between blocks",
              "queries are moved, from the last token to the first",
              {.formula = [](auto& scheme) { scheme.products = query_by_query; }}),
      changed("control/contextual_path_triangular_system", "Yang et al. 2025: the UT transform",
              "all moves by one triangular system",
              {.formula = [](auto& scheme) { scheme.products = by_triangular_system; }}),
      changed("control/contextual_path_in_f64", "all in f64, rounded once", "another precision",
              {.arithmetic = in_f64}),
      changed("control/contextual_rotation_by_blocks", "timurcarstensen/selective-rope, ops/selective_rope.py: a carry",
              "sums of four angles, added to what came before",
              {.formula =
                   [](auto& scheme) {
                     scheme.sums = [](const traced& phi, const traced& s0) {
                       return block_by_block(phi, s0,
                                             [](const traced& carry, const traced& sums) { return carry + sums; });
                     };
                   }}),
      changed("control/contextual_rotation_torque", "fused kernels: the torque of y", "gradients of angles by y",
              {.gradient =
                   [](auto& scheme) {
                     scheme.rotation = of_torque;
                     scheme.turn = rotations::turned_with_torque;
                   }}),
      changed("control/contextual_path_usual_stages", "fla-org/flash-linear-attention, layers/path_attn.py: the cache",
              "f16 and bf16: moved keys, scores and weights in the dtype",
              {.arithmetic = in_usual_stages, .declared = nothing_declared})};
}

}  // namespace assay::properties::encodings::contextual
