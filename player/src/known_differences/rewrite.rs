//! Applies the rules to a recorded turn.

use anyhow::{Context, Result};
use convengine_core::pack::Pack;
use serde_json::{Value, json};

use super::java;
use super::place::{self, Place, RowPart, Step, places, row_names};
use super::reference::{TurnView, is_reset};
use super::rule::{Condition, Move, Rule, RuleSet};
use crate::expect::absent;

/// The recorded turns of a pack and what the rules have made of them.
pub(super) struct Rewriter<'r> {
    rules: &'r RuleSet,
    pack: &'r Pack,
    turns: Vec<Rewritten>,
    /// The expectations of `turns`.
    expectations: Vec<Value>,
}

/// A recorded turn and its rewritten expectation.
struct Rewritten {
    label: Option<String>,
    recorded: Value,
    forgotten: usize,
}

/// What was changed in a turn: by ruling and rule the number of changes, in the order of their parts.
pub(super) type Changes = Vec<Vec<Vec<usize>>>;

impl<'r> Rewriter<'r> {
    /// Creates a rewriter of the turns of a pack.
    pub fn new(rules: &'r RuleSet, pack: &'r Pack) -> Rewriter<'r> {
        Rewriter { rules, pack, turns: Vec::new(), expectations: Vec::new() }
    }

    /// Rewrites the expectation of the next turn of the pack; also returns what was changed.
    ///
    /// # Errors
    /// If a rule refers to what is not there.
    pub fn rewrite(&mut self, recording: &str, expect: &Value) -> Result<(Value, Changes)> {
        let number = self.turns.len();
        let label = self.pack.turns[number].conversation.clone();
        let before = self.turns.iter().rposition(|turn| turn.label == label && !turn.recorded.is_null());
        let mut rewritten = expect.clone();
        let forgotten = before.map_or(0, |it| self.turns[it].forgotten);
        let mut changes = Vec::new();
        for ruling in &self.rules.rulings {
            let mut of_ruling = Vec::new();
            for (at, rule) in ruling.rules.iter().enumerate() {
                let is_for = rule.turns.is_none() || rule.names_turn(recording, number);
                let mut turn = Turn { rewriter: self, number, before, forgotten, expect: &mut rewritten };
                let changed = if is_for && !expect.is_null() { turn.apply(rule) } else { Ok(Vec::new()) };
                of_ruling.push(changed.with_context(|| format!("turn {number}, {}, rule {}", ruling.ruling, at + 1))?);
            }
            changes.push(of_ruling);
        }
        let is_reset = is_reset(&rewritten);
        let rows = |turn: usize| self.expectations[turn]["history"].as_array().map_or(0, Vec::len);
        let forgotten = if is_reset { before.map_or(0, rows) } else { forgotten };
        self.turns.push(Rewritten { label, recorded: expect.clone(), forgotten });
        self.expectations.push(rewritten.clone());
        Ok((rewritten, changes))
    }
}

/// A turn that is being rewritten.
struct Turn<'t, 'r> {
    rewriter: &'t Rewriter<'r>,
    number: usize,
    before: Option<usize>,
    forgotten: usize,
    expect: &'t mut Value,
}

impl Turn<'_, '_> {
    /// Returns the turn for values; `place` is where a value goes.
    fn view<'v>(&'v self, place: Option<&'v [Step]>) -> TurnView<'v> {
        let rewriter = self.rewriter;
        TurnView {
            names: &rewriter.rules.names,
            pack: rewriter.pack,
            turn: &rewriter.pack.turns[self.number],
            expect: self.expect,
            before: self.before.map(|it| (&rewriter.turns[it].recorded, &rewriter.expectations[it])),
            turns: &rewriter.expectations,
            forgotten: self.forgotten,
            place,
        }
    }

