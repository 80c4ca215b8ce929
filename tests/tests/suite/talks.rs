//! Talks with assistants, workflows and AI agents: each plays in the core and over HTTP with the same responses. Each talk is a test.

use std::path::Path;

use convengine_core::pack::{Check, PackTurn};
use convengine_host_base::pack_file;
use convengine_player::{CorePlayer, HttpPlayer, ServerOptions, Suspend, failed_checks};
use convengine_test_macros::test_files;
use convengine_tests::root;
use serde_json::{Value, json};

use crate::harness::{SECRETS_KEY, TestEnv};

/// Members of responses with times or durations, and with hashes of documents that name the address of a service.
const VOLATILE: [&str; 4] = ["since", "ms", "created_at", "snapshot"];

test_files! {
    play: ["packs/agent/*.talk", "packs/flow/*.talk", "packs/workflow/*.talk"],
    postgres_every: 6,
}

/// A response without values that differ between runs.
fn without_volatile(mut answer: Value) -> Value {
    match &mut answer {
        Value::Object(members) => {
            members.retain(|name, _| !VOLATILE.contains(&name.as_str()));
            members.values_mut().for_each(|member| *member = without_volatile(member.take()));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = without_volatile(item.take())),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    answer
}

/// A turn without the checks that a client cannot see: the stored session with its times, and the requests of effects.
fn without_internal_checks(turn: &PackTurn) -> PackTurn {
    let inside = |path: &str| ["session", "requests", "turn"].contains(&path.split('.').next().unwrap_or_default());
    let mut turn = turn.clone();
    turn.checks.retain(|checked| match &checked.check {
        Check::Equals { path, .. } | Check::Absent(path) | Check::Contains { path, .. } | Check::Lacks { path, .. } => !inside(path),
        _ => true,
    });
    turn
}

/// Plays a talk over HTTP and in the core; returns the differences.
fn differences(path: &Path) -> Vec<String> {
    let pack = pack_file::read(path).unwrap();
    let mut core = CorePlayer::new(&pack, Suspend::Never);
    let env = TestEnv::with_tables();
    // PostgreSQL has no file beside it in which the server could keep a key of its own.
    let key = format!("convengine.secrets-key=file:{}", env.write("key", SECRETS_KEY));
    let options = ServerOptions { database: Some(env.database_url()), settings: vec![key], ..ServerOptions::default() };
    let mut http = HttpPlayer::start(&pack, path, &options).unwrap();
    let mut found = Vec::new();
    for (turn, of_pack) in pack.turns.iter().enumerate() {
        let label = format!("{} turn {turn}", path.file_name().unwrap_or_default().display());
        let expected = core.play(turn).unwrap_or_else(|error| panic!("{label}: {error:#}")).played;
        let played = http.play(turn).unwrap_or_else(|error| panic!("{label}: {error:#}"));
        // A message after the end is an error on the server; the core returns nothing.
        if played.status == 409 && played.json["error"]["code"] == "session_completed" {
            assert_eq!((&expected.json["status"], &expected.json["messages"]), (&json!("completed"), &json!([])), "{label}");
            continue;
        }
        if played.status != 200 {
            found.push(format!("{label}: {} {}", played.status, played.json));
            continue;
        }
        found.extend(failed_checks(&without_internal_checks(of_pack), &played).into_iter().map(|it| format!("{label}: {it:?}")));
        let (ours, theirs) = (without_volatile(played.json), without_volatile(expected.json));
        let differing = ours.as_object().into_iter().flatten().filter(|member| theirs.get(member.0) != Some(member.1));
        found.extend(differing.map(|(name, value)| format!("{label}: {name}: {value}, in the core {}", theirs[name])));
    }
    found
}

fn play(file: &str) {
    let found = differences(&root().join("tests").join(file));
    assert!(found.is_empty(), "{} differences:\n{}", found.len(), found.join("\n"));
}
