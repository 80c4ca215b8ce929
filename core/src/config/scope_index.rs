//! An index of compiled rows by intent and state, so that lookups do not slow down as rows are added.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::code::{ANY, mismatch_reason, to_upper_code};
use super::row::TableRow;
use crate::turn::{Candidate, Verdict};

/// Rows by intent and state; rows of one scope keep insertion order.
#[derive(Debug, Clone)]
pub(super) struct ScopeIndex<T> {
    slots: Slots,
    /// By slot.
    rows: Vec<Vec<T>>,
}

/// The slots of scopes. They do not depend on the type of the rows, so that they are compiled once.
#[derive(Debug, Clone, Default)]
struct Slots {
    /// The slots of an intent, in the order of their states. A tree, as there may be thousands of intents in any order.
    by_intent: BTreeMap<String, Vec<usize>>,
    /// By slot.
    states: Vec<String>,
}

impl<T> Default for ScopeIndex<T> {
    fn default() -> Self {
        ScopeIndex { slots: Slots::default(), rows: Vec::new() }
    }
}

impl<T> ScopeIndex<T> {
    /// Adds a compiled row under its scope; a blank code means any.
    pub fn add(&mut self, row: &TableRow<'_>, compiled: T) {
        let slot = self.slots.add(row);
        match self.rows.get_mut(slot) {
            Some(rows) => rows.push(compiled),
            // Most scopes have one row.
            None => self.rows.push(vec![compiled]),
        }
    }

    /// Whether an intent has rows of its own, in any state.
    pub fn has_intent(&self, intent: &str) -> bool {
        self.slots.by_intent.contains_key(&*index_key(intent))
    }

    /// Returns the rows of exactly this scope.
    pub fn rows_at(&self, intent: &str, state: &str) -> &[T] {
        self.rows_of(self.slots.find(self.slots.by_intent.get(&*index_key(intent)), &index_key(state)))
    }

    /// Iterates over all rows with their intent and state.
    pub fn entries(&self) -> impl Iterator<Item = ((&str, &str), &T)> {
        let slots = self.slots.by_intent.iter().flat_map(|(intent, slots)| slots.iter().map(move |it| (intent.as_str(), *it)));
        slots.flat_map(|(intent, slot)| {
            let state = self.slots.states.get(slot).map(String::as_str).unwrap_or_default();
            self.rows_of(Some(slot)).iter().map(move |it| ((intent, state), it))
        })
    }

    /// Returns the rows that do not apply to an intent and a state, as candidates with the reason.
    pub fn out_of_scope(&self, intent: &str, state: &str, row: impl Fn(&T, Verdict) -> Candidate) -> Vec<Candidate> {
        let apart =
            |(scope, it): ((&str, &str), &T)| Some(row(it, Verdict::OutOfScope).with_reason(mismatch_reason(scope, intent, state)?));
        self.entries().filter_map(apart).collect()
    }

    /// Iterates over the rows that apply to an intent and a state, from the narrowest scope to the widest.
    pub fn applicable(&self, intent: &str, state: &str) -> impl Iterator<Item = &T> + use<'_, T> {
        self.slots.applicable(&index_key(intent), &index_key(state)).into_iter().flat_map(|it| self.rows_of(it))
    }

    fn rows_of(&self, slot: Option<usize>) -> &[T] {
        slot.and_then(|it| self.rows.get(it)).map(Vec::as_slice).unwrap_or_default()
    }
}

impl Slots {
    /// Returns the slot of a row's scope.
    fn add(&mut self, row: &TableRow<'_>) -> usize {
        let of_intent = self.by_intent.entry(row.code_or_any("intent_code")).or_default();
        let state = row.code_or_any("state_code");
        match find_state(&self.states, of_intent, &state) {
            Ok(place) => of_intent.get(place).copied().unwrap_or_default(),
            Err(place) => {
                let slot = self.states.len();
                of_intent.insert(place, slot);
                self.states.push(state);
                slot
            }
        }
    }

    fn find(&self, of_intent: Option<&Vec<usize>>, state: &str) -> Option<usize> {
        let of_intent = of_intent?;
        of_intent.get(find_state(&self.states, of_intent, state).ok()?).copied()
    }

    /// Returns the slots that apply to an intent and a state, from the narrowest scope to the widest.
    fn applicable(&self, intent: &str, state: &str) -> [Option<usize>; 4] {
        let own = if intent == ANY { None } else { self.by_intent.get(intent) };
        let any = self.by_intent.get(ANY);
        let of_state = |of_intent| if state == ANY { None } else { self.find(of_intent, state) };
        [of_state(own), self.find(own, ANY), of_state(any), self.find(any, ANY)]
    }
}

/// Finds the place of a state among the slots of an intent, or the place for it.
fn find_state(states: &[String], of_intent: &[usize], state: &str) -> Result<usize, usize> {
    of_intent.binary_search_by(|it| states.get(*it).map(String::as_str).cmp(&Some(state)))
}

/// Normalises a code for the index; most codes of a turn are in upper case already.
pub(super) fn index_key(code: &str) -> Cow<'_, str> {
    let code = code.trim();
    if code.bytes().all(|it| it.is_ascii() && !it.is_ascii_lowercase()) { Cow::Borrowed(code) } else { Cow::Owned(to_upper_code(code)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_narrower_scope_comes_first_and_no_row_twice() {
        let mut rows = ScopeIndex::default();
        for (intent, state, number) in [("any", "", 1), ("A", "ANY", 2), ("", " s ", 3), ("a", "S", 4), ("A", "S", 5), ("B", "S", 6)] {
            let columns = serde_json::from_value(json!({"intent_code": intent, "state_code": state})).unwrap();
            rows.add(&TableRow::new("ce_rule", "rule_id", 1, &columns), number);
        }
        let fitting = |intent, state| rows.applicable(intent, state).copied().collect::<Vec<i32>>();
        assert_eq!(fitting(" a", "s"), [4, 5, 2, 3, 1]);
        assert_eq!(fitting("C", "S"), [3, 1]);
        assert_eq!(fitting("ANY", "any"), [1]);
        assert_eq!(fitting("A", "ANY"), [2, 1]);
        assert_eq!((rows.rows_at("b", "S"), rows.rows_at("B", "ANY").len()), (&[6][..], 0));
    }

    #[test]
    fn keys_are_upper_case_in_every_script() {
        assert_eq!((index_key(" straße "), index_key("ÄB"), index_key("A_1")), (Cow::from("STRASSE"), Cow::from("ÄB"), Cow::from("A_1")));
    }
}
