//! Static analysis of expressions: constant conditions and implications. Only certain results are reported.

use std::borrow::Cow;

use serde_json::Value;

use super::compare::{equal, truth_of_word};
use super::eval::Evaluator;
use super::functions::Function;
use super::tree::{Node, Relation};
use crate::text::decimal::looks_like;
use crate::text::names::Names;
use crate::text::path::Path;

/// A comparison of a path with a literal.
#[derive(Clone, Copy)]
struct Atom<'n>(&'n Path, Relation, &'n Value);

/// Returns the paths that are compared with literals, and the literals.
pub(super) fn comparisons(node: &Node) -> Vec<(Path, Value)> {
    let mut found = Vec::new();
    node.each(&mut |it| found.extend(atom(it).map(|Atom(path, _, value)| (path.clone(), value.clone()))));
    found
}

fn atom(node: &Node) -> Option<Atom<'_>> {
    let Node::Compare(relation, sides) = node else { return None };
    let mirrored = match relation {
        Relation::Equal | Relation::NotEqual => *relation,
        Relation::Less => Relation::Greater,
        Relation::LessOrEqual => Relation::GreaterOrEqual,
        Relation::Greater => Relation::Less,
        Relation::GreaterOrEqual => Relation::LessOrEqual,
        Relation::Contains | Relation::StartsWith | Relation::EndsWith | Relation::Matches => return None,
    };
    match &**sides {
        (Node::Path(path), Node::Literal(value)) => Some(Atom(path, *relation, value)),
        (Node::Literal(value), Node::Path(path)) => Some(Atom(path, mirrored, value)),
        _ => None,
    }
}

/// Returns the truth value that a condition always has, if any.
pub(super) fn constant(node: &Node) -> Option<bool> {
    if let Some(known) = fixed(node) {
        return Some(known);
    }
    let Node::Every(parts) = node else { return None };
    // The conjunction is false whatever the other parts are, even if one of them fails.
    let is_never = parts.iter().any(|it| constant(it) == Some(false));
    let atoms: Vec<Atom<'_>> = parts.iter().filter_map(atom).collect();
    let is_contradiction = atoms.iter().enumerate().any(|(at, it)| atoms.iter().skip(at + 1).any(|other| exclude(*it, *other)));
    (is_never || is_contradiction).then_some(false)
}

/// Returns the truth value of a part that does not depend on names and cannot fail.
fn fixed(node: &Node) -> Option<bool> {
    let mut is_constant = true;
    node.each(&mut |it| {
        is_constant &= !matches!(it, Node::Path(_)) && !matches!(it, Node::Call(Function::Date, given) if given.is_empty());
    });
    if is_constant {
        return Some(Evaluator::new(&Nothing).holds(node).unwrap_or(false));
    }
    let (parts, decisive) = match node {
        Node::Every(parts) => (parts, false),
        Node::Some(parts) => (parts, true),
        Node::Literal(_)
        | Node::Path(_)
        | Node::List(_)
        | Node::Not(_)
        | Node::Minus(_)
        | Node::Calculate(..)
        | Node::Compare(..)
        | Node::Matches(..)
        | Node::IsSet(_)
        | Node::IsEmpty(_)
        | Node::Choose(_)
        | Node::Call(..) => return None,
    };
    parts.first().and_then(fixed).filter(|it| *it == decisive)
}

/// Returns whether the second condition is true whenever the first one is.
pub(super) fn implies(first: &Node, second: &Node) -> bool {
    if first == second || fixed(second) == Some(true) {
        return true;
    }
    match (first, second) {
        (_, Node::Every(parts)) => parts.iter().all(|it| implies(first, it)),
        (Node::Some(parts), _) => parts.iter().all(|it| implies(it, second)),
        (Node::Every(parts), _) => parts.iter().any(|it| implies(it, second)),
        // Only the first part is certain to be evaluated: a part before another one may fail.
        (_, Node::Some(parts)) => parts.first().is_some_and(|it| implies(first, it)),
        _ => atom(first).is_some_and(|it| follows(it, second)),
    }
}

fn follows(one: Atom<'_>, node: &Node) -> bool {
    let Atom(path, relation, value) = one;
    let of_path = |it: &Node| matches!(it, Node::Path(other) if other == path);
    if let Node::IsSet(part) = node {
        return of_path(part) && relation != Relation::NotEqual && !value.is_null();
    }
    if let Node::Compare(Relation::Contains, sides) = node
        && let Node::Literal(Value::Array(items)) = &sides.0
    {
        return of_path(&sides.1) && items.iter().any(|it| same(one, Atom(path, Relation::Equal, it)));
    }
    atom(node).is_some_and(|other| other.0 == path && same(one, other))
}

/// Returns whether one comparison of a path implies another one of the same path.
fn same(Atom(_, first, a): Atom<'_>, Atom(_, second, b): Atom<'_>) -> bool {
    if first == second && a == b {
        return true;
    }
    if let (Some(inner), Some(number)) = (range(first, a), exact(b)) {
        return match range(second, b) {
            Some(outer) => outer.holds(inner),
            // The second relation is `!=`: its number must lie outside.
            None => !inner.has(number),
        };
    }
    first == Relation::Equal && second == Relation::NotEqual && apart(a, b)
}

