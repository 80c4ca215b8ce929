//! Static analysis of expressions: constant conditions and implications. Only certain results are reported.

use std::borrow::Cow;

use serde_json::Value;

use super::eval::Evaluator;
use super::functions::Function;
use super::tree::{ExprNode, Relation};
use crate::names::NameResolver;
use crate::value::{Comparison, EXPRESSION};
use crate::variable_path::VariablePath;

/// A comparison of a path with a literal.
#[derive(Clone, Copy)]
struct Atom<'n>(&'n VariablePath, Comparison, &'n Value);

/// Returns the paths that are compared with literals, and the literals.
pub(super) fn comparisons(node: &ExprNode) -> Vec<(VariablePath, Value)> {
    let mut found = Vec::new();
    node.for_each(&mut |node| found.extend(as_atom(node).map(|Atom(path, _, value)| (path.clone(), value.clone()))));
    found
}

fn as_atom(node: &ExprNode) -> Option<Atom<'_>> {
    let ExprNode::Compare(Relation::Comparison(relation), sides) = node else { return None };
    let mirrored = match relation {
        Comparison::Equal | Comparison::NotEqual => *relation,
        Comparison::Less => Comparison::Greater,
        Comparison::LessOrEqual => Comparison::GreaterOrEqual,
        Comparison::Greater => Comparison::Less,
        Comparison::GreaterOrEqual => Comparison::LessOrEqual,
    };
    match &**sides {
        (ExprNode::Path(path), ExprNode::Literal(value)) => Some(Atom(path, *relation, value)),
        (ExprNode::Literal(value), ExprNode::Path(path)) => Some(Atom(path, mirrored, value)),
        _ => None,
    }
}

/// Returns the truth value that a condition always has, if any.
pub(super) fn constant_value(node: &ExprNode) -> Option<bool> {
    if let Some(known) = constant_without_names(node) {
        return Some(known);
    }
    let ExprNode::And(parts) = node else { return None };
    // The conjunction is false whatever the other parts are, even if one of them fails.
    let is_never = parts.iter().any(|part| constant_value(part) == Some(false));
    let atoms: Vec<Atom<'_>> = parts.iter().filter_map(as_atom).collect();
    let is_contradiction = atoms.iter().enumerate().any(|(at, atom)| atoms.iter().skip(at + 1).any(|other| are_exclusive(*atom, *other)));
    (is_never || is_contradiction).then_some(false)
}

/// Returns whether two conditions are never true together.
pub(super) fn are_exclusive_nodes(one: &ExprNode, other: &ExprNode) -> bool {
    let parts = |node: &ExprNode| if let ExprNode::And(parts) = node { parts.clone() } else { vec![node.clone()] };
    constant_value(&ExprNode::And([parts(one), parts(other)].concat())) == Some(false)
}

/// Returns the truth value of a part that does not depend on names and cannot fail.
fn constant_without_names(node: &ExprNode) -> Option<bool> {
    let mut is_constant = true;
    node.for_each(&mut |node| {
        is_constant &= !matches!(node, ExprNode::Path(_)) && !matches!(node, ExprNode::Call(Function::Date, given) if given.is_empty());
    });
    if is_constant {
        return Some(Evaluator::new(&NoNames).is_true(node).unwrap_or(false));
    }
    let (parts, decisive) = match node {
        ExprNode::And(parts) => (parts, false),
        ExprNode::Or(parts) => (parts, true),
        ExprNode::Literal(_)
        | ExprNode::Path(_)
        | ExprNode::List(_)
        | ExprNode::Not(_)
        | ExprNode::Negate(_)
        | ExprNode::Calculate(..)
        | ExprNode::Compare(..)
        | ExprNode::Matches(..)
        | ExprNode::IsSet(_)
        | ExprNode::IsEmpty(_)
        | ExprNode::Conditional(_)
        | ExprNode::Call(..) => return None,
    };
    parts.first().and_then(constant_without_names).filter(|it| *it == decisive)
}

/// Returns whether the second condition is true whenever the first one is.
pub(super) fn implies(first: &ExprNode, second: &ExprNode) -> bool {
    if first == second || constant_without_names(second) == Some(true) {
        return true;
    }
    match (first, second) {
        (_, ExprNode::And(parts)) => parts.iter().all(|it| implies(first, it)),
        (ExprNode::Or(parts), _) => parts.iter().all(|it| implies(it, second)),
        (ExprNode::And(parts), _) => parts.iter().any(|it| implies(it, second)),
        // Only the first part is certain to be evaluated: a part before another one may fail.
        (_, ExprNode::Or(parts)) => parts.first().is_some_and(|it| implies(first, it)),
        _ => as_atom(first).is_some_and(|it| atom_implies(it, second)),
    }
}

fn atom_implies(one: Atom<'_>, node: &ExprNode) -> bool {
    let Atom(path, relation, value) = one;
    let of_path = |it: &ExprNode| matches!(it, ExprNode::Path(other) if other == path);
    if let ExprNode::IsSet(part) = node {
        return of_path(part) && relation != Comparison::NotEqual && !value.is_null();
    }
    if let ExprNode::Compare(Relation::Contains, sides) = node
        && let ExprNode::Literal(Value::Array(items)) = &sides.0
    {
        return of_path(&sides.1) && items.iter().any(|item| comparison_implies(one, Atom(path, Comparison::Equal, item)));
    }
    as_atom(node).is_some_and(|other| other.0 == path && comparison_implies(one, other))
}

