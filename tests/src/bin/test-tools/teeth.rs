//! Mutation test of the corpus: changes every leaf of every expectation, one at a time, and requires the comparison to fail.
//!
//! A leaf that can be changed without a failure is a check that cannot fail; each is printed, and the exit code is 1. Of a recording the
//! values that rules have made of it are changed, so that another answer than ours fails there too. The checks and answers of talks are
//! changed as well, those of flows included.

use anyhow::{Result, ensure};
use convengine_core::pack::{Check, PackAnswer, PackTurn};
use convengine_player::{CorePlayer, PlayedTurn, Suspend, differences, failed_checks};
use convengine_tests::{corpus, flows, known_differences};
use serde_json::{Value, json};

/// Runs the command; returns whether every change was detected.
pub fn run() -> Result<bool> {
    let mutations = mutate_corpus()?;
    println!("{} changed expectations failed, {} passed despite the change", mutations.detected, mutations.undetected.len());
    mutations.undetected.iter().for_each(|it| println!("  {it}"));
    Ok(mutations.undetected.is_empty())
}

#[derive(Default)]
struct Mutations {
    detected: usize,
    undetected: Vec<String>,
}

impl Mutations {
    fn record(&mut self, failed: bool, what: String) {
        if failed {
            self.detected += 1;
        } else {
            self.undetected.push(what);
        }
    }
}

fn mutate_corpus() -> Result<Mutations> {
    let explained = known_differences()?;
    let mut mutations = Mutations::default();
    for case in corpus()?.into_iter().chain(flows()?) {
        let mut player = CorePlayer::new(&case.pack, Suspend::Never);
        let (expectations, _) = explained.expectations(&case.pack)?;
        for (turn, expected) in case.pack.turns.iter().enumerate() {
            let played = player.play(turn)?.played;
            let name = format!("{} turn {turn}", case.pack.name);
            for (changed, what) in mutate_turn(expected, &played) {
                mutations.record(!failed_checks(&changed, &played).is_empty(), format!("{name} {what}"));
            }
            for (altered, text) in with_forbidden_messages(expected, &played) {
                mutations.record(!failed_checks(expected, &altered).is_empty(), format!("{name} without the message '{text}'"));
            }
            let Some(expect) = &expectations[turn].expect else { continue };
            ensure!(differences(expect, &played).is_empty(), "{name} is not as expected");
            for path in leaf_pointers(expect) {
                let mut changed = expect.clone();
                if let Some(leaf) = changed.pointer_mut(&path) {
                    *leaf = mutate_leaf(leaf);
                }
                mutations.record(!differences(&changed, &played).is_empty(), format!("{name} {path}"));
            }
        }
    }
    Ok(mutations)
}

/// Returns a talk's turn with one check changed, with an answer duplicated, and with two answers swapped.
fn mutate_turn(turn: &PackTurn, played: &PlayedTurn) -> Vec<(PackTurn, String)> {
    let mut changed = Vec::new();
    for (index, checked) in turn.checks.iter().enumerate() {
        for check in mutate_check(&checked.check, played) {
            let mut turn = turn.clone();
            turn.checks[index].check = check;
            changed.push((turn, format!("line {} {:?}", checked.line, checked.check)));
        }
    }
    for (index, answer) in turn.answers.iter().enumerate() {
        let what = format!("line {} {}", answer.line, answer.call);
        let mut more = turn.clone();
        more.answers.insert(index, answer.clone());
        changed.push((more, format!("{what} twice")));
        let Some(position) = turn.answers.iter().skip(index + 1).position(|next: &PackAnswer| next.call != answer.call) else { continue };
        let mut swapped = turn.clone();
        swapped.answers.swap(index, index + 1 + position);
        changed.push((swapped, format!("{what} later")));
    }
    changed
}