    /// Applies a rule; returns the number of changes of each of its parts.
    fn apply(&mut self, rule: &Rule) -> Result<Vec<usize>> {
        let is_met =
            |condition: &Option<Condition>, default: bool| condition.as_ref().map_or(Ok(default), |condition| self.holds(condition));
        if !is_met(&rule.when, true)? || is_met(&rule.unless, false)? {
            return Ok(Vec::new());
        }
        let mut changes = Vec::new();
        for (piece, new) in &rule.replace {
            let piece = self.view(None).fill(piece)?;
            let new = self
                .view(None)
                .compute(new)?
                .and_then(|value| value.as_str().map(str::to_owned))
                .context("the new text of a replacement must be a string")?;
            changes.push(replace_piece(self.expect, &piece, &new));
        }
        for path in &rule.json {
            changes.push(self.print_json(path));
        }
        for (path, items) in &rule.insert {
            let items = self.view(None).compute(items)?.unwrap_or_default();
            changes.push(self.insert(path, items));
        }
        for path in &rule.remove {
            changes.push(self.remove(path));
        }
        for (path, value) in &rule.set {
            let mut changed = 0;
            for place in self.places(path, RowPart::Payload) {
                let value = self.view(Some(&place)).compute(value)?;
                changed += self.set(&place, value.as_ref());
            }
            changes.push(changed);
        }
        for (path, members) in &rule.merge {
            let mut changed = 0;
            for place in self.places(path, RowPart::Payload) {
                changed += self.merge(&place, members)?;
            }
            changes.push(changed);
        }
        for (list, moved) in &rule.moves {
            changes.push(usize::from(self.move_item(list, moved)));
        }
        Ok(changes)
    }