/// Returns whether one comparison of a path implies another one of the same path.
fn comparison_implies(Atom(_, first, a): Atom<'_>, Atom(_, second, b): Atom<'_>) -> bool {
    if first == second && a == b {
        return true;
    }
    if let (Some(inner), Some(number)) = (number_range(first, a), exact_number(b)) {
        return match number_range(second, b) {
            Some(outer) => outer.contains_range(inner),
            // The second relation is `!=`: its number must lie outside.
            None => !inner.contains_number(number),
        };
    }
    first == Comparison::Equal && second == Comparison::NotEqual && are_never_equal(a, b)
}

/// Returns whether two comparisons are never true together.
fn are_exclusive(one: Atom<'_>, other: Atom<'_>) -> bool {
    let (Atom(path, first, a), Atom(same, second, b)) = (one, other);
    if path != same {
        return false;
    }
    if let (Some(one), Some(other)) = (number_range(first, a), number_range(second, b)) {
        return !one.overlaps(other);
    }
    match (first, second) {
        (Comparison::Equal, Comparison::Equal) => are_never_equal(a, b),
        (Comparison::Equal, Comparison::NotEqual) | (Comparison::NotEqual, Comparison::Equal) => a == b,
        _ => false,
    }
}

/// Returns whether no value is loosely equal to both.
fn are_never_equal(a: &Value, b: &Value) -> bool {
    let word =
        |value: &Value| value.as_str().is_some_and(|text| EXPRESSION.parse_word(text).is_none() && EXPRESSION.number_of(value).is_none());
    let number = |value: &Value| exact_number(value).is_some();
    (word(a) || number(a)) && (word(b) || number(b)) && !EXPRESSION.are_equal(a, b)
}

/// Returns a number that a double represents exactly.
fn exact_number(value: &Value) -> Option<f64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.is_number() { value.as_f64().filter(|number| number.abs() < EXACT) } else { None }
}

/// The numbers between two bounds.
#[derive(Clone, Copy)]
struct NumberRange {
    low: f64,
    high: f64,
    /// Whether the lower bound belongs to the range.
    includes_low: bool,
    /// Whether the upper bound belongs to the range.
    includes_high: bool,
}

fn number_range(relation: Comparison, value: &Value) -> Option<NumberRange> {
    let number = exact_number(value)?;
    let all = NumberRange { low: f64::NEG_INFINITY, high: f64::INFINITY, includes_low: false, includes_high: false };
    Some(match relation {
        Comparison::Equal => NumberRange { low: number, high: number, includes_low: true, includes_high: true },
        Comparison::Less => NumberRange { high: number, ..all },
        Comparison::LessOrEqual => NumberRange { high: number, includes_high: true, ..all },
        Comparison::Greater => NumberRange { low: number, ..all },
        Comparison::GreaterOrEqual => NumberRange { low: number, includes_low: true, ..all },
        Comparison::NotEqual => return None,
    })
}

impl NumberRange {
    /// Returns whether the range contains all of `other`.
    fn contains_range(self, other: NumberRange) -> bool {
        let low = self.low < other.low || self.low == other.low && (self.includes_low || !other.includes_low);
        let high = self.high > other.high || self.high == other.high && (self.includes_high || !other.includes_high);
        low && high
    }

    fn contains_number(self, number: f64) -> bool {
        self.contains_range(NumberRange { low: number, high: number, includes_low: true, includes_high: true })
    }

    /// Returns whether the ranges share a number.
    fn overlaps(self, other: NumberRange) -> bool {
        let before = |a: NumberRange, b: NumberRange| a.low < b.high || a.low == b.high && a.includes_low && b.includes_high;
        before(self, other) && before(other, self)
    }
}

/// Resolves no names.
struct NoNames;

