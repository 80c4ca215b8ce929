//! The corpus in the core: whole, and saved as JSON after every completion.

use convengine_server::play::{CorePlayer, PackReport, Suspend, play_core};
use convengine_tests::{corpus, explained};

#[test]
fn every_pack_is_as_expected() {
    let mut explained = explained().unwrap();
    let cases = corpus().unwrap();
    let reports: Vec<PackReport> = cases.iter().map(|it| play_core(&it.pack, Suspend::Never, &mut explained)).collect();
    let failed: Vec<String> = reports.iter().filter(|it| !it.passed()).map(|it| format!("{it:#?}")).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    for case in &cases {
        let idle = explained.idle(&case.pack.name);
        assert!(idle.is_empty(), "explanations that explain nothing: {idle:#?}");
    }
    let turns = reports.iter().flat_map(|it| &it.turns);
    let (all, by_ruling) = turns.fold((0, 0), |(all, ruled), it| (all + 1, ruled + usize::from(!it.explained.is_empty())));
    assert!(all > 250, "only {all} turns were played");
    println!("{} packs, {all} turns: {} equal, {by_ruling} explained by ruling, 0 unexplained", cases.len(), all - by_ruling);
}

#[test]
fn a_turn_saved_after_every_completion_ends_the_same() {
    let mut suspensions = 0;
    for case in corpus().unwrap() {
        let mut whole = CorePlayer::new(&case.pack, Suspend::Never);
        let mut saved = CorePlayer::new(&case.pack, Suspend::Always);
        for turn in 0..case.pack.turns.len() {
            let a = whole.play(turn).unwrap();
            let b = saved.play(turn).unwrap_or_else(|error| panic!("{} turn {turn}: {error:#}", case.pack.name));
            assert_eq!(a.hash, b.hash, "{} turn {turn}", case.pack.name);
            assert_eq!(a.state_hash, b.state_hash, "{} turn {turn}", case.pack.name);
            assert_eq!(a.journal, b.journal, "{} turn {turn}", case.pack.name);
            suspensions += b.journal.entries.len();
        }
    }
    assert!(suspensions > 40, "only {suspensions} suspensions were tried");
}
