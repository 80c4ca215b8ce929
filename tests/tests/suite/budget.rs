//! What a turn without a model stores, held against `tests/budget.txt`. Instructions and allocations are `cargo xtask bench`'s.

use convengine_server::rows;
use convengine_server::store::turn::compress;
use convengine_tests::plain::Plain;
use convengine_tests::root;

fn limit(key: &str) -> usize {
    let budget = std::fs::read_to_string(root().join("tests/budget.txt")).unwrap();
    let line = budget.lines().find_map(|it| it.strip_prefix(key)?.trim().strip_prefix('='));
    line.unwrap_or_else(|| panic!("tests/budget.txt has no {key}")).trim().parse().unwrap()
}

#[test]
fn a_turn_stores_no_more_than_its_budget() {
    let plain = Plain::open(&root().join("tests/packs/bench/plain.json")).unwrap();
    let (mut turns, mut audit, mut journal) = (0, 0, 0);
    plain
        .play(|ended| {
            let rows = rows::of_turn(&ended.turn, &ended.outcome, &ended.notices, 0, rows::About::default())?;
            turns += 1;
            audit += rows.audit.text().len();
            journal += compress(ended.turn.journal())?.len();
            Ok(())
        })
        .unwrap();
    assert!(turns >= 10, "only {turns} turns");
    assert!(audit / turns <= limit("audit_bytes_per_turn"), "{} bytes of audit rows a turn", audit / turns);
    assert!(journal / turns <= limit("journal_bytes_per_turn"), "{} bytes of journal a turn", journal / turns);
}

#[test]
fn a_long_conversation_keeps_its_journals_small() {
    let plain = Plain::open(&root().join("tests/packs/bench/plain.json")).unwrap();
    let mut session = convengine_core::turn::Loaded::default();
    let mut longest = 0;
    for message in plain.messages().iter().cycle().take(60) {
        let mut input =
            message.clone().input(&convengine_core::pack::Conversations::default(), convengine_core::turn::ProgramRef::PipelineV2);
        input.session = session;
        input.session.history.truncate(20);
        let ended = plain.one(input).unwrap();
        longest = longest.max(compress(ended.turn.journal()).unwrap().len());
        session = ended.turn.journal().input.session.clone().after(&ended.outcome.writes);
    }
    assert!(longest <= 4_096, "a journal of {longest} bytes");
}
