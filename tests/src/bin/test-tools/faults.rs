//! Runs every turn of the corpus with each fault in each of its effects, and prints a table of cases and violations.
//!
//! `test-tools faults [PACK…]` runs the packs with these names, or all. It fails if an invariant is violated, if a pack with effects has no case, or
//! if all packs together have too few. The example extension must have been built (`cargo xtask extension`).

use std::collections::BTreeMap;
use std::time::Instant;

use anyhow::{Result, ensure};
use convengine_tests::corpus_with_extension;
use convengine_tests::simulate::fault::FAMILIES;
use convengine_tests::simulate::{SimulationReport, simulate_all};

/// The number of violations that are printed.
const MAX_PRINTED: usize = 40;

/// The minimum number of cases of all packs together.
const MIN_CASES: usize = 15_000;

/// Runs the command; returns whether every invariant holds.
pub fn run(names: &[&str]) -> Result<bool> {
    let mut cases = corpus_with_extension()?;
    cases.retain(|case| names.is_empty() || names.contains(&case.pack.name.as_str()));
    ensure!(!cases.is_empty(), "no pack has any of these names");
    let started = Instant::now();
    let figures = simulate_all(&cases, |_, _| true)?;
    let seconds = started.elapsed().as_secs_f64();
    let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
    print_table(&figures);
    let violations: Vec<_> = figures.iter().flat_map(|it| &it.violations).collect();
    let untried: Vec<&str> = figures.iter().filter(|it| it.is_untried()).map(|it| it.pack.as_str()).collect();
    let (all, later) = (sum(&figures, SimulationReport::total_cases), sum(&figures, |it| it.following_turns));
    println!("{all} cases and {later} following turns in {seconds:.1} s ({profile} profile): {} violations", violations.len());
    for found in violations.iter().take(MAX_PRINTED) {
        let position = if found.in_following_turn { ", in the following turn" } else { "" };
        println!("  {} {} turn {} {:?}{position}: {}", found.invariant, found.pack, found.turn, found.fault, found.text);
    }
    untried.iter().for_each(|it| println!("  {it} has effects but no case"));
    let too_few = names.is_empty() && all < MIN_CASES;
    if too_few {
        println!("  all packs together have fewer than {MIN_CASES} cases");
    }
    Ok(violations.is_empty() && untried.is_empty() && !too_few)
}

fn print_table(figures: &[SimulationReport]) {
    println!("{:55} {:>5} {:>7} {:>6} {:>10}", "pack", "turns", "effects", "cases", "violations");
    for row in figures {
        println!("{:55} {:>5} {:>7} {:>6} {:>10}", row.pack, row.turns, row.effects, row.total_cases(), row.violations.len());
    }
    let turns = sum(figures, |it| it.turns);
    println!("{} packs, {turns} turns, {} effects", figures.len(), sum(figures, |it| it.effects));
    for family in FAMILIES {
        println!("{:>7} {family}", sum(figures, |figures| figures.cases.get(family).copied().unwrap_or_default()));
    }
    let largest = |index: usize| figures.iter().filter_map(|figures| figures.maximums.get(index)).max().copied().unwrap_or_default();
    let [effects, notices, prompt, journal] = [0, 1, 2, 3].map(largest);
    println!("maximum: {effects} effects and {notices} notices per turn, {prompt} characters per prompt, {journal} bytes per journal");
    let mut broken: BTreeMap<&str, usize> = BTreeMap::new();
    figures.iter().flat_map(|it| &it.violations).for_each(|violation| *broken.entry(violation.invariant).or_default() += 1);
    broken.iter().for_each(|(invariant, count)| println!("{count:>7} violations of {invariant}"));
}

fn sum(figures: &[SimulationReport], value: impl Fn(&SimulationReport) -> usize) -> usize {
    figures.iter().map(value).sum()
}
