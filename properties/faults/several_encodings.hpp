// Implementations of several encodings at once, for laws between operations of different encodings.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "properties/faults/recipe_variant.hpp"

namespace assay::properties {

/// An implementation of all operations of its parts; it says of itself what they say, first of all the first.
class several_encodings final : public implementation {
 public:
  explicit several_encodings(std::vector<std::unique_ptr<implementation>> parts);
  [[nodiscard]] const description& describe() const override { return about_; }
  call_result evaluate(const request& call) override;

 private:
  std::vector<std::unique_ptr<implementation>> parts_;
  description about_;
};

/// A variant of one encoding that has the operations of others too, unchanged.
template <class Variant, class... Others>
variant make_variant_beside(const char* id, const char* models, const char* what) {
  return {id, models, what, [id] {
            std::vector<std::unique_ptr<implementation>> parts;
            parts.push_back(std::make_unique<recipe_variant<Variant>>(id));
            (parts.push_back(std::make_unique<recipe_variant<unchanged<Others>>>(id)), ...);
            return std::make_unique<several_encodings>(std::move(parts));
          }};
}

}  // namespace assay::properties
