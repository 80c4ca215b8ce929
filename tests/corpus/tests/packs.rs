//! The packs and talks of the corpus in the core: a test for each and for what holds for it, and one for all of them together.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use convengine_core::list_transitions;
use convengine_core::turn::{CancelReason, CancelledTurn, StateTransition, Turn};
use convengine_corpus::checks::{check_cancellation, check_expectations, check_suspension};
use convengine_corpus::durations::time_test;
use convengine_corpus::{Case, NEEDS_HOST, corpus, flows, http_only_recordings, known_differences};
use convengine_player::{CorePlayer, ExpectedTurn, Suspend};
use libtest_mimic::{Arguments, Failed, Trial};

/// The end of a test's name, and what it checks.
type Check = (&'static str, fn(&Case) -> Result<()>);

/// What holds for every pack.
const CHECKS: [Check; 3] = [
    ("is_as_expected", check_expectations),
    ("saved_after_every_completion_ends_the_same", check_suspension),
    ("canceled_while_it_waits_fails_and_replays", check_cancellation),
];

fn main() -> Result<()> {
    let arguments = Arguments::from_args();
    let mut tests = vec![
        test("all::rules_explain_what_was_recorded", check_rules),
        test("all::enough_is_played", check_amount),
        test("all::each_transition_is_taken", check_transitions),
        test("all::a_talk_is_named_after_what_it_shows", check_names),
    ];
    // Leaked once: each test needs its pack as long as the program runs.
    let cases: &'static [Case] = corpus()?.into_iter().chain(flows()?).collect::<Vec<Case>>().leak();
    for case in cases.iter().filter(|it| !it.needs_host()) {
        tests.extend(CHECKS.map(|(name, check)| test(&format!("{}::{name}", case.name()), move || check(case))));
    }
    libtest_mimic::run(&arguments, tests).exit()
}

fn test(name: &str, check: impl FnOnce() -> Result<()> + Send + 'static) -> Trial {
    let own = name.to_owned();
    Trial::test(name, move || time_test(&own, check).map_err(|error| Failed::from(format!("{error:#}"))))
}

/// Each recording is listed where its rules are, and no part of a rule changes nothing; prints how much they explain.
fn check_rules() -> Result<()> {
    let (explained, cases, others) = (known_differences()?, corpus()?, http_only_recordings()?);
    let unused = explained.unused(cases.iter().chain(&others).map(|it| &it.pack))?;
    ensure!(unused.is_empty(), "these parts of rules change nothing: {unused:#?}");
    let (mut turns, mut recordings): (Vec<ExpectedTurn>, Vec<&str>) = Default::default();
    for case in &cases {
        turns.extend(explained.expectations(&case.pack)?.0);
    }
    for case in cases.iter().filter(|case| case.name().starts_with("recorded::")).chain(&others) {
        recordings.push(&case.pack.name);
    }
    recordings.sort_unstable();
    ensure!(explained.recordings().eq(recordings.iter().copied()), "the list of recordings is not {recordings:?}");
    let differing = turns.iter().filter(|it| !it.explained.is_empty()).count();
    let answers = turns.iter().filter(|it| it.is_reply_different).count();
    let mut out = std::io::stdout().lock();
    writeln!(out, "{} packs, {} turns: {} equal, {differing} explained by ruling", cases.len(), turns.len(), turns.len() - differing)?;
    writeln!(out, "of these turns, {} have the recorded reply and {answers} another one that a ruling explains", turns.len() - answers)?;
    let mut rulings: BTreeMap<&str, usize> = BTreeMap::new();
    turns.iter().flat_map(|it| &it.explained).for_each(|(ruling, count)| *rulings.entry(ruling).or_default() += count);
    rulings.iter().try_for_each(|(ruling, count)| writeln!(out, "{count:6} {ruling}"))?;
    Ok(())
}

/// The turns wait often enough for the tests of suspension and cancellation to mean something.
fn check_amount() -> Result<()> {
    for (cases, turns, waits) in [(corpus()?, 600, 300), (flows()?, 200, 60)] {
        let (mut played, mut waited) = (0, 0);
        for case in cases.iter().filter(|it| !it.needs_host()) {
            let mut player = CorePlayer::new(&case.pack, Suspend::Never);
            for turn in 0..case.pack.turns.len() {
                waited += player.play(turn).with_context(|| case.name())?.journal.entries.len();
                played += 1;
            }
        }
        ensure!(played > turns, "only {played} turns were played");
        ensure!(waited > waits, "only {waited} waits were tried");
    }
    Ok(())
}

/// The conversations take each transition of the tables of states, some of them because a host cancels the turn. Those of circuit breakers,
/// which hosts have, are taken by a test of `turn`.
fn check_transitions() -> Result<()> {
    let mut missing: BTreeSet<StateTransition> = list_transitions().into_iter().filter(|it| it.machine != "circuit_breaker").collect();
    let cases: Vec<Case> = corpus()?.into_iter().chain(flows()?).collect();
    for case in cases.iter().filter(|it| !it.needs_host()) {
        let mut player = CorePlayer::new(&case.pack, Suspend::Never);
        for turn in 0..case.pack.turns.len() {
            let journal = player.play(turn).with_context(|| case.name())?.journal;
            let mut canceled = journal.clone();
            canceled.entries.clear();
            canceled.canceled = Some(CancelledTurn { reason: CancelReason::Requested, at: journal.input.at });
            for journal in [journal, canceled] {
                let (observed, _) = Turn::restore_observed(journal, Arc::clone(&player.config)).with_context(|| case.name())?;
                for transition in observed.transitions() {
                    missing.remove(&transition);
                }
            }
        }
    }
    ensure!(missing.is_empty(), "no conversation takes {missing:#?}");
    Ok(())
}

fn check_names() -> Result<()> {
    for case in flows()? {
        let name = case.name();
        let (_, file) = name.split_once("::").unwrap_or_default();
        ensure!(file == case.pack.name || file == "bank", "{file} is named {}", case.pack.name);
        ensure!(!case.pack.about.is_empty(), "{file} does not say what it is about");
    }
    let cases: Vec<Case> = corpus()?.into_iter().chain(flows()?).collect();
    let missing: Vec<&&str> = NEEDS_HOST.iter().filter(|name| !cases.iter().any(|case| case.pack.name == **name)).collect();
    ensure!(missing.is_empty(), "no packs have these names: {missing:?}");
    Ok(())
}
