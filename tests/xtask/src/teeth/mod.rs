//! Mutation tests: changes what the tests expect, and sabotages what they test; each time a test must fail.

mod copy;
mod proof;
mod sabotage;

use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use crate::project::Project;
use crate::sh;
use copy::SourceCopy;
use proof::Proof;
use sabotage::{SABOTAGES, Sabotage};

/// Changes every expectation of the corpus, one at a time; its check must fail.
pub fn check_expectations(project: &Project) -> Result<()> {
    sh::print_progress("changing expectations");
    sh::run(&mut project.cargo(&["run", "--quiet", "--package", "convengine-tests", "--bin", "test-tools", "teeth"]))
}

/// Applies sabotages to a copy of the sources, one at a time; the test named for each must fail.
///
/// Without names, all sabotages are applied.
pub fn check_sabotages(project: &Project, names: &[&str]) -> Result<()> {
    let chosen = select(names)?;
    sh::print_progress("copying the sources and running the tests without a sabotage");
    let copy = SourceCopy::from_project(project)?;
    for proof in distinct_proofs(&chosen) {
        ensure!(proof.run(&copy)?, "{proof} fails without a sabotage");
    }
    sh::print_progress("applying the sabotages");
    let survivors: Vec<&str> = chosen.iter().map(|it| apply(&copy, it)).collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
    println!("{} of {} sabotaged builds failed a test", chosen.len() - survivors.len(), chosen.len());
    ensure!(survivors.is_empty(), "undetected sabotages: {}", survivors.join(", "));
    Ok(())
}

fn select(names: &[&str]) -> Result<Vec<&'static Sabotage>> {
    if let Some(unknown) = names.iter().find(|name| SABOTAGES.iter().all(|sabotage| sabotage.name != **name)) {
        bail!("unknown sabotage '{unknown}'; see tests/xtask/src/teeth/sabotage.rs");
    }
    Ok(SABOTAGES.iter().filter(|sabotage| names.is_empty() || names.contains(&sabotage.name)).collect())
}

fn distinct_proofs(chosen: &[&Sabotage]) -> Vec<Proof> {
    let mut proofs = Vec::new();
    for sabotage in chosen {
        if !proofs.contains(&sabotage.noticed_by) {
            proofs.push(sabotage.noticed_by);
        }
    }
    proofs
}

/// Applies a sabotage to the copy, runs the test and restores the copy; returns the sabotage's name if the test passed.
fn apply(copy: &SourceCopy, sabotage: &'static Sabotage) -> Result<Option<&'static str>> {
    let begun = Instant::now();
    let original = copy.read(sabotage.file)?;
    ensure!(
        original.matches(sabotage.find).count() == 1,
        "sabotage '{}' is stale: its text must occur once in {}; update tests/xtask/src/teeth/sabotage.rs",
        sabotage.name,
        sabotage.file
    );
    copy.write(sabotage.file, &original.replace(sabotage.find, sabotage.replace))?;
    let passed = sabotage.noticed_by.run(copy);
    copy.write(sabotage.file, &original)?;
    let survived = passed.with_context(|| format!("cannot apply the sabotage '{}'", sabotage.name))?;
    let what = if survived { "SURVIVED" } else { "detected" };
    println!("{what:<8} {:<28} by {}  ({} s)", sabotage.name, sabotage.noticed_by, begun.elapsed().as_secs());
    Ok(survived.then_some(sabotage.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sabotage whose text was rewritten proves nothing until `teeth` runs, which is once a night.
    #[test]
    fn every_sabotage_matches_once_and_has_a_unique_name() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for (index, sabotage) in SABOTAGES.iter().enumerate() {
            let source = std::fs::read_to_string(root.join(sabotage.file)).unwrap_or_else(|error| panic!("{}: {error}", sabotage.file));
            assert_eq!(source.matches(sabotage.find).count(), 1, "the text of '{}' in {}", sabotage.name, sabotage.file);
            assert_ne!(sabotage.find, sabotage.replace, "{}", sabotage.name);
            assert!(SABOTAGES.iter().skip(index + 1).all(|other| other.name != sabotage.name), "{} occurs twice", sabotage.name);
        }
    }
}
