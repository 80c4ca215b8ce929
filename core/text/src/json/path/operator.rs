//! The operators of filters.

use crate::value::Comparison;

/// An operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathOperator {
    /// One that other languages have, too.
    Comparison(Comparison),
    /// `in`
    In,
    /// `nin`
    NotIn,
    /// `subsetof`
    SubsetOf,
    /// `anyof`
    AnyOf,
    /// `noneof`
    NoneOf,
    /// `size`
    Size,
    /// `empty`
    Empty,
    /// `contains`
    Contains,
}
