//! The rules as they are written. (tests/README.md)

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

/// A file of rules.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleFile {
    /// The names of the packs that are recordings; no other is rewritten.
    recordings: Vec<String>,
    /// Values to which rules refer by an anchor.
    #[serde(default)]
    #[expect(dead_code, reason = "the parser resolves anchors")]
    values: IgnoredAny,
    /// Paths that one name stands for; it begins with `$`.
    #[serde(default)]
    names: BTreeMap<String, Vec<String>>,
    /// Rules that several rulings use.
    #[serde(default)]
    shapes: BTreeMap<String, Vec<Rule>>,
    rulings: Vec<Ruling>,
}

/// A decision with the differences that follow from it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Ruling {
    /// The page of the decision, and the reason in a few words.
    pub ruling: String,
    pub rules: Vec<Rule>,
}

/// A change of a recorded turn. The members after `like` are applied in their order here.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Rule {
    /// The turns by recording, which is named up to its first underscore; without it every turn.
    #[serde(rename = "in")]
    pub turns: Option<BTreeMap<String, Vec<usize>>>,
    /// Applies only if this holds.
    pub when: Option<Condition>,
    /// Applies only if this does not hold.
    pub unless: Option<Condition>,
    /// The shape whose rules follow this one, in the same turns.
    pub like: Option<String>,
    /// Pieces of any text, each with the one that takes its place.
    pub replace: Map<String, Value>,
    /// Texts in which values printed by Java become JSON.
    pub json: Vec<String>,
    /// Items that follow another one, by its path; at the end of a list if the path is that of the list.
    pub insert: Map<String, Value>,
    /// What is not there any more. `X..Y` is a range of audit rows or steps, `X..` the rest.
    pub remove: Vec<String>,
    /// Values by path.
    pub set: Map<String, Value>,
    /// Members of objects by path; members that are not named stay.
    pub merge: Map<String, Value>,
    /// Items of a list that come right after another one.
    #[serde(rename = "move")]
    pub moves: BTreeMap<String, Move>,
    /// The shape that the rule comes from, and its number there.
    #[serde(skip)]
    pub shape: Option<String>,
}

/// A condition on the turn.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum Condition {
    /// Something is at the path.
    Exists(String),
    /// These values are at their paths; `any` is any value.
    Equals(Map<String, Value>),
}

/// An item of a list that comes right after another one.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Move {
    pub item: String,
    pub after: String,
}

/// The rules of a file, without shapes.
#[derive(Debug, Default)]
pub(super) struct RuleSet {
    pub recordings: Vec<String>,
    pub names: BTreeMap<String, Vec<String>>,
    pub rulings: Vec<Ruling>,
}

impl RuleSet {
    /// Parses a file of rules.
    pub fn parse(text: &str) -> Result<RuleSet> {
        let file: RuleFile = serde_saphyr::from_str(text).context("invalid rules of explained differences")?;
        let mut rulings = file.rulings;
        for ruling in &mut rulings {
            ensure!(!ruling.ruling.trim().is_empty(), "a ruling has no reason");
            let written = std::mem::take(&mut ruling.rules);
            for rule in written {
                check_turns(&rule, &file.recordings).with_context(|| ruling.ruling.clone())?;
                ruling.rules.extend(with_shape(rule, &file.shapes)?);
            }
        }
        Ok(RuleSet { recordings: file.recordings, names: file.names, rulings })
    }

    /// Returns the short name of a recording, which is the one up to its first underscore; `None` for any other pack.
    pub fn recording<'n>(&self, pack: &'n str) -> Option<&'n str> {
        self.recordings.iter().any(|it| it == pack).then(|| short_name(pack))
    }
}

fn short_name(pack: &str) -> &str {
    pack.split('_').next().unwrap_or(pack)
}

fn check_turns(rule: &Rule, recordings: &[String]) -> Result<()> {
    for name in rule.turns.iter().flat_map(BTreeMap::keys) {
        let found = recordings.iter().filter(|recording| short_name(recording) == name).count();
        ensure!(found == 1, "'{name}' names {found} recordings; use the part of a name before its first underscore");
    }
    Ok(())
}

/// Returns a rule and the rules of its shape, which get its turns and conditions.
fn with_shape(mut rule: Rule, shapes: &BTreeMap<String, Vec<Rule>>) -> Result<Vec<Rule>> {
    let Some(name) = rule.like.take() else { return Ok(vec![rule]) };
    let Some(shape) = shapes.get(&name) else { bail!("unknown shape '{name}'") };
    let of_shape = |(at, part): (usize, &Rule)| Rule {
        turns: rule.turns.clone(),
        when: rule.when.clone(),
        unless: rule.unless.clone(),
        shape: Some(format!("shape '{name}', rule {}", at + 1)),
        ..part.clone()
    };
    let mut rules: Vec<Rule> = shape.iter().enumerate().map(of_shape).collect();
    if !rule.parts().is_empty() {
        rules.insert(0, rule);
    }
    Ok(rules)
}

impl Rule {
    /// Returns the names of the parts, in the order in which they are applied.
    pub fn parts(&self) -> Vec<String> {
        let named =
            |what: &'static str, names: Vec<&String>| names.into_iter().map(move |name| format!("{what} {name}")).collect::<Vec<_>>();
        [
            named("replace", self.replace.keys().collect()),
            named("json", self.json.iter().collect()),
            named("insert", self.insert.keys().collect()),
            named("remove", self.remove.iter().collect()),
            named("set", self.set.keys().collect()),
            named("merge", self.merge.keys().collect()),
            named("move", self.moves.keys().collect()),
        ]
        .concat()
    }

    /// Whether the rule names a turn.
    pub fn names_turn(&self, recording: &str, turn: usize) -> bool {
        self.turns.as_ref().is_some_and(|turns| turns.get(recording).is_some_and(|numbers| numbers.contains(&turn)))
    }
}
