//! Phrases with marks, such as `remind me to {task}`: a mark stands for the part of a message that fills a slot
//! (docs/spec/flows.md#5.3).

use std::ops::Range;

use super::phrase::{Phrase, PlacedPhrase};
use super::variable_path::VariablePath;

/// Maximum ways to divide a message that are tried.
const MAX_DIVISIONS: usize = 64;

/// A phrase with marks.
#[derive(Debug, Clone)]
pub struct MarkedPhrase(Vec<Part>);

#[derive(Debug, Clone)]
enum Part {
    Literal(Vec<String>),
    Mark(VariablePath),
}

/// A message that a phrase with marks fits.
#[derive(Debug, Clone, PartialEq)]
pub struct MarkedMatch {
    /// The tokens of the phrase and of its marks, divided by those of the message.
    pub score: f64,
    /// The variables of the marks, each with its place in the message, in bytes.
    pub marks: Vec<(VariablePath, Range<usize>)>,
}

/// The words beside a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MarkNeighbors<'p> {
    /// The variable of the mark.
    pub variable: &'p VariablePath,
    /// The tokens before it.
    pub before: &'p [String],
    /// The tokens after it.
    pub after: &'p [String],
}

/// How well a part of a message fits a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MarkFit {
    /// It has no value of the type.
    Unfit,
    /// It contains a value.
    Contains,
    /// It is a value.
    Whole,
}

/// A message that is divided into the parts of a phrase.
struct Division<'a> {
    text: &'a str,
    message: &'a PlacedPhrase,
    fit: &'a dyn Fn(&VariablePath, &str) -> MarkFit,
    least: MarkFit,
    tries: usize,
}

impl MarkedPhrase {
    /// Compiles a phrase; `None` when it has no marks.
    pub fn parse(phrase: &str, locale: &str) -> Option<MarkedPhrase> {
        let mut parts = Vec::new();
        let push_literal = |text: &str, parts: &mut Vec<Part>| {
            let tokens = Phrase::new(text, locale).tokens().to_vec();
            if !tokens.is_empty() {
                parts.push(Part::Literal(tokens));
            }
        };
        let mut rest = phrase;
        let mut has_marks = false;
        while let Some((before, variable, behind)) = split_at_mark(rest) {
            push_literal(before, &mut parts);
            parts.push(Part::Mark(variable));
            (rest, has_marks) = (behind, true);
        }
        push_literal(rest, &mut parts);
        has_marks.then_some(MarkedPhrase(parts))
    }

    /// Returns the number of tokens that are not marks.
    pub fn literal_length(&self) -> usize {
        self.0.iter().map(|part| if let Part::Literal(tokens) = part { tokens.len() } else { 0 }).sum()
    }

    /// Returns the variables of the marks.
    pub fn variables(&self) -> impl Iterator<Item = &VariablePath> {
        self.0.iter().filter_map(|part| if let Part::Mark(variable) = part { Some(variable) } else { None })
    }

    /// Returns whether a message has all words of the phrase, in any order.
    pub fn has_words_in(&self, message: &PlacedPhrase) -> bool {
        self.0
            .iter()
            .all(|part| if let Part::Literal(tokens) = part { tokens.iter().all(|token| message.tokens().contains(token)) } else { true })
    }

    /// Returns whether words separate the marks, so that the phrase can match.
    pub fn is_divisible(&self) -> bool {
        let is_mark = |it: &Part| matches!(it, Part::Mark(_));
        self.literal_length() > 0 && !self.0.windows(2).any(|pair| pair.iter().all(is_mark))
    }

