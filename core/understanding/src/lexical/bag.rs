//! The terms of an utterance, counted.

use super::terms::{TermKind, terms_of};

/// The terms of an utterance by kind and hash, in ascending order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Bag(Vec<CountedTerm>);

/// A term with how often it occurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CountedTerm {
    pub kind: TermKind,
    pub hash: u32,
    pub count: u32,
    /// Whether it is of function words only.
    pub is_function: bool,
}

impl Bag {
    /// Counts the terms of an utterance.
    pub fn new(text: &str, locale: &str) -> Bag {
        let mut all: Vec<(TermKind, u32, bool)> =
            terms_of(text, locale).iter().map(|term| (term.kind, term.hash(), term.is_function)).collect();
        all.sort_unstable();
        let counted = |run: &[(TermKind, u32, bool)]| {
            let &(kind, hash, is_function) = run.first()?;
            Some(CountedTerm { kind, hash, count: u32::try_from(run.len()).ok()?, is_function })
        };
        Bag(all.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)).filter_map(counted).collect())
    }

    /// The terms.
    pub fn terms(&self) -> &[CountedTerm] {
        &self.0
    }
}