impl NameResolver for NoNames {
    fn value(&self, _path: &VariablePath) -> Option<Cow<'_, Value>> {
        None
    }

    fn user_message(&self) -> &str {
        ""
    }

    fn now(&self) -> i64 {
        0
    }

    fn locale(&self) -> &str {
        ""
    }

    fn time_zone(&self) -> &str {
        crate::time_zone::UTC
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::expr::Expr;
    use crate::names::FixedNames;

    fn condition(source: &str) -> Expr {
        Expr::parse(source).unwrap_or_else(|it| panic!("{source}: {}", it.message))
    }

    #[test]
    fn constant_conditions_are_found() {
        for (source, expected) in [
            ("true", Some(true)),
            ("default", Some(true)),
            ("false", Some(false)),
            ("1 + 1 == 2", Some(true)),
            ("'a' == 'b'", Some(false)),
            ("1 / 0", Some(false)),
            ("true || n", Some(true)),
            ("n || true", None),
            ("false && n", Some(false)),
            ("n > 1 && false", Some(false)),
            ("!(n > 1 && false)", None),
            ("n == 1", None),
            ("date() == '2026-01-01'", None),
            ("date('2026-01-01') == '2026-01-01'", Some(true)),
            ("n == 1 && n == 2", Some(false)),
            ("n == 1 && n == '1'", None),
            ("n == 1 && n == 'a'", Some(false)),
            ("n == 'yes' && n == 'true'", None),
            ("n == 'a' && n == 'b'", Some(false)),
            ("n == 'a' && n != 'a'", Some(false)),
            ("n < 5 && 5 < n", Some(false)),
            ("n < 5 && n >= 5", Some(false)),
            ("n <= 5 && n >= 5", None),
            ("n < 5 && m > 5", None),
            ("contains:x", None),
        ] {
            assert_eq!(condition(source).constant_value(), expected, "{source}");
        }
    }

    #[test]
    fn implications_are_certain() {
        for (first, second) in [
            ("n + 1 == m", "n + 1 == m"),
            ("n == 5", "true"),
            ("n == 5", "5 == n"),
            ("n < 5", "n < 10"),
            ("n < 5", "n <= 5"),
            ("5 > n", "n < 5"),
            ("n == 5", "n <= 5"),
            ("n == 5", "n != 6"),
            ("n < 5", "n != 5"),
            ("n >= 5", "n > 4.5"),
            ("n == 'a'", "n != 'b'"),
            ("n == 'a'", "n is set"),
            ("n < 5", "n is set"),
            ("n == 'a'", "n in ['b', 'a']"),
            ("n == 5 && m", "n > 2"),
            ("n == 5 && m == 2", "m > 1 && n > 1"),
            ("n == 5 || n == 6", "n > 4"),
            ("n < 5", "n < 6 || m"),
            ("contains:big refund", "contains:refund"),
            ("var.n == a b", "var.n == a b"),
            ("contains:x", "default"),
        ] {
            assert!(condition(first).implies(&condition(second)), "{first} => {second}");
        }
        for (first, second) in [
            ("n < 10", "n < 5"),
            ("n <= 5", "n < 5"),
            ("n < 5", "m < 10"),
            ("n < 5", "m < 3 || n < 10"),
            ("n != 5", "n is set"),
            ("n == null", "n is set"),
            ("n == 'yes'", "n != 'true'"),
            ("n == '1'", "n != '1.0'"),
            ("n == 5 || m", "n > 4"),
            ("n == 'a'", "n == 'A'"),
            ("n != 5", "n != 6"),
            ("n < 9007199254740993", "n < 9007199254740994"),
            ("n == 5", "contains:x"),
            ("contains:refund", "contains:big refund"),
        ] {
            assert!(!condition(first).implies(&condition(second)), "{first} => {second}");
        }
    }

    #[test]
    fn implications_and_constants_are_true_for_all_values() {
        let sides = ["5", "5.0", "'5'", "4", "'a'", "'b'", "'yes'", "true", "null", "[]", "'007'", "7", "-1"];
        let relations = ["==", "!=", "<", "<=", ">", ">="];
        let atoms: Vec<String> = sides.iter().flat_map(|side| relations.map(|relation| format!("session.x {relation} {side}"))).collect();
        let compiled: Vec<Expr> = atoms.iter().map(|it| condition(it)).collect();
        let worlds: Vec<FixedNames> =
            [json!(5), json!(4.5), json!("5"), json!("a"), json!("b"), json!("Yes"), json!(true), json!(null), json!([]), json!("7")]
                .into_iter()
                .map(|value| FixedNames::new(json!({"session": {"x": value}})))
                .chain([FixedNames::new(json!({"session": {}}))])
                .collect();
        for first in &compiled {
            for second in &compiled {
                if first.implies(second) {
                    for world in &worlds {
                        assert!(
                            first.is_true(world) != Ok(true) || second.is_true(world) == Ok(true),
                            "{first:?} => {second:?} in {world:?}"
                        );
                    }
                }
            }
        }
        for first in &atoms {
            for second in &atoms {
                let both = condition(&format!("{first} && {second}"));
                if both.constant_value() == Some(false) {
                    assert!(worlds.iter().all(|world| both.is_true(world) != Ok(true)), "{first} && {second}");
                }
            }
        }
    }

    #[test]
    fn paths_and_comparisons_are_listed() {
        let reads = |source: &str| condition(source).paths().iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(
            reads("b.c[0] == 1 && len(a) > 2 || -x + y * [z] == (u ? v : w) || b.c[0] is set"),
            ["a", "b.c[0]", "u", "v", "w", "x", "y", "z"]
        );
        assert_eq!(reads("var.a.b == some words"), ["a.b"]);
        assert!(reads("contains:a").is_empty() && reads("default").is_empty());
        let comparisons = condition("a == 1 && !(2 < b) || c contains 'x' && d != n").comparisons();
        let comparisons: Vec<_> = comparisons.iter().map(|(path, value)| (path.to_string(), value.clone())).collect();
        assert_eq!(comparisons, [("a".to_owned(), json!(1)), ("b".to_owned(), json!(2))]);
    }
}