    /// Returns the marks with the words beside them.
    pub fn neighbors(&self) -> impl Iterator<Item = MarkNeighbors<'_>> {
        let literal = |at: Option<usize>| match self.0.get(at?)? {
            Part::Literal(tokens) => Some(tokens.as_slice()),
            Part::Mark(_) => None,
        };
        let literal = move |at: Option<usize>| literal(at).unwrap_or_default();
        self.0.iter().enumerate().filter_map(move |(at, part)| {
            let Part::Mark(variable) = part else { return None };
            Some(MarkNeighbors { variable, before: literal(at.checked_sub(1)), after: literal(Some(at + 1)) })
        })
    }

    /// Returns the tokens, with one that no text has in place of each mark, for comparing phrases.
    pub fn comparable_tokens(&self) -> Vec<&str> {
        let tokens = |part| match part {
            &Part::Mark(_) => vec!["{}"],
            Part::Literal(tokens) => tokens.iter().map(String::as_str).collect(),
        };
        self.0.iter().flat_map(tokens).collect()
    }

    /// Matches a message. Its words appear in the message in their order; each mark takes what stands between them, at least one token, or
    /// all that stands before the first or behind the last. Of several divisions, the first wins in which all parts fit best.
    pub fn find(&self, text: &str, message: &PlacedPhrase, fit: &dyn Fn(&VariablePath, &str) -> MarkFit) -> Option<MarkedMatch> {
        if !self.is_divisible() {
            return None;
        }
        let divide = |least| Division { text, message, fit, least, tries: MAX_DIVISIONS }.divide_message(&self.0);
        [MarkFit::Whole, MarkFit::Contains, MarkFit::Unfit].into_iter().find_map(divide)
    }
}

impl Division<'_> {
    fn divide_message(&mut self, parts: &[Part]) -> Option<MarkedMatch> {
        let mut marks = Vec::new();
        let (from, to) = match parts.split_first()? {
            (Part::Mark(_), _) => (0, self.divide(parts, 0, &mut marks)?),
            (Part::Literal(literal), rest) => self.runs(literal, 0).into_iter().find_map(|at| {
                marks.clear();
                Some((at, self.divide(rest, at + literal.len(), &mut marks)?))
            })?,
        };
        Some(MarkedMatch { score: (to - from) as f64 / self.message.tokens().len() as f64, marks })
    }

    /// Divides the tokens from a position on; returns the position after the last part.
    fn divide(&mut self, parts: &[Part], from: usize, marks: &mut Vec<(VariablePath, Range<usize>)>) -> Option<usize> {
        let Some((Part::Mark(variable), rest)) = parts.split_first() else { return Some(from) };
        let length = self.message.tokens().len();
        let Some((Part::Literal(literal), rest)) = rest.split_first() else {
            return self.take(variable, from, length, marks).then_some(length);
        };
        let known = marks.len();
        for at in self.runs(literal, from + 1) {
            if self.take(variable, from, at, marks)
                && let Some(end) = self.divide(rest, at + literal.len(), marks)
            {
                return Some(end);
            }
            marks.truncate(known);
        }
        None
    }

    /// Takes the tokens of a range for a mark. Returns whether they fit.
    fn take(&mut self, variable: &VariablePath, from: usize, to: usize, marks: &mut Vec<(VariablePath, Range<usize>)>) -> bool {
        if from >= to || self.tries == 0 {
            return false;
        }
        self.tries -= 1;
        let places = self.message.places();
        // With the signs around the tokens: "-5" is a value.
        let start = from.checked_sub(1).and_then(|it| places.get(it)).map_or(0, |it| it.end);
        let end = places.get(to).map_or(self.text.len(), |it| it.start);
        let is_taken = self.text.get(start..end).is_some_and(|between| (self.fit)(variable, between) >= self.least);
        if is_taken {
            marks.push((variable.clone(), start..end));
        }
        is_taken
    }

    /// The positions of a literal from a position on.
    fn runs(&self, literal: &[String], from: usize) -> Vec<usize> {
        let rest = self.message.tokens().get(from..).unwrap_or_default();
        rest.windows(literal.len().max(1)).enumerate().filter(|it| it.1 == literal).map(|it| it.0 + from).collect()
    }
}

/// Returns a phrase without its marks.
pub fn without_marks(phrase: &str) -> String {
    let mut plain = String::with_capacity(phrase.len());
    let mut rest = phrase;
    while let Some((before, _, behind)) = split_at_mark(rest) {
        plain.push_str(before);
        rest = behind;
    }
    if rest.len() == phrase.len() {
        return phrase.to_owned();
    }
    super::collapse_whitespace(&(plain + rest))
}

/// Splits a phrase at its first mark: `{`, a path, `}`. Two braces are none.
fn split_at_mark(phrase: &str) -> Option<(&str, VariablePath, &str)> {
    let mut from = 0;
    loop {
        let at = from + phrase.get(from..)?.find('{')?;
        let (before, rest) = phrase.split_at(at);
        let inside = rest.trim_start_matches('{');
        let path = inside.split_once('}').filter(|_| rest.len() - inside.len() == 1);
        if let Some((path, behind)) = path
            && let Ok(variable) = VariablePath::parse(path.trim())
        {
            return Some((before, variable, behind));
        }
        from = phrase.len() - inside.len();
    }
}