/// Returns the played turn with each progress message that its checks forbid.
fn with_forbidden_messages(turn: &PackTurn, played: &PlayedTurn) -> Vec<(PlayedTurn, String)> {
    let forbidden = turn.checks.iter().filter_map(|check| if let Check::NoVerbose(text) = &check.check { Some(text) } else { None });
    let with = |text: &String| {
        let mut altered = played.clone();
        altered.verbose.push(json!({"text": text}));
        (altered, text.clone())
    };
    forbidden.map(with).collect()
}

/// Returns variants of a check that fail on a turn on which the check passes.
fn mutate_check(check: &Check, played: &PlayedTurn) -> Vec<Check> {
    let text = |it: &String| format!("{it} changed");
    match check {
        Check::Reply(it) => vec![Check::Reply(text(it))],
        Check::ReplyContains(it) => vec![Check::ReplyContains(text(it))],
        Check::Fails(it) => vec![Check::Fails(text(it))],
        Check::Verbose(it) => vec![Check::Verbose(text(it))],
        Check::NoStage(_) => played.audit.first().map(|row| Check::NoStage(row.0.clone())).into_iter().collect(),
        // Covered by `with_forbidden_messages`, which adds the forbidden message to the turn.
        Check::NoVerbose(_) => Vec::new(),
        Check::Contains { path, text: it } => vec![Check::Contains { path: path.clone(), text: text(it) }],
        // Every answer has members.
        Check::Absent(_) => played.json.as_object().into_iter().flatten().take(1).map(|member| Check::Absent(member.0.clone())).collect(),
        Check::Lacks { path, .. } => vec![Check::Lacks { path: path.clone(), text: String::new() }],
        Check::Place { intent, state } => {
            vec![Check::Place { intent: text(intent), state: state.clone() }, Check::Place { intent: intent.clone(), state: text(state) }]
        }
        Check::Stages(stages) => mutate_list(stages).into_iter().map(Check::Stages).collect(),
        Check::Calls(calls) => {
            let more = calls.iter().cloned().chain(["one_more".to_owned()]).collect();
            mutate_list(calls).into_iter().chain([more]).map(Check::Calls).collect()
        }
        Check::ReplyJson(value) => mutate_value(value).into_iter().map(Check::ReplyJson).collect(),
        Check::Equals { path, value } => mutate_value(value).into_iter().map(|value| Check::Equals { path: path.clone(), value }).collect(),
    }
}

fn mutate_list(names: &[String]) -> Vec<Vec<String>> {
    let changed =
        |index: usize| names.iter().enumerate().map(move |(at, name)| if at == index { format!("{name} changed") } else { name.clone() });
    (0..names.len()).map(|index| changed(index).collect()).collect()
}

fn mutate_value(value: &Value) -> Vec<Value> {
    let changed = |path: &String| {
        let mut value = value.clone();
        if let Some(leaf) = value.pointer_mut(path) {
            *leaf = mutate_leaf(leaf);
        }
        value
    };
    leaf_pointers(value).iter().map(changed).collect()
}

/// Returns JSON pointers to all scalars and empty containers.
fn leaf_pointers(value: &Value) -> Vec<String> {
    let inner = |name: &str, member: &Value| -> Vec<String> {
        let name = name.replace('~', "~0").replace('/', "~1");
        leaf_pointers(member).into_iter().map(|pointer| format!("/{name}{pointer}")).collect()
    };
    match value {
        Value::Object(members) if !members.is_empty() => members.iter().flat_map(|(name, it)| inner(name, it)).collect(),
        Value::Array(items) if !items.is_empty() => items.iter().enumerate().flat_map(|(at, item)| inner(&at.to_string(), item)).collect(),
        _ => vec![String::new()],
    }
}

/// Returns another value of the same type.
fn mutate_leaf(leaf: &Value) -> Value {
    match leaf {
        Value::Null => json!("changed"),
        Value::Bool(on) => json!(!on),
        Value::Number(number) => json!(number.as_f64().unwrap_or_default() + 1.0),
        Value::String(text) => json!(format!("{text} changed")),
        Value::Array(_) => json!(["changed"]),
        Value::Object(_) => json!({"changed": true}),
    }
}
