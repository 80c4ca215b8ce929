//! An index of compiled rows by intent and state, so that lookups do not slow down as rows are added.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::row::Row;
use super::scope::{ANY, apart, upper};
use crate::turn::{Considered, Fate};

/// Rows by intent and state; rows of one scope keep insertion order.
#[derive(Debug, Clone)]
pub(super) struct ByScope<T>(BTreeMap<String, BTreeMap<String, Vec<T>>>);

impl<T> Default for ByScope<T> {
    fn default() -> Self {
        ByScope(BTreeMap::new())
    }
}

impl<T> ByScope<T> {
    /// Adds a compiled row under its scope; a blank code means any.
    pub fn add(&mut self, row: &Row<'_>, compiled: T) {
        let states = self.0.entry(row.code_or_any("intent_code")).or_default();
        states.entry(row.code_or_any("state_code")).or_default().push(compiled);
    }

    /// Whether an intent has rows of its own, in any state.
    pub fn has_intent(&self, intent: &str) -> bool {
        self.0.contains_key(&*key(intent))
    }

    /// Returns the rows of exactly this scope.
    pub fn at(&self, intent: &str, state: &str) -> &[T] {
        rows(self.0.get(&*key(intent)), &key(state))
    }

    /// Iterates over all rows with their intent and state.
    pub fn all(&self) -> impl Iterator<Item = ((&str, &str), &T)> {
        self.0.iter().flat_map(|(intent, states)| {
            states.iter().flat_map(move |(state, rows)| rows.iter().map(move |it| ((intent.as_str(), state.as_str()), it)))
        })
    }

    /// Returns the rows that do not apply to an intent and a state, as candidates with the reason.
    pub fn outside(&self, intent: &str, state: &str, row: impl Fn(&T, Fate) -> Considered) -> Vec<Considered> {
        let apart = |(scope, it): ((&str, &str), &T)| Some(row(it, Fate::OutOfScope).because(apart(scope, intent, state)?));
        self.all().filter_map(apart).collect()
    }

    /// Iterates over the rows that apply to an intent and a state, from the narrowest scope to the widest.
    pub fn fitting(&self, intent: &str, state: &str) -> impl Iterator<Item = &T> + use<'_, T> {
        let (intent, state) = (key(intent), key(state));
        let own = if intent == ANY { None } else { self.0.get(&*intent) };
        let any = self.0.get(ANY);
        let of_state = |of_intent| if state == ANY { &[][..] } else { rows(of_intent, &state) };
        [of_state(own), rows(own, ANY), of_state(any), rows(any, ANY)].into_iter().flatten()
    }
}

fn rows<'r, T>(of_intent: Option<&'r BTreeMap<String, Vec<T>>>, state: &str) -> &'r [T] {
    of_intent.and_then(|it| it.get(state)).map(Vec::as_slice).unwrap_or_default()
}

/// Normalises a code for the index; most codes of a turn are in upper case already.
pub(super) fn key(code: &str) -> Cow<'_, str> {
    let code = code.trim();
    if code.bytes().all(|it| it.is_ascii() && !it.is_ascii_lowercase()) { Cow::Borrowed(code) } else { Cow::Owned(upper(code)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_narrower_scope_comes_first_and_no_row_twice() {
        let mut rows = ByScope::default();
        for (intent, state, number) in [("any", "", 1), ("A", "ANY", 2), ("", " s ", 3), ("a", "S", 4), ("A", "S", 5), ("B", "S", 6)] {
            let columns = serde_json::from_value(json!({"intent_code": intent, "state_code": state})).unwrap();
            rows.add(&Row::new("ce_rule", "rule_id", 1, &columns), number);
        }
        let fitting = |intent, state| rows.fitting(intent, state).copied().collect::<Vec<i32>>();
        assert_eq!(fitting(" a", "s"), [4, 5, 2, 3, 1]);
        assert_eq!(fitting("C", "S"), [3, 1]);
        assert_eq!(fitting("ANY", "any"), [1]);
        assert_eq!(fitting("A", "ANY"), [2, 1]);
        assert_eq!((rows.at("b", "S"), rows.at("B", "ANY").len()), (&[6][..], 0));
    }

    #[test]
    fn keys_are_upper_case_in_every_script() {
        assert_eq!((key(" straße "), key("ÄB"), key("A_1")), (Cow::from("STRASSE"), Cow::from("ÄB"), Cow::from("A_1")));
    }
}