/// Removes white space and punctuation around a text; brackets stay, because they may be a pair.
pub fn trim_punctuation(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || ".,;:!?…¡¿\"'`“”„‚‘’«»‹›-–—、。，！？：；「」".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parts of a message that the marks of a phrase take; a mark `n` fits texts with a digit.
    fn taken(phrase: &str, text: &str) -> Option<(String, f64)> {
        let fit = |variable: &VariablePath, text: &str| {
            let is_digit = |it: char| it.is_ascii_digit();
            match (variable.to_string() != "n" || text.trim().chars().all(is_digit), text.contains(is_digit)) {
                (true, _) => MarkFit::Whole,
                (false, true) => MarkFit::Contains,
                (false, false) => MarkFit::Unfit,
            }
        };
        let found = MarkedPhrase::parse(phrase, "en").unwrap().find(text, &PlacedPhrase::new(text, "en"), &fit)?;
        let parts = found.marks.iter().map(|(variable, range)| format!("{variable}={}", trim_punctuation(&text[range.clone()])));
        Some((parts.collect::<Vec<_>>().join("|"), found.score))
    }

    #[test]
    fn marks_take_what_stands_between_the_words() {
        for (phrase, text, expected, score) in [
            ("remind me to {task}", "Remind me to call Zoë's mum!", "task=call Zoë's mum", 1.0),
            ("remind me to {task} at {when}", "please remind me to eat at noon", "task=eat|when=noon", 6.0 / 7.0),
            ("remind me to {task} at {n}", "remind me to look at it at 5", "task=look at it|n=5", 1.0),
            ("remind me to {task} at {n}", "remind me to look at it at 5 then", "task=look|n=it at 5 then", 1.0),
            ("remind me to {task} at {n}", "remind me to look at it", "task=look|n=it", 1.0),
            ("{who} is here", "Now Dr. Who is here, yes", "who=Now Dr. Who", 5.0 / 6.0),
            ("{a.b} to {c}", "x to (y)", "a.b=x|c=(y)", 1.0),
            ("set it to {n}", "Set it to -5.", "n=5", 1.0),
            ("from {a} to {b}", "from to to to", "a=to|b=to", 1.0),
            ("call { a } now", "call me now now", "a=me", 0.75),
        ] {
            assert_eq!(taken(phrase, text), Some((expected.to_owned(), score)), "{phrase}: {text}");
        }
        for (phrase, text) in [
            ("remind me to {task}", "remind me to"),
            ("remind me to {task} at {when}", "remind me to eat"),
            ("{a} is here", "is here"),
            ("{a}", "x"),
            ("say {a}, {b}", "say x, y"),
            ("reminder {a}", "reminders a"),
            ("say {a}", ""),
        ] {
            assert_eq!(taken(phrase, text), None, "{phrase}: {text}");
        }
    }

    #[test]
    fn many_divisions_are_bounded() {
        let text = "a x ".repeat(2000);
        let phrase = MarkedPhrase::parse("{p} a {q} a {r} a {s}", "en").unwrap();
        let found = phrase.find(&text, &PlacedPhrase::new(&text, "en"), &|_, _| MarkFit::Unfit).unwrap();
        assert_eq!(found.marks.len(), 4);
    }

    #[test]
    fn marks_are_names_in_single_braces() {
        for text in ["call me", "a {{b}} c", "a {b c} d", "{", "} {a", "a {} b", "{{a}}}"] {
            assert!(MarkedPhrase::parse(text, "en").is_none(), "{text}");
            assert_eq!(without_marks(text), text);
        }
        assert_eq!(without_marks("Call {a},  at {b.c}"), "Call , at");
        let phrase = MarkedPhrase::parse("Move {a.b} from {c}", "en").unwrap();
        assert_eq!((phrase.literal_length(), phrase.comparable_tokens().join(" ")), (2, "move {} from {}".to_owned()));
        let beside: Vec<_> =
            phrase.neighbors().map(|mark| (mark.variable.to_string(), mark.before.join(" "), mark.after.join(" "))).collect();
        let expected = [("a.b", "move", "from"), ("c", "from", "")]
            .map(|(variable, before, after)| (variable.to_owned(), before.to_owned(), after.to_owned()));
        assert_eq!(beside, expected);
    }
}
