//! Shows that the tests bite: what they expect is changed, and what they test is sabotaged.

mod copy;
mod proof;
mod sabotage;

use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use crate::project::Project;
use crate::sh;
use copy::Copy;
use proof::Proof;
use sabotage::{SABOTAGES, Sabotage};

/// Changes every expectation of the corpus, one at a time, and demands that its check fails.
pub fn leaves(project: &Project) -> Result<()> {
    sh::say("changing expectations");
    sh::run(&mut project.cargo(&["run", "--quiet", "--package", "convengine-tests", "--bin", "teeth"]))
}

/// Breaks a copy of the sources in one place after the other, and demands that the test named for it fails.
///
/// Without names all places of the list are tried.
pub fn builds(project: &Project, names: &[&str]) -> Result<()> {
    let chosen = chosen(names)?;
    sh::say("copying the sources and playing the tests that must fail later");
    let copy = Copy::of(project)?;
    for proof in proofs(&chosen) {
        ensure!(proof.passes(&copy)?, "{proof} fails although nothing is sabotaged");
    }
    sh::say("sabotaging");
    let survivors: Vec<&str> = chosen.iter().map(|it| bites(&copy, it)).collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
    println!("{} of {} sabotaged builds failed a test", chosen.len() - survivors.len(), chosen.len());
    ensure!(survivors.is_empty(), "no test notices {}", survivors.join(", "));
    Ok(())
}

fn chosen(names: &[&str]) -> Result<Vec<&'static Sabotage>> {
    if let Some(unknown) = names.iter().find(|name| SABOTAGES.iter().all(|it| it.name != **name)) {
        bail!("there is no sabotage `{unknown}`; tests/xtask/src/teeth/sabotage.rs has the list");
    }
    Ok(SABOTAGES.iter().filter(|it| names.is_empty() || names.contains(&it.name)).collect())
}

fn proofs(chosen: &[&Sabotage]) -> Vec<Proof> {
    let mut proofs = Vec::new();
    for it in chosen {
        if !proofs.contains(&it.noticed_by) {
            proofs.push(it.noticed_by);
        }
    }
    proofs
}

/// Sabotages the copy, plays the test and repairs the copy; returns the name of a sabotage that nothing notices.
fn bites(copy: &Copy, it: &'static Sabotage) -> Result<Option<&'static str>> {
    let begun = Instant::now();
    let sound = copy.read(it.file)?;
    ensure!(
        sound.matches(it.find).count() == 1,
        "the sabotage `{}` is stale: its piece must stand once in {}; correct tests/xtask/src/teeth/sabotage.rs",
        it.name,
        it.file
    );
    copy.write(it.file, &sound.replace(it.find, it.replace))?;
    let passed = it.noticed_by.passes(copy);
    copy.write(it.file, &sound)?;
    let survived = passed.with_context(|| format!("the sabotage `{}` proves nothing", it.name))?;
    let what = if survived { "SURVIVED" } else { "bitten" };
    println!("{what:<8} {:<28} by {}  ({} s)", it.name, it.noticed_by, begun.elapsed().as_secs());
    Ok(survived.then_some(it.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sabotage_has_its_place_and_its_own_name() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for (index, it) in SABOTAGES.iter().enumerate() {
            let source = std::fs::read_to_string(root.join(it.file)).unwrap();
            assert_eq!(source.matches(it.find).count(), 1, "{}", it.name);
            assert_ne!(it.find, it.replace, "{}", it.name);
            assert!(SABOTAGES.iter().skip(index + 1).all(|other| other.name != it.name), "{} is there twice", it.name);
        }
    }
}
