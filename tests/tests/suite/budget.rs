//! What a turn without a model stores and how many statements it executes, compared with `tests/budget.txt`. `cargo xtask test` counts
//! instructions and allocations beside the tests.

use convengine_player::{CorePlayer, Suspend};
use convengine_storage::rows::Rows;
use convengine_storage::turn::compress;
use convengine_storage::turn_rows::Table;
use convengine_test_macros::test;
use convengine_tests::effect_free::EffectFreePack;
use convengine_tests::{flows, root, synthetic};
use convengine_turns::rows;
use serde_json::{Value, json};

use crate::harness::{REGEX_ONLY, SERVE, TestEnv};

/// Stores every audit record.
const AUDIT_ALL: [&str; 2] = ["--set", "convengine.audit.level=ALL"];

/// The log target of statements on SQLite.
const STATEMENT: &str = "sqlx::query";

fn limit(key: &str) -> usize {
    let budget = std::fs::read_to_string(root().join("tests/budget.txt")).unwrap();
    let line = budget.lines().find_map(|line| line.strip_prefix(key)?.trim().strip_prefix('='));
    line.unwrap_or_else(|| panic!("tests/budget.txt has no {key}")).trim().parse().unwrap()
}

#[test]
#[on(no_database)]
fn a_turn_stores_no_more_than_its_budget() {
    let plain = EffectFreePack::open(&root().join("tests/packs/bench/plain.json")).unwrap();
    let (mut turns, mut audit, mut journal) = (0, 0, 0);
    plain
        .play(|ended| {
            let rows = rows::render_turn(&ended.turn, &ended.outcome, &ended.notices, 0, rows::RowContext::default())?;
            turns += 1;
            audit += rows.find(Table::Audit).map_or(0, Rows::byte_count);
            journal += compress(ended.turn.journal())?.len();
            Ok(())
        })
        .unwrap();
    assert!(turns >= 10, "only {turns} turns");
    assert!(audit / turns <= limit("audit_bytes_per_turn"), "{} bytes of audit rows a turn", audit / turns);
    assert!(journal / turns <= limit("journal_bytes_per_turn"), "{} bytes of journal a turn", journal / turns);
}

/// Statements are in the log on SQLite.
#[test]
#[on(sqlite)]
fn a_turn_executes_no_more_statements_than_its_budget() {
    let text = std::fs::read_to_string(root().join("tests/packs/bench/plain.json")).unwrap();
    let pack: Value = serde_json::from_str(&text).unwrap();
    let env = TestEnv::with_pack(&pack);
    let server = env.start(env.command(&[&SERVE[..], &REGEX_ONLY, &AUDIT_ALL].concat()).env("RUST_LOG", format!("{STATEMENT}=debug")));
    let messages: Vec<&Value> = pack["turns"].as_array().unwrap().iter().map(|it| &it["request"]["body"]).collect();
    let play = |conversation: usize| {
        for message in &messages {
            let mut message = (*message).clone();
            message["conversationId"] = json!(format!("6a4f0c52-8f0e-4d0b-9f65-{conversation:012}"));
            assert_eq!(server.post(message.to_string()).status, 200);
        }
    };
    let count_statements = || server.log().matches(STATEMENT).count();
    // The first conversation prepares statements and fills caches.
    play(0);
    let mut counts = [0; 11];
    for (conversation, count) in (1..).zip(&mut counts) {
        let before = count_statements();
        play(conversation);
        *count = count_statements() - before;
    }
    // Background tasks have statements of their own in some of the conversations, in more of them on a busy machine.
    counts.sort_unstable();
    let statements = counts[counts.len() / 2] / messages.len();
    assert!(statements > 0, "no statement was logged");
    assert!(statements <= limit("statements_per_turn"), "{statements} statements a turn");
}

#[test]
#[on(no_database)]
fn a_walk_of_the_maximum_number_of_nodes_requests_no_effect() {
    let plain = EffectFreePack::from_pack(&synthetic::walk_flow(64).unwrap()).unwrap();
    let mut entered = Vec::new();
    plain
        .play(|ended| {
            let answer = ended.outcome.flow.as_deref().unwrap();
            assert_eq!(answer["debug"]["stop_reason"], Value::Null, "{answer}");
            entered.push(answer["debug"]["nodes"].as_array().unwrap().len());
            Ok(())
        })
        .unwrap();
    assert_eq!(entered, [2, 64]);
}

#[test]
#[on(no_database)]
fn a_waiting_session_is_small() {
    let (mut sessions, mut largest) = (0, (0, String::new()));
    for case in flows().unwrap() {
        let mut player = CorePlayer::new(&case.pack, Suspend::Never);
        for turn in 0..case.pack.turns.len() {
            let played = player.play(turn).unwrap();
            let session = played.played.session.to_string().len();
            sessions += 1;
            if session > largest.0 {
                largest = (session, format!("{} turn {turn}", case.pack.name));
            }
        }
    }
    println!("the largest of {sessions} sessions has {} bytes: {}", largest.0, largest.1);
    assert!(sessions > 300 && largest.0 > 1_000, "{largest:?}");
    assert!(largest.0 <= limit("flow_session_bytes"), "{largest:?}");
}

#[test]
#[on(no_database)]
fn a_long_conversation_keeps_its_journals_small() {
    let plain = EffectFreePack::open(&root().join("tests/packs/bench/plain.json")).unwrap();
    let mut session = convengine_core::turn::LoadedSession::default();
    let mut longest = 0;
    for message in plain.messages().iter().cycle().take(60) {
        let mut input =
            message.clone().into_input(&convengine_core::pack::Conversations::default(), convengine_core::turn::ProgramRef::PipelineV2);
        input.session = session;
        input.session.history.truncate(20);
        let ended = plain.play_input(input).unwrap();
        longest = longest.max(compress(ended.turn.journal()).unwrap().len());
        session = ended.turn.journal().input.session.clone().with_writes(&ended.outcome.writes);
    }
    assert!(longest <= 4_096, "a journal of {longest} bytes");
}
