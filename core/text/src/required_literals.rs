//! Finds the literals that a text must contain for a pattern to match, so that an index can skip patterns.

use fancy_regex::{Expr, LookAround};
use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

/// The most spellings to which a part of a pattern is expanded.
const MAX_SPELLINGS: usize = 16;

/// The most alternatives for which a requirement is kept.
const MAX_ALTERNATIVES: usize = 64;

/// Case-folded literals of which a text must contain at least one.
pub type LiteralAlternatives = Vec<String>;

/// Maps all characters that a case-insensitive pattern treats as equal to one character.
pub fn fold_case(text: &str) -> String {
    text.chars().map(fold_char).collect()
}

fn fold_char(character: char) -> char {
    if character.is_ascii() {
        return character.to_ascii_lowercase();
    }
    let mut same = ClassUnicode::new([ClassUnicodeRange::new(character, character)]);
    // Fails when the Unicode tables are not compiled in; the pattern does not fold such characters then either.
    let _ = same.try_case_fold_simple();
    same.iter().next().map_or(character, |range| range.start().to_ascii_lowercase())
}

/// Returns what a folded text must contain for the pattern to occur in it; every requirement must be met. Empty when the pattern
/// may match anywhere or is not understood.
pub fn required_literals(pattern: &str) -> Vec<LiteralAlternatives> {
    let tree = Expr::parse_tree(pattern).ok();
    tree.and_then(|it| analyze_expr(&it.expr)).map(PatternPart::required_literals).unwrap_or_default()
}

/// Returns how selective a requirement is: the length of its shortest literal.
pub fn selectivity(demand: &LiteralAlternatives) -> usize {
    demand.iter().map(String::len).min().unwrap_or_default()
}

/// A part of a pattern.
struct PatternPart {
    /// All texts that the part matches; absent when there are too many.
    spellings: Option<Vec<String>>,
    /// Further requirements.
    requirements: Vec<LiteralAlternatives>,
}

impl PatternPart {
    fn from_spellings(spellings: Vec<String>) -> PatternPart {
        PatternPart { spellings: Some(spellings), requirements: Vec::new() }
    }

    /// Creates a zero-width part.
    fn zero_width() -> PatternPart {
        PatternPart::from_spellings(vec![String::new()])
    }

    fn unconstrained() -> PatternPart {
        PatternPart { spellings: None, requirements: Vec::new() }
    }

    fn required_literals(self) -> Vec<LiteralAlternatives> {
        let mut demands = self.requirements;
        demands.extend(self.spellings.filter(|spellings| selectivity(spellings) > 0));
        demands
    }

    fn most_selective(self) -> Option<LiteralAlternatives> {
        self.required_literals().into_iter().max_by_key(selectivity)
    }
}

/// Analyses a part of a pattern; `None` when it contains a construct that affects the match elsewhere.
fn analyze_expr(expression: &Expr) -> Option<PatternPart> {
    match expression {
        Expr::Literal { val, casei: _ } => Some(PatternPart::from_spellings(vec![fold_case(val)])),
        Expr::Empty | Expr::Assertion(_) | Expr::KeepOut | Expr::ContinueFromPreviousMatchEnd => Some(PatternPart::zero_width()),
        Expr::Any { .. }
        | Expr::GeneralNewline { .. }
        | Expr::LiteralBytes { .. }
        | Expr::Delegate { .. }
        | Expr::Backref { .. }
        | Expr::BackrefWithRelativeRecursionLevel { .. } => Some(PatternPart::unconstrained()),
        Expr::Group(inner) => analyze_expr(inner),
        Expr::AtomicGroup(inner) => analyze_expr(inner),
        Expr::Concat(parts) => analyze_sequence(parts),
        Expr::Alt(branches) => analyze_choice(branches),
        Expr::Repeat { child, lo, hi, greedy: _ } => analyze_repeat(analyze_expr(child)?, *lo, *hi),
        Expr::LookAround(inner, LookAround::LookAhead | LookAround::LookBehind) => {
            analyze_expr(inner).map(|inner| PatternPart { requirements: inner.required_literals(), ..PatternPart::zero_width() })
        }
        Expr::LookAround(inner, LookAround::LookAheadNeg | LookAround::LookBehindNeg) => {
            analyze_expr(inner).map(|_| PatternPart::zero_width())
        }
        Expr::BackrefExistsCondition { .. }
        | Expr::Conditional { .. }
        | Expr::SubroutineCall(_)
        | Expr::BacktrackingControlVerb(_)
        | Expr::Absent(_)
        | Expr::DefineGroup { .. }
        | Expr::AstNode(..) => None,
    }
}

fn analyze_sequence(parts: &[Expr]) -> Option<PatternPart> {
    let mut whole = PatternPart::zero_width();
    let mut run = vec![String::new()];
    for part in parts {
        let part = analyze_expr(part)?;
        whole.requirements.extend(part.requirements);
        match part.spellings {
            Some(next) if run.len() * next.len() <= MAX_SPELLINGS => {
                run = run.iter().flat_map(|start| next.iter().map(move |end| format!("{start}{end}"))).collect();
            }
            next => {
                whole.spellings = None;
                let finished = std::mem::replace(&mut run, next.unwrap_or_else(|| vec![String::new()]));
                whole.requirements.extend(PatternPart::from_spellings(finished).required_literals());
            }
        }
    }
    if whole.spellings.is_some() {
        return Some(PatternPart { spellings: Some(run), ..whole });
    }
    whole.requirements.extend(PatternPart::from_spellings(run).required_literals());
    Some(whole)
}

fn analyze_choice(branches: &[Expr]) -> Option<PatternPart> {
    let parts = branches.iter().map(analyze_expr).collect::<Option<Vec<PatternPart>>>()?;
    let spellings: Option<Vec<&Vec<String>>> = parts.iter().map(|it| it.spellings.as_ref()).collect();
    if let Some(spellings) = spellings {
        let spellings: Vec<String> = spellings.into_iter().flatten().cloned().collect();
        if spellings.len() <= MAX_SPELLINGS {
            return Some(PatternPart::from_spellings(spellings));
        }
    }
    let demand = parts.into_iter().map(PatternPart::most_selective).collect::<Option<Vec<LiteralAlternatives>>>().map(|it| it.concat());
    Some(PatternPart {
        requirements: demand.filter(|literals| literals.len() <= MAX_ALTERNATIVES).into_iter().collect(),
        ..PatternPart::unconstrained()
    })
}

fn analyze_repeat(part: PatternPart, least: usize, most: usize) -> Option<PatternPart> {
    Some(match (least, most) {
        (1, 1) => part,
        (0, 1) => match part.spellings {
            Some(mut spellings) if spellings.len() < MAX_SPELLINGS => {
                spellings.push(String::new());
                PatternPart::from_spellings(spellings)
            }
            Some(_) | None => PatternPart::unconstrained(),
        },
        (0, _) => PatternPart::unconstrained(),
        _ => PatternPart { requirements: part.required_literals(), ..PatternPart::unconstrained() },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_require_their_words() {
        let of = |pattern: &str| required_literals(pattern).iter().map(|words| words.join("|")).collect::<Vec<_>>();
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
    fn characters_that_fold_together_are_equal() {
        assert_eq!(fold_case("ſKÅΣςẞİı"), fold_case("SkåσσßİI").replacen('i', "ı", 1));
    }
}
