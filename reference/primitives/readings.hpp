// The readings, declared: a primitive has one overload for each. Templates find them by argument-dependent lookup.
#pragma once

namespace assay::reference {

struct value;
class enclosure;
struct tracked;
struct rounded;
template <class Number>
struct ball;

}  // namespace assay::reference
