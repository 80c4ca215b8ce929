//! Static analysis of paths: decides whether a path can never match or always matches, without a document.

use serde_json::Value;

use super::JsonPath;
use super::filter::{Filter, Operand, Operator};
use super::query::{Path, Segment};

/// What is known about a member of every document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// The member may exist and may have any type.
    Open,
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
pub enum Verdict {
    /// For no document.
    Never,
    /// For every document.
    Always,
    /// Depends on the document.
    Open,
}

impl JsonPath {
    /// Returns whether the path can match, given what is known about the members that it names.
    pub fn verdict(&self, known: impl FnMut(&[&str]) -> Known) -> Verdict {
        Judge { known }.path(&self.path, Some(&Vec::new()))
    }
}

/// The location of a value in the document; `None` when it is not known.
type Place<'p> = Option<Vec<&'p str>>;

struct Judge<K> {
    known: K,
}

/// What is known about one side of a comparison.
enum Side<'v> {
    Known(Known),
    Literal(&'v Value),
}

impl<K: FnMut(&[&str]) -> Known> Judge<K> {
    /// Decides whether the path finds something truthy; `current` is the location of `@`.
    fn path<'p>(&mut self, path: &'p Path, current: Option<&Vec<&'p str>>) -> Verdict {
        let mut place: Place<'p> = if path.from_document { Some(Vec::new()) } else { current.cloned() };
        let mut verdict = if place.as_ref().is_some_and(Vec::is_empty) { Verdict::Always } else { Verdict::Open };
        for segment in &path.segments {
            match segment {
                Segment::Length => return Verdict::Never,
                Segment::Filter(filter) => {
                    // A filter tests the elements of a list, but an object itself.
                    let tested = place.take().filter(|it| it.is_empty() || (self.known)(it) == Known::Object);
                    match self.filter(filter, tested.as_ref()) {
                        Verdict::Never => return Verdict::Never,
                        Verdict::Always => {}
                        Verdict::Open => verdict = Verdict::Open,
                    }
                    place = tested;
                }
                Segment::Name(_) | Segment::Names(_) | Segment::Select(_) => {
                    verdict = Verdict::Open;
                    place = self.step(place, segment);
                    if place.as_ref().is_some_and(|it| (self.known)(it) == Known::Missing) {
                        return Verdict::Never;
                    }
                }
            }
        }
        verdict
    }

    fn step<'p>(&mut self, place: Place<'p>, segment: &'p Segment) -> Place<'p> {
        let Segment::Name(name) = segment else { return None };
        let mut place = place?;
        place.push(name);
        Some(place)
    }

    fn filter<'p>(&mut self, filter: &'p Filter, current: Option<&Vec<&'p str>>) -> Verdict {
        match filter {
            Filter::Any(filters) => {
                let verdicts: Vec<Verdict> = filters.iter().map(|it| self.filter(it, current)).collect();
                strongest(&verdicts, Verdict::Always, Verdict::Never)
            }
            Filter::All(filters) => {
                let verdicts: Vec<Verdict> = filters.iter().map(|it| self.filter(it, current)).collect();
                strongest(&verdicts, Verdict::Never, Verdict::Always)
            }
            Filter::Not(inner) => match self.filter(inner, current) {
                Verdict::Never => Verdict::Always,
                Verdict::Always => Verdict::Never,
                Verdict::Open => Verdict::Open,
            },
            Filter::Exists(path) => self.path(path, current),
            Filter::Compare(a, operator, b) => {
                let (a, b) = (self.side(a, current), self.side(b, current));
                compare(&a, *operator, &b)
            }
            Filter::Matches(operand, _) => match self.side(operand, current) {
                Side::Known(Known::Missing | Known::Boolean | Known::List | Known::Object) => Verdict::Never,
                Side::Known(Known::Open | Known::Text) | Side::Literal(_) => Verdict::Open,
            },
        }
    }

    fn side<'p>(&mut self, operand: &'p Operand, current: Option<&Vec<&'p str>>) -> Side<'p> {
        let path = match operand {
            Operand::Literal(value) => return Side::Literal(value),
            Operand::Path(path) => path,
        };
        let mut place: Place<'p> = if path.from_document { Some(Vec::new()) } else { current.cloned() };
        for segment in &path.segments {
            place = self.step(place, segment);
            if place.as_ref().is_some_and(|it| (self.known)(it) == Known::Missing) {
                return Side::Known(Known::Missing);
            }
        }
        Side::Known(place.map_or(Known::Open, |it| if it.is_empty() { Known::Object } else { (self.known)(&it) }))
    }
}

