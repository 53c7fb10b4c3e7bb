// Declarations of the readings. A primitive has one overload for each; templates find them by argument-dependent
// lookup.
#pragma once

namespace assay::reference {

struct value;
class enclosure;
struct tracked;
struct rounded;
template <class Number>
struct ball;

}  // namespace assay::reference