/// Returns whether two comparisons are never true together.
fn exclude(one: Atom<'_>, other: Atom<'_>) -> bool {
    let (Atom(path, first, a), Atom(same, second, b)) = (one, other);
    if path != same {
        return false;
    }
    if let (Some(one), Some(other)) = (range(first, a), range(second, b)) {
        return !one.meets(other);
    }
    match (first, second) {
        (Relation::Equal, Relation::Equal) => apart(a, b),
        (Relation::Equal, Relation::NotEqual) | (Relation::NotEqual, Relation::Equal) => a == b,
        _ => false,
    }
}

/// Returns whether no value is loosely equal to both.
fn apart(a: &Value, b: &Value) -> bool {
    let word = |it: &Value| it.as_str().is_some_and(|it| truth_of_word(it).is_none() && looks_like(it).is_none());
    let number = |it: &Value| exact(it).is_some();
    (word(a) || number(a)) && (word(b) || number(b)) && !equal(Some(a), Some(b), false)
}

/// Returns a number that a double represents exactly.
fn exact(value: &Value) -> Option<f64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.is_number() { value.as_f64().filter(|it| it.abs() < EXACT) } else { None }
}

/// The numbers between two bounds.
#[derive(Clone, Copy)]
struct Range {
    low: f64,
    high: f64,
    /// Whether the lower bound belongs to the range.
    has_low: bool,
    /// Whether the upper bound belongs to the range.
    has_high: bool,
}

fn range(relation: Relation, value: &Value) -> Option<Range> {
    let number = exact(value)?;
    let all = Range { low: f64::NEG_INFINITY, high: f64::INFINITY, has_low: false, has_high: false };
    Some(match relation {
        Relation::Equal => Range { low: number, high: number, has_low: true, has_high: true },
        Relation::Less => Range { high: number, ..all },
        Relation::LessOrEqual => Range { high: number, has_high: true, ..all },
        Relation::Greater => Range { low: number, ..all },
        Relation::GreaterOrEqual => Range { low: number, has_low: true, ..all },
        Relation::NotEqual | Relation::Contains | Relation::StartsWith | Relation::EndsWith | Relation::Matches => return None,
    })
}

impl Range {
    /// Returns whether the range contains all of `other`.
    fn holds(self, other: Range) -> bool {
        let low = self.low < other.low || self.low == other.low && (self.has_low || !other.has_low);
        let high = self.high > other.high || self.high == other.high && (self.has_high || !other.has_high);
        low && high
    }

    fn has(self, number: f64) -> bool {
        self.holds(Range { low: number, high: number, has_low: true, has_high: true })
    }

    /// Returns whether the ranges share a number.
    fn meets(self, other: Range) -> bool {
        let before = |a: Range, b: Range| a.low < b.high || a.low == b.high && a.has_low && b.has_high;
        before(self, other) && before(other, self)
    }
}

/// Resolves no names.
struct Nothing;

impl Names for Nothing {
    fn value(&self, _path: &Path) -> Option<Cow<'_, Value>> {
        None
    }

    fn said(&self) -> &str {
        ""
    }

    fn now(&self) -> i64 {
        0
    }

    fn locale(&self) -> &str {
        ""
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::text::expr::Expr;
    use crate::text::names::Fixed;

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
            assert_eq!(condition(source).constant(), expected, "{source}");
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
    fn what_is_implied_and_constant_is_true_of_all_values() {
        let sides = ["5", "5.0", "'5'", "4", "'a'", "'b'", "'yes'", "true", "null", "[]", "'007'", "7", "-1"];
        let relations = ["==", "!=", "<", "<=", ">", ">="];
        let atoms: Vec<String> = sides.iter().flat_map(|it| relations.map(|relation| format!("session.x {relation} {it}"))).collect();
        let compiled: Vec<Expr> = atoms.iter().map(|it| condition(it)).collect();
        let worlds: Vec<Fixed> =
            [json!(5), json!(4.5), json!("5"), json!("a"), json!("b"), json!("Yes"), json!(true), json!(null), json!([]), json!("7")]
                .into_iter()
                .map(|it| Fixed::new(json!({"session": {"x": it}})))
                .chain([Fixed::new(json!({"session": {}}))])
                .collect();
        for first in &compiled {
            for second in &compiled {
                if first.implies(second) {
                    for world in &worlds {
                        assert!(first.holds(world) != Ok(true) || second.holds(world) == Ok(true), "{first:?} => {second:?} in {world:?}");
                    }
                }
            }
        }
        for first in &atoms {
            for second in &atoms {
                let both = condition(&format!("{first} && {second}"));
                if both.constant() == Some(false) {
                    assert!(worlds.iter().all(|it| both.holds(it) != Ok(true)), "{first} && {second}");
                }
            }
        }
    }

    #[test]
    fn reads_and_comparisons_are_listed() {
        let reads = |source: &str| condition(source).reads().iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(
            reads("b.c[0] == 1 && len(a) > 2 || -x + y * [z] == (u ? v : w) || b.c[0] is set"),
            ["a", "b.c[0]", "u", "v", "w", "x", "y", "z"]
        );
        assert_eq!(reads("var.a.b == some words"), ["a.b"]);
        assert!(reads("contains:a").is_empty() && reads("default").is_empty());
        let comparisons = condition("a == 1 && !(2 < b) || c contains 'x' && d != n").comparisons();
        let comparisons: Vec<_> = comparisons.iter().map(|it| (it.0.to_string(), it.1.clone())).collect();
        assert_eq!(comparisons, [("a".to_owned(), json!(1)), ("b".to_owned(), json!(2))]);
    }
}