fn strongest(verdicts: &[Verdict], one: Verdict, all: Verdict) -> Verdict {
    if verdicts.contains(&one) {
        one
    } else if verdicts.iter().all(|it| *it == all) {
        all
    } else {
        Verdict::Open
    }
}

fn compare(a: &Side<'_>, operator: Operator, b: &Side<'_>) -> Verdict {
    match (a, b) {
        (Side::Literal(a), Side::Literal(b)) => exactly(operator.holds(Some(a), Some(b))),
        (Side::Known(Known::Missing), Side::Literal(b)) => exactly(operator.holds(None, Some(b))),
        (Side::Known(a), Side::Literal(b)) => with_literal(*a, operator, b),
        (Side::Literal(_) | Side::Known(_), Side::Known(_)) => Verdict::Open,
    }
}

fn exactly(holds: bool) -> Verdict {
    if holds { Verdict::Always } else { Verdict::Never }
}

fn with_literal(a: Known, operator: Operator, b: &Value) -> Verdict {
    let differ = match a {
        Known::Boolean => !b.is_boolean(),
        Known::Text => b.is_boolean() || b.is_array() || b.is_object(),
        Known::Object => !b.is_object(),
        Known::List => !b.is_array(),
        Known::Open | Known::Missing => false,
    };
    match operator {
        Operator::Equal if differ => Verdict::Never,
        Operator::NotEqual if differ => Verdict::Always,
        // Only numbers have an order.
        Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual if a != Known::Open || !b.is_number() => {
            Verdict::Never
        }
        Operator::In | Operator::AnyOf if !b.is_array() => Verdict::Never,
        Operator::NotIn if !b.is_array() => Verdict::Always,
        Operator::Size if b.as_u64().is_none() => Verdict::Never,
        Operator::Empty if !b.is_boolean() => Verdict::Never,
        Operator::Equal
        | Operator::NotEqual
        | Operator::Less
        | Operator::LessOrEqual
        | Operator::Greater
        | Operator::GreaterOrEqual
        | Operator::In
        | Operator::NotIn
        | Operator::SubsetOf
        | Operator::AnyOf
        | Operator::NoneOf
        | Operator::Size
        | Operator::Empty
        | Operator::Contains => Verdict::Open,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(path: &str) -> Verdict {
        let known = |place: &[&str]| match place {
            ["context"] => Known::Object,
            ["schemaComplete"] => Known::Boolean,
            ["state"] => Known::Text,
            ["missing"] => Known::List,
            ["context", "agent", ..] | ["confidence", ..] => Known::Missing,
            _ => Known::Open,
        };
        JsonPath::compile(path).unwrap().verdict(known)
    }

    #[test]
    fn what_can_never_hold_is_known() {
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
            assert_eq!(verdict(path), Verdict::Never, "{path}");
        }
    }

    #[test]
    fn what_always_holds_is_known() {
        for path in ["$", "$[?(@.context.agent.finalAnswer == null)]", "$.state != true", "$[?(@.state == 'A' || !@.confidence)]"] {
            assert_eq!(verdict(path), Verdict::Always, "{path}");
        }
    }

    #[test]
    fn all_else_depends_on_the_document() {
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
            assert_eq!(verdict(path), Verdict::Open, "{path}");
        }
    }
}
