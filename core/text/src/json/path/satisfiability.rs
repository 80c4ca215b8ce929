//! Static analysis of paths: decides whether a path can never match or always matches, without a document.

use serde_json::Value;

use super::operator::PathOperator;
use super::tree::{CompiledPath, PathFilter, PathOperand, PathSegment};
use crate::value::{Comparison, ROW_PATH};

/// What is known about a member of every document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnownType {
    /// The member may exist and may have any type.
    Any,
    /// The member never exists.
    Missing,
    /// An object; its members are looked up separately.
    Object,
    /// True or false.
    Boolean,
    /// A string or null.
    Text,
    /// A list.
    List,
}

/// Whether a path matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Satisfiability {
    /// For no document.
    Never,
    /// For every document.
    Always,
    /// Depends on the document.
    Sometimes,
}

/// Returns whether a path can match, given what is known about the members that it names.
pub(super) fn check_satisfiability(path: &CompiledPath, known: impl FnMut(&[&str]) -> KnownType) -> Satisfiability {
    SatisfiabilityChecker { known }.check_path(path, Some(&Vec::new()))
}

/// The location of a value in the document; `None` when it is not known.
type MemberPath<'p> = Option<Vec<&'p str>>;

struct SatisfiabilityChecker<K> {
    known: K,
}

/// What is known about one side of a comparison.
enum KnownOperand<'v> {
    Known(KnownType),
    Literal(&'v Value),
}

impl<K: FnMut(&[&str]) -> KnownType> SatisfiabilityChecker<K> {
    /// Decides whether the path finds something truthy; `current` is the location of `@`.
    fn check_path<'p>(&mut self, path: &'p CompiledPath, current: Option<&Vec<&'p str>>) -> Satisfiability {
        let mut place: MemberPath<'p> = if path.from_document { Some(Vec::new()) } else { current.cloned() };
        let mut verdict = if place.as_ref().is_some_and(Vec::is_empty) { Satisfiability::Always } else { Satisfiability::Sometimes };
        for segment in &path.segments {
            match segment {
                PathSegment::Filter(filter) => {
                    // A filter tests the elements of a list, but an object itself.
                    let tested = place.take().filter(|location| location.is_empty() || (self.known)(location) == KnownType::Object);
                    match self.check_filter(filter, tested.as_ref()) {
                        Satisfiability::Never => return Satisfiability::Never,
                        Satisfiability::Always => {}
                        Satisfiability::Sometimes => verdict = Satisfiability::Sometimes,
                    }
                    place = tested;
                }
                PathSegment::Name(_) | PathSegment::Names(_) | PathSegment::Select(_) => {
                    verdict = Satisfiability::Sometimes;
                    place = self.step_into(place, segment);
                    if place.as_ref().is_some_and(|location| (self.known)(location) == KnownType::Missing) {
                        return Satisfiability::Never;
                    }
                }
            }
        }
        verdict
    }

    fn step_into<'p>(&mut self, place: MemberPath<'p>, segment: &'p PathSegment) -> MemberPath<'p> {
        let PathSegment::Name(name) = segment else { return None };
        let mut place = place?;
        place.push(name);
        Some(place)
    }

    fn check_filter<'p>(&mut self, filter: &'p PathFilter, current: Option<&Vec<&'p str>>) -> Satisfiability {
        match filter {
            PathFilter::Any(filters) => {
                let verdicts: Vec<Satisfiability> = filters.iter().map(|it| self.check_filter(it, current)).collect();
                combine(&verdicts, Satisfiability::Always, Satisfiability::Never)
            }
            PathFilter::All(filters) => {
                let verdicts: Vec<Satisfiability> = filters.iter().map(|it| self.check_filter(it, current)).collect();
                combine(&verdicts, Satisfiability::Never, Satisfiability::Always)
            }
            PathFilter::Not(inner) => match self.check_filter(inner, current) {
                Satisfiability::Never => Satisfiability::Always,
                Satisfiability::Always => Satisfiability::Never,
                Satisfiability::Sometimes => Satisfiability::Sometimes,
            },
            PathFilter::Exists(path) => self.check_path(path, current),
            PathFilter::Compare(a, operator, b) => {
                let (a, b) = (self.resolve_operand(a, current), self.resolve_operand(b, current));
                check_comparison(&a, *operator, &b)
            }
            PathFilter::Matches(operand, _) => match self.resolve_operand(operand, current) {
                KnownOperand::Known(KnownType::Missing | KnownType::Boolean | KnownType::List | KnownType::Object) => Satisfiability::Never,
                KnownOperand::Known(KnownType::Any | KnownType::Text) | KnownOperand::Literal(_) => Satisfiability::Sometimes,
            },
        }
    }

    fn resolve_operand<'p>(&mut self, operand: &'p PathOperand, current: Option<&Vec<&'p str>>) -> KnownOperand<'p> {
        let path = match operand {
            PathOperand::Literal(value) => return KnownOperand::Literal(value),
            PathOperand::Path(path) => path,
            PathOperand::Length(_) | PathOperand::Count(_) | PathOperand::Only(_) => return KnownOperand::Known(KnownType::Any),
        };
        let mut place: MemberPath<'p> = if path.from_document { Some(Vec::new()) } else { current.cloned() };
        for segment in &path.segments {
            place = self.step_into(place, segment);
            if place.as_ref().is_some_and(|location| (self.known)(location) == KnownType::Missing) {
                return KnownOperand::Known(KnownType::Missing);
            }
        }
        KnownOperand::Known(
            place.map_or(KnownType::Any, |location| if location.is_empty() { KnownType::Object } else { (self.known)(&location) }),
        )
    }
}

