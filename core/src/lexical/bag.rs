//! The terms of an utterance, counted.

use super::terms::{TermKind, terms_of};

/// The terms of an utterance by kind and hash, in ascending order, with how often each occurs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Bag(Vec<(TermKind, u32, u32)>);

impl Bag {
    /// Counts the terms of an utterance.
    pub fn new(text: &str, locale: &str) -> Bag {
        let mut all: Vec<(TermKind, u32)> = terms_of(text, locale).iter().map(|it| (it.kind, it.hash())).collect();
        all.sort_unstable();
        Bag(all.chunk_by(|a, b| a == b).filter_map(|it| Some((it.first()?.0, it.first()?.1, u32::try_from(it.len()).ok()?))).collect())
    }

    /// The terms: kind, hash and number.
    pub fn terms(&self) -> &[(TermKind, u32, u32)] {
        &self.0
    }
}
