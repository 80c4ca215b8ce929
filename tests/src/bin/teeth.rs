//! Shows that the corpus bites: changes every leaf of every expectation, one at a time, and demands that the comparison fails.
//!
//! A leaf that can be changed without a failure is a check that cannot fail; each is printed, and the program ends with exit code 1.

use std::process::ExitCode;

use anyhow::Result;
use convengine_server::play::{CorePlayer, Explained, Played, Suspend, compared, differences};
use convengine_tests::{corpus, explained};
use serde_json::{Value, json};

fn main() -> ExitCode {
    match run() {
        Ok((bitten, toothless)) => {
            println!("{bitten} changed expectations failed, {} passed although they were changed", toothless.len());
            toothless.iter().for_each(|it| println!("  {it}"));
            if toothless.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(usize, Vec<String>)> {
    let mut explained = explained()?;
    let (mut bitten, mut toothless) = (0, Vec::new());
    for case in corpus()? {
        let mut player = CorePlayer::new(&case.pack, Suspend::Never);
        for (turn, of_pack) in case.pack.turns.iter().enumerate() {
            let played = player.play(turn)?.played;
            let Some(expect) = of_pack.expect.as_ref().map(compared) else { continue };
            for path in leaves(&expect) {
                let mut changed = expect.clone();
                if let Some(leaf) = changed.pointer_mut(&path) {
                    *leaf = other(leaf);
                }
                if fails(&case.pack.name, turn, &changed, &played, &mut explained) {
                    bitten += 1;
                } else {
                    toothless.push(format!("{} turn {turn} {path}", case.pack.name));
                }
            }
        }
    }
    Ok((bitten, toothless))
}

/// A turn fails by a difference without an explanation, and by an explanation without a difference.
fn fails(pack: &str, turn: usize, expect: &Value, played: &Played, explained: &mut Explained) -> bool {
    let found = differences(expect, played);
    found.len() != explained.of_turn(pack, turn) || found.iter().any(|it| explained.explain(pack, turn, it).is_none())
}

/// Pointers to all scalars and empty containers.
fn leaves(value: &Value) -> Vec<String> {
    let inner = |name: &str, member: &Value| -> Vec<String> {
        let name = name.replace('~', "~0").replace('/', "~1");
        leaves(member).into_iter().map(|it| format!("/{name}{it}")).collect()
    };
    match value {
        Value::Object(members) if !members.is_empty() => members.iter().flat_map(|(name, it)| inner(name, it)).collect(),
        Value::Array(items) if !items.is_empty() => items.iter().enumerate().flat_map(|(at, it)| inner(&at.to_string(), it)).collect(),
        _ => vec![String::new()],
    }
}

/// Another value of the same kind.
fn other(leaf: &Value) -> Value {
    match leaf {
        Value::Null => json!("changed"),
        Value::Bool(on) => json!(!on),
        Value::Number(number) => json!(number.as_f64().unwrap_or_default() + 1.0),
        Value::String(text) => json!(format!("{text} changed")),
        Value::Array(_) => json!(["changed"]),
        Value::Object(_) => json!({"changed": true}),
    }
}
