//! Finds the literals that a text must contain for a pattern to match, so that an index can skip patterns.

use fancy_regex::{Expr, LookAround};
use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

/// The most spellings to which a part of a pattern is expanded.
const MOST_SPELLINGS: usize = 16;

/// The most alternatives for which a requirement is kept.
const MOST_PIECES: usize = 64;

/// Case-folded literals of which a text must contain at least one.
pub type Demand = Vec<String>;

/// Maps all characters that a case-insensitive pattern treats as equal to one character.
pub fn folded(text: &str) -> String {
    text.chars().map(fold).collect()
}

fn fold(character: char) -> char {
    if character.is_ascii() {
        return character.to_ascii_lowercase();
    }
    let mut same = ClassUnicode::new([ClassUnicodeRange::new(character, character)]);
    // Fails when the Unicode tables are not compiled in; the pattern does not fold such characters then either.
    let _ = same.try_case_fold_simple();
    same.iter().next().map_or(character, |it| it.start().to_ascii_lowercase())
}

/// Returns what a folded text must contain for the pattern to occur in it; every requirement must be met. Empty when the pattern
/// may match anywhere or is not understood.
pub fn demands(pattern: &str) -> Vec<Demand> {
    let tree = Expr::parse_tree(pattern).ok();
    tree.and_then(|it| read(&it.expr)).map(Part::demands).unwrap_or_default()
}

/// Returns how selective a requirement is: the length of its shortest literal.
pub fn sharpness(demand: &Demand) -> usize {
    demand.iter().map(String::len).min().unwrap_or_default()
}

/// A part of a pattern.
struct Part {
    /// All texts that the part matches; absent when there are too many.
    spellings: Option<Vec<String>>,
    /// Further requirements.
    besides: Vec<Demand>,
}

impl Part {
    fn spelled(spellings: Vec<String>) -> Part {
        Part { spellings: Some(spellings), besides: Vec::new() }
    }

    /// Creates a zero-width part.
    fn nothing() -> Part {
        Part::spelled(vec![String::new()])
    }

    fn anything() -> Part {
        Part { spellings: None, besides: Vec::new() }
    }

    fn demands(self) -> Vec<Demand> {
        let mut demands = self.besides;
        demands.extend(self.spellings.filter(|it| sharpness(it) > 0));
        demands
    }

    fn sharpest(self) -> Option<Demand> {
        self.demands().into_iter().max_by_key(sharpness)
    }
}

/// Analyses a part of a pattern; `None` when it contains a construct that affects the match elsewhere.
fn read(expression: &Expr) -> Option<Part> {
    match expression {
        Expr::Literal { val, casei: _ } => Some(Part::spelled(vec![folded(val)])),
        Expr::Empty | Expr::Assertion(_) | Expr::KeepOut | Expr::ContinueFromPreviousMatchEnd => Some(Part::nothing()),
        Expr::Any { .. }
        | Expr::GeneralNewline { .. }
        | Expr::LiteralBytes { .. }
        | Expr::Delegate { .. }
        | Expr::Backref { .. }
        | Expr::BackrefWithRelativeRecursionLevel { .. } => Some(Part::anything()),
        Expr::Group(inner) => read(inner),
        Expr::AtomicGroup(inner) => read(inner),
        Expr::Concat(parts) => sequence(parts),
        Expr::Alt(branches) => choice(branches),
        Expr::Repeat { child, lo, hi, greedy: _ } => repeat(read(child)?, *lo, *hi),
        Expr::LookAround(inner, LookAround::LookAhead | LookAround::LookBehind) => {
            read(inner).map(|it| Part { besides: it.demands(), ..Part::nothing() })
        }
        Expr::LookAround(inner, LookAround::LookAheadNeg | LookAround::LookBehindNeg) => read(inner).map(|_| Part::nothing()),
        Expr::BackrefExistsCondition { .. }
        | Expr::Conditional { .. }
        | Expr::SubroutineCall(_)
        | Expr::BacktrackingControlVerb(_)
        | Expr::Absent(_)
        | Expr::DefineGroup { .. }
        | Expr::AstNode(..) => None,
    }
}

fn sequence(parts: &[Expr]) -> Option<Part> {
    let mut whole = Part::nothing();
    let mut run = vec![String::new()];
    for part in parts {
        let part = read(part)?;
        whole.besides.extend(part.besides);
        match part.spellings {
            Some(next) if run.len() * next.len() <= MOST_SPELLINGS => {
                run = run.iter().flat_map(|start| next.iter().map(move |end| format!("{start}{end}"))).collect();
            }
            next => {
                whole.spellings = None;
                let finished = std::mem::replace(&mut run, next.unwrap_or_else(|| vec![String::new()]));
                whole.besides.extend(Part::spelled(finished).demands());
            }
        }
    }
    if whole.spellings.is_some() {
        return Some(Part { spellings: Some(run), ..whole });
    }
    whole.besides.extend(Part::spelled(run).demands());
    Some(whole)
}

fn choice(branches: &[Expr]) -> Option<Part> {
    let parts = branches.iter().map(read).collect::<Option<Vec<Part>>>()?;
    let spellings: Option<Vec<&Vec<String>>> = parts.iter().map(|it| it.spellings.as_ref()).collect();
    if let Some(spellings) = spellings {
        let spellings: Vec<String> = spellings.into_iter().flatten().cloned().collect();
        if spellings.len() <= MOST_SPELLINGS {
            return Some(Part::spelled(spellings));
        }
    }
    let demand = parts.into_iter().map(Part::sharpest).collect::<Option<Vec<Demand>>>().map(|it| it.concat());
    Some(Part { besides: demand.filter(|it| it.len() <= MOST_PIECES).into_iter().collect(), ..Part::anything() })
}

fn repeat(part: Part, least: usize, most: usize) -> Option<Part> {
    Some(match (least, most) {
        (1, 1) => part,
        (0, 1) => match part.spellings {
            Some(mut spellings) if spellings.len() < MOST_SPELLINGS => {
                spellings.push(String::new());
                Part::spelled(spellings)
            }
            Some(_) | None => Part::anything(),
        },
        (0, _) => Part::anything(),
        _ => Part { besides: part.demands(), ..Part::anything() },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_demands_its_words() {
        let of = |pattern: &str| demands(pattern).iter().map(|it| it.join("|")).collect::<Vec<_>>();
        assert_eq!(of(r"\bRefund\b"), ["refund"]);
        assert_eq!(of(r"\b(meter|reading)\b.*\bshows?\b"), ["meter|reading", "shows|show"]);
        assert_eq!(of(r"^(?!.*\bbill\b).*\bblackout\b"), ["blackout"]);
        assert_eq!(of(r"(?=.*card)lost|stol(?:en)?"), ["lost|stolen|stol"]);
        assert_eq!(of(r"(?<=my )order\d+"), ["my ", "order"]);
        assert_eq!(of(r"(ab){2,}c*d"), ["ab", "d"]);
        assert_eq!(of(r"Straße K"), ["straße k"]);
        for without in [r"a*", r"\d+", r"x?", r"one|\d", r"(a)|", r"(*ACCEPT)never", r"[ab]", "("] {
            assert_eq!(of(without), [""; 0], "{without}");
        }
    }

    #[test]
    fn characters_that_fold_together_are_one() {
        assert_eq!(folded("ſKÅΣςẞİı"), folded("SkåσσßİI").replacen('i', "ı", 1));
    }
}
