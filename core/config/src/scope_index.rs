//! An index of compiled rows by intent and state, so that lookups do not slow down as rows are added.

use std::borrow::Cow;
use std::collections::BTreeMap;

use convengine_turn::{Candidate, Verdict};

use super::code::{ANY, mismatch_reason, to_upper_code};
use super::issue::Issue;
use super::row::TableRow;

/// Rows by intent and state; rows of one scope keep insertion order.
#[derive(Debug, Clone)]
pub(super) struct ScopeIndex<T>(BTreeMap<String, BTreeMap<String, Vec<T>>>);

impl<T> Default for ScopeIndex<T> {
    fn default() -> Self {
        ScopeIndex(BTreeMap::new())
    }
}

impl<T> ScopeIndex<T> {
    /// Compiles rows; one that fails is an issue, and skipped.
    pub fn compile(
        rows: &[TableRow<'_>],
        issues: &mut Vec<Issue>,
        compile: impl Fn(&TableRow<'_>, &mut Vec<Issue>) -> Result<T, Issue>,
    ) -> ScopeIndex<T> {
        let mut index = ScopeIndex::default();
        for row in rows {
            match compile(row, issues) {
                Ok(compiled) => index.add(row, compiled),
                Err(issue) => issues.push(issue),
            }
        }
        index
    }

    /// Adds a compiled row under its scope; a blank code means any.
    pub fn add(&mut self, row: &TableRow<'_>, compiled: T) {
        let of_intent = self.0.entry(row.code_or_any("intent_code")).or_default();
        // Most scopes have one row.
        of_intent.entry(row.code_or_any("state_code")).or_insert_with(|| Vec::with_capacity(1)).push(compiled);
    }

    /// Whether an intent has rows of its own, in any state.
    pub fn has_intent(&self, intent: &str) -> bool {
        self.0.contains_key(&*index_key(intent))
    }

    /// Returns the rows of exactly this scope.
    pub fn rows_at(&self, intent: &str, state: &str) -> &[T] {
        rows_of(self.0.get(&*index_key(intent)), &index_key(state))
    }

    /// Iterates over all rows with their intent and state.
    pub fn entries(&self) -> impl Iterator<Item = ((&str, &str), &T)> {
        let scopes = self.0.iter().flat_map(|(intent, states)| states.iter().map(move |(state, rows)| ((&**intent, &**state), rows)));
        scopes.flat_map(|(scope, rows)| rows.iter().map(move |row| (scope, row)))
    }

    /// Returns the rows that do not apply to an intent and a state, as candidates with the reason.
    pub fn out_of_scope(&self, intent: &str, state: &str, row: impl Fn(&T, Verdict) -> Candidate) -> Vec<Candidate> {
        let apart =
            |(scope, entry): ((&str, &str), &T)| Some(row(entry, Verdict::OutOfScope).with_reason(mismatch_reason(scope, intent, state)?));
        self.entries().filter_map(apart).collect()
    }

    /// Iterates over the rows that apply to an intent and a state, from the narrowest scope to the widest.
    pub fn applicable(&self, intent: &str, state: &str) -> impl Iterator<Item = &T> + use<'_, T> {
        let (intent, state) = (index_key(intent), index_key(state));
        let own = if intent == ANY { None } else { self.0.get(&*intent) };
        let any = self.0.get(ANY);
        let of_state = |of_intent| if state != ANY { rows_of(of_intent, &state) } else { &[] };
        [of_state(own), rows_of(own, ANY), of_state(any), rows_of(any, ANY)].into_iter().flatten()
    }
}

fn rows_of<'i, T>(of_intent: Option<&'i BTreeMap<String, Vec<T>>>, state: &str) -> &'i [T] {
    of_intent.and_then(|it| it.get(state)).map(Vec::as_slice).unwrap_or_default()
}

/// Normalises a code for the index; most codes of a turn are in upper case already.
pub(super) fn index_key(code: &str) -> Cow<'_, str> {
    let code = code.trim();
    if code.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_lowercase()) {
        Cow::Borrowed(code)
    } else {
        Cow::Owned(to_upper_code(code))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::RULE;
    use serde_json::json;

    #[test]
    fn the_narrower_scope_comes_first_and_no_row_twice() {
        let mut rows = ScopeIndex::default();
        for (intent, state, number) in [("any", "", 1), ("A", "ANY", 2), ("", " s ", 3), ("a", "S", 4), ("A", "S", 5), ("B", "S", 6)] {
            let columns = serde_json::from_value(json!({"intent_code": intent, "state_code": state})).unwrap();
            rows.add(&TableRow::new(&RULE, 1, &columns), number);
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
