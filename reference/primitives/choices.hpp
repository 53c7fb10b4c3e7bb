// Comparisons, and functions that depend on them. A comparison has three values: true, false, and indeterminate where
// the reading cannot tell (Kleene 1952, section 64).
#pragma once

#include <boost/logic/tribool.hpp>

#include "reference/primitives/readings.hpp"

namespace assay::reference {

/// Whether x < y; false where either is NaN. The allowance reading gives indeterminate where errors may reverse the
/// order.
boost::tribool less(const value& x, const value& y);
boost::tribool less(const enclosure& x, const enclosure& y);
template <class Number>
boost::tribool less(const ball<Number>& x, const ball<Number>& y);
boost::tribool less(const tracked& x, const tracked& y);
boost::tribool less(const rounded& x, const rounded& y);

/// x where the condition is true, y where it is false, and a number that contains both where it is indeterminate.
value either(boost::tribool condition, const value& x, const value& y);
/// If the branches differ and one of them is NaN, the result is unknown.
enclosure either(boost::tribool condition, const enclosure& x, const enclosure& y);
/// A ball around both branches.
template <class Number>
ball<Number> either(boost::tribool condition, const ball<Number>& x, const ball<Number>& y);
/// Where the condition is indeterminate, either branch may be the truth, and a program may have taken either.
tracked either(boost::tribool condition, const tracked& x, const tracked& y);
rounded either(boost::tribool condition, const rounded& x, const rounded& y);

/// The larger number; NaN if either is NaN.
value larger(const value& x, const value& y);
enclosure larger(const enclosure& x, const enclosure& y);
template <class Number>
ball<Number> larger(const ball<Number>& x, const ball<Number>& y);
tracked larger(const tracked& x, const tracked& y);
rounded larger(const rounded& x, const rounded& y);

/// The largest integer that is at most x; NaN stays NaN.
value floor(const value& x);
/// An open end that is an integer does not count: if x is below 3, and not 3, the floor is at most 2.
enclosure floor(const enclosure& x);
template <class Number>
ball<Number> floor(const ball<Number>& x);
tracked floor(const tracked& x);
rounded floor(const rounded& x);

/// For adjoints that split cotangents by sign. Enclosures have no such function: the sign may be unknown.
bool is_positive(const value& x);
bool is_positive(const rounded& x);

}  // namespace assay::reference
