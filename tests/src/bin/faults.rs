//! Plays every turn of the corpus with something done to each of its effects, and prints what came of it.
//!
//! `faults [PACK…]`: the packs with these names, or all. It fails when an invariant does not hold, when a pack that has effects has no case, and
//! when all packs together have too few. The worked extension must have been built (`cargo xtask extension`).

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Result, ensure};
use convengine_tests::corpus_with_extension;
use convengine_tests::simulate::fault::FAMILIES;
use convengine_tests::simulate::{Figures, all_of};

/// Violations that are printed in full.
const PRINTED: usize = 40;

/// Cases that there are at least when everything is played.
const CASES: usize = 15_000;

fn main() -> Result<ExitCode> {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let mut cases = corpus_with_extension()?;
    cases.retain(|it| names.is_empty() || names.contains(&it.pack.name));
    ensure!(!cases.is_empty(), "no pack has one of these names");
    let started = Instant::now();
    let figures = all_of(&cases, |_, _| true)?;
    let seconds = started.elapsed().as_secs_f64();
    let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
    print(&figures);
    let violations: Vec<_> = figures.iter().flat_map(|it| &it.violations).collect();
    let untried: Vec<&str> = figures.iter().filter(|it| it.is_untried()).map(|it| it.pack.as_str()).collect();
    let (all, later) = (sum(&figures, Figures::all), sum(&figures, |it| it.later));
    println!("{all} cases and {later} turns after them, in {seconds:.1} s ({profile} profile): {} violations", violations.len());
    for it in violations.iter().take(PRINTED) {
        let place = if it.later { ", in the turn after it" } else { "" };
        println!("  {} {} turn {} {:?}{place}: {}", it.invariant, it.pack, it.turn, it.fault, it.text);
    }
    untried.iter().for_each(|it| println!("  {it} has effects and no case"));
    let too_few = names.is_empty() && all < CASES;
    if too_few {
        println!("  everything has fewer than {CASES} cases");
    }
    Ok(if violations.is_empty() && untried.is_empty() && !too_few { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn print(figures: &[Figures]) {
    println!("{:55} {:>5} {:>7} {:>6} {:>10}", "pack", "turns", "effects", "cases", "violations");
    for it in figures {
        println!("{:55} {:>5} {:>7} {:>6} {:>10}", it.pack, it.turns, it.effects, it.all(), it.violations.len());
    }
    let turns = sum(figures, |it| it.turns);
    println!("{} packs, {turns} turns, {} effects", figures.len(), sum(figures, |it| it.effects));
    for family in FAMILIES {
        println!("{:>7} {family}", sum(figures, |it| it.cases.get(family).copied().unwrap_or_default()));
    }
    let largest = |index: usize| figures.iter().filter_map(|it| it.largest.get(index)).max().copied().unwrap_or_default();
    let [effects, notices, prompt, journal] = [0, 1, 2, 3].map(largest);
    println!("largest: {effects} effects and {notices} notices of a turn, {prompt} characters of a prompt, {journal} bytes of a journal");
    let mut broken: BTreeMap<&str, usize> = BTreeMap::new();
    figures.iter().flat_map(|it| &it.violations).for_each(|it| *broken.entry(it.invariant).or_default() += 1);
    broken.iter().for_each(|(invariant, count)| println!("{count:>7} times {invariant} does not hold"));
}

fn sum(figures: &[Figures], of: impl Fn(&Figures) -> usize) -> usize {
    figures.iter().map(of).sum()
}