    fn holds(&self, condition: &Condition) -> Result<bool> {
        let view = self.view(None);
        match condition {
            Condition::Exists(path) => Ok(self.places(path, RowPart::Row).iter().any(|place| place::get(self.expect, place).is_some())),
            Condition::Equals(values) => {
                for (name, value) in values {
                    let found = view.find(name);
                    if found.is_none() || (value != "any" && found != view.compute(value)?) {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
        }
    }

    fn places(&self, path: &str, part: RowPart) -> Vec<Place> {
        self.view(None).paths(path).iter().flat_map(|it| places(self.expect, it, part)).collect()
    }

    fn print_json(&mut self, path: &str) -> usize {
        let mut changed = 0;
        for place in self.places(path, RowPart::Payload) {
            let Some(Value::String(text)) = place::get_mut(self.expect, &place) else { continue };
            let printed = java::print_json(text);
            changed += usize::from(printed != *text);
            *text = printed;
        }
        changed
    }

    /// Inserts items after the last place of a path, or at the end of the list there.
    fn insert(&mut self, path: &str, items: Value) -> usize {
        let exists = |place: &Place| place::get(self.expect, place).is_some();
        let Some(mut place) = self.places(path, RowPart::Row).into_iter().rfind(exists) else { return 0 };
        let is_audit = path.starts_with("audit");
        let Value::Array(items) = items else { return 0 };
        let items: Vec<Value> = if is_audit { items.into_iter().flat_map(audit_rows).collect() } else { items };
        let at = match place::get(self.expect, &place) {
            Some(Value::Array(list)) => list.len(),
            _ => match place.pop() {
                Some(Step::Item(at)) => at + 1,
                _ => return 0,
            },
        };
        let Some(Value::Array(list)) = place::get_mut(self.expect, &place) else { return 0 };
        let count = items.len();
        drop(list.splice(at..at, items));
        count
    }

    fn remove(&mut self, path: &str) -> usize {
        if let Some((first, last)) = path.split_once("..") {
            return self.remove_range(first, last);
        }
        let mut places = self.places(path, RowPart::Row);
        places.retain(|place| place::get(self.expect, place).is_some());
        // From behind, so that the others stay where they are.
        for place in places.iter().rev() {
            if is_listed_member(place) {
                place::put(self.expect, place, absent());
            } else {
                place::remove(self.expect, place);
            }
        }
        places.len()
    }

    fn remove_range(&mut self, first: &str, last: &str) -> usize {
        let Some((root, first)) = first.split_once('.') else { return 0 };
        let texts =
            |value: &Value| value.as_array().into_iter().flatten().map(|text| text.as_str().unwrap_or_default().to_owned()).collect();
        let names: Vec<String> = if root == "audit" { row_names(self.expect) } else { texts(&self.expect[root]) };
        let Some(from) = names.iter().position(|it| it == first) else { return 0 };
        let to = if last.is_empty() { names.len() } else { names.iter().position(|it| it == last).map_or(from, |it| it + 1) };
        let Some(list) = self.expect[root].as_array_mut() else { return 0 };
        drop(list.drain(from..to));
        to - from
    }

    /// Sets the value at a place, or removes it; returns the number of changes.
    fn set(&mut self, place: &Place, value: Option<&Value>) -> usize {
        let old = place::get(self.expect, place);
        match value {
            Some(value) if old != Some(value) => place::put(self.expect, place, value.clone()),
            None if old.is_some() && is_listed_member(place) => place::put(self.expect, place, absent()),
            None if old.is_some() => place::remove(self.expect, place),
            _ => return 0,
        }
        1
    }

    /// Sets the members at a place, and of the objects in it.
    fn merge(&mut self, place: &Place, members: &Value) -> Result<usize> {
        if let (Some(Value::Object(_)), Value::Object(members)) = (place::get(self.expect, place), members) {
            let mut changed = 0;
            for (name, member) in members {
                changed += self.merge(&[&place[..], &[Step::Member(name.clone())]].concat(), member)?;
            }
            return Ok(changed);
        }
        let value = self.view(Some(place)).compute(members)?;
        Ok(self.set(place, value.as_ref()))
    }

    /// Moves an item of a list behind another one, or inserts it there; returns whether the list changed.
    fn move_item(&mut self, list: &str, moved: &Move) -> bool {
        let position = |expect: &Value, path: &str| {
            let found = places(expect, &format!("{list}.{path}"), RowPart::Row).pop();
            found.and_then(|place| if let Some(Step::Item(at)) = place.last() { Some(*at) } else { None })
        };
        if position(self.expect, &moved.after).is_none() {
            return false;
        }
        let old = self.expect[list].clone();
        let item = match position(self.expect, &moved.item) {
            Some(at) => self.expect[list].as_array_mut().map(|it| it.remove(at)),
            None => Some(json!(moved.item)).filter(|_| !moved.item.starts_with('(')),
        };
        let (Some(item), Some(after)) = (item, position(self.expect, &moved.after)) else { return false };
        if let Some(list) = self.expect[list].as_array_mut() {
            list.insert(after + 1, item);
        }
        self.expect[list] != old
    }
}

/// Whether the comparison looks at a member only if it is expected: those of the answer, the row, calls, history and progress.
fn is_listed_member(place: &Place) -> bool {
    match &place[..] {
        [Step::Member(root), Step::Member(_)] => root == "json" || root == "conversation",
        [Step::Member(root), Step::Item(_), Step::Member(_)] => root != "audit" && root != "json",
        _ => false,
    }
}

/// Returns the audit rows of an object with stages and payloads, or a row that is one of the recording.
fn audit_rows(rows: Value) -> Vec<Value> {
    match rows {
        row if row["stage"].is_string() => vec![row],
        Value::Object(rows) => rows.into_iter().map(|(stage, payload)| audit_row(&stage, payload)).collect(),
        _ => Vec::new(),
    }
}

/// Returns an audit row; of one without a payload only the stage is compared.
fn audit_row(stage: &str, payload: Value) -> Value {
    if payload.is_null() { json!({"stage": stage}) } else { json!({"stage": stage, "payload": payload}) }
}

/// Replaces a piece of all texts; returns the number of texts.
fn replace_piece(value: &mut Value, piece: &str, new: &str) -> usize {
    match value {
        Value::String(text) if text.contains(piece) => {
            *text = text.replace(piece, new);
            1
        }
        // The beginning of a long text.
        Value::Object(members) if members.contains_key("$head") => 0,
        Value::Object(members) => members.values_mut().map(|it| replace_piece(it, piece, new)).sum(),
        Value::Array(items) => items.iter_mut().map(|it| replace_piece(it, piece, new)).sum(),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}