fn combine(verdicts: &[Satisfiability], one: Satisfiability, all: Satisfiability) -> Satisfiability {
    if verdicts.contains(&one) {
        one
    } else if verdicts.iter().all(|it| *it == all) {
        all
    } else {
        Satisfiability::Sometimes
    }
}

fn check_comparison(a: &KnownOperand<'_>, operator: PathOperator, b: &KnownOperand<'_>) -> Satisfiability {
    match (a, b) {
        (KnownOperand::Literal(a), KnownOperand::Literal(b)) => always_or_never(operator.is_satisfied(&ROW_PATH, Some(a), Some(b))),
        (KnownOperand::Known(KnownType::Missing), KnownOperand::Literal(b)) => {
            always_or_never(operator.is_satisfied(&ROW_PATH, None, Some(b)))
        }
        (KnownOperand::Known(a), KnownOperand::Literal(b)) => check_literal(*a, operator, b),
        (KnownOperand::Literal(_) | KnownOperand::Known(_), KnownOperand::Known(_)) => Satisfiability::Sometimes,
    }
}

fn always_or_never(holds: bool) -> Satisfiability {
    if holds { Satisfiability::Always } else { Satisfiability::Never }
}

fn check_literal(a: KnownType, operator: PathOperator, b: &Value) -> Satisfiability {
    let differ = match a {
        KnownType::Boolean => !b.is_boolean(),
        KnownType::Text => b.is_boolean() || b.is_array() || b.is_object(),
        KnownType::Object => !b.is_object(),
        KnownType::List => !b.is_array(),
        KnownType::Any | KnownType::Missing => false,
    };
    match operator {
        PathOperator::Comparison(Comparison::Equal) if differ => Satisfiability::Never,
        PathOperator::Comparison(Comparison::NotEqual) if differ => Satisfiability::Always,
        // Only numbers have an order.
        PathOperator::Comparison(Comparison::Less | Comparison::LessOrEqual | Comparison::Greater | Comparison::GreaterOrEqual)
            if a != KnownType::Any || !b.is_number() =>
        {
            Satisfiability::Never
        }
        PathOperator::In | PathOperator::AnyOf if !b.is_array() => Satisfiability::Never,
        PathOperator::NotIn if !b.is_array() => Satisfiability::Always,
        PathOperator::Size if b.as_u64().is_none() => Satisfiability::Never,
        PathOperator::Empty if !b.is_boolean() => Satisfiability::Never,
        PathOperator::Comparison(_)
        | PathOperator::In
        | PathOperator::NotIn
        | PathOperator::SubsetOf
        | PathOperator::AnyOf
        | PathOperator::NoneOf
        | PathOperator::Size
        | PathOperator::Empty
        | PathOperator::Contains => Satisfiability::Sometimes,
    }
}

#[cfg(test)]
mod tests {
    use super::{KnownType, Satisfiability};
    use crate::json::path::JsonPath;

    fn verdict(path: &str) -> Satisfiability {
        let known = |place: &[&str]| match place {
            ["context"] => KnownType::Object,
            ["schemaComplete"] => KnownType::Boolean,
            ["state"] => KnownType::Text,
            ["missing"] => KnownType::List,
            ["context", "agent", ..] | ["confidence", ..] => KnownType::Missing,
            _ => KnownType::Any,
        };
        JsonPath::compile(path).unwrap().satisfiability(known)
    }

    #[test]
    fn contradictions_are_found() {
        for path in [
            "$.confidence",
            "$.context.agent.finalAnswer",
            "$[?(@.context.agent.finalAnswer != null)]",
            "$.context[?(@.agent.finalAnswer)]",
            "$.confidence >= 0.6",
            "$[?(@.schemaComplete == 'true')]",
            "$.schemaComplete == false && $.x > '5'",
            "$[?(!(@.confidence == null))]",
            "$.a.length()",
            "$.state > 3",
            "$.x in 'A'",
            "$[?(1 == 2)]",
            "$[?(@.confidence > 1 || @.schemaComplete =~ /t/)]",
        ] {
            assert_eq!(verdict(path), Satisfiability::Never, "{path}");
        }
    }

    #[test]
    fn tautologies_are_found() {
        for path in ["$", "$[?(@.context.agent.finalAnswer == null)]", "$.state != true", "$[?(@.state == 'A' || !@.confidence)]"] {
            assert_eq!(verdict(path), Satisfiability::Always, "{path}");
        }
    }

    #[test]
    fn other_paths_depend_on_the_document() {
        for path in [
            "$.schemaComplete",
            "$.schemaComplete == false",
            "$.state == 'IDLE'",
            "$.state == 10",
            "$.state == null",
            "$[?(@.confidence == 1 || @.payload.confidence == 1)]",
            "$.context.a[?(@.agent.x == 1)]",
            "$.x.length() > 3",
            "$.x in ['A']",
            "$..agent",
            "$['state','intent']",
            "$.missing[?(@.agent)]",
            "$[?(5 > @.x)]",
            "$.missing size 2",
        ] {
            assert_eq!(verdict(path), Satisfiability::Sometimes, "{path}");
        }
    }
}
