//! The corpus in the core: whole, and saved as JSON after every completion.

use std::collections::BTreeMap;
use std::io::Write;

use convengine_server::play::{CorePlayer, PackReport, Suspend, TurnReport, play_core};
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
    let recorded = |it: &&&TurnReport| !it.explained.is_empty();
    let turns: Vec<&TurnReport> = reports.iter().flat_map(|it| &it.turns).collect();
    assert!(turns.len() > 600, "only {} turns were played", turns.len());
    let (explained, answers) = (turns.iter().filter(recorded).count(), turns.iter().filter(|it| it.other_answer).count());
    // The test runner keeps what `println!` says to itself.
    let mut out = std::io::stdout().lock();
    let (packs, equal) = (cases.len(), turns.len() - explained);
    writeln!(out, "{packs} packs, {} turns: {equal} equal, {explained} explained by ruling, 0 unexplained", turns.len()).unwrap();
    let same = turns.len() - answers;
    writeln!(out, "of these turns, {same} have the expected answer and {answers} another one that a ruling explains").unwrap();
    let mut rulings: BTreeMap<&str, usize> = BTreeMap::new();
    turns.iter().flat_map(|it| &it.explained).for_each(|(ruling, count)| *rulings.entry(ruling).or_default() += count);
    rulings.iter().for_each(|(ruling, count)| writeln!(out, "{count:6} {ruling}").unwrap());
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
