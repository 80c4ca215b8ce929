//! Runs the suite in random order, which reveals tests that rely on one another or on what runs beside them.

use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};

use crate::postgres::TestServers;
use crate::project::Project;
use crate::test_run::{self, Scope};
use crate::{build, sh};

/// How often the suite runs without a seed.
const ROUNDS: u32 = 3;

/// Runs the suite, without the browser, once with a seed or three times with random ones.
pub fn run(project: &Project, seed: Option<&str>) -> Result<()> {
    let seeds = match seed {
        Some(seed) => vec![seed.parse().with_context(|| format!("the seed '{seed}' is not a number"))?],
        None => random_seeds()?,
    };
    build::build_without_browser(project)?;
    let runner = runner_variable(project)?;
    let postgres = TestServers::start(project)?;
    for seed in seeds {
        sh::print_progress(&format!("testing in the order of the seed {seed}; `cargo xtask shuffle {seed}` repeats it"));
        let mut suite = test_run::tests(project, &["test", "--workspace", "--test", "suite"], Scope::WithoutPage)?;
        shuffle(&mut suite, &runner, seed);
        test_run::run_programs(postgres.pass_urls_to(&mut suite))?.ensure_passed()?;
    }
    Ok(())
}

fn random_seeds() -> Result<Vec<u32>> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.subsec_nanos();
    Ok((0..ROUNDS).map(|it| now.wrapping_add(it)).collect())
}

/// Adds a seed to a call of a test program. The order is an unstable option, which the program accepts with a variable that cargo must not
/// see: it would compile everything again.
fn shuffle(tests: &mut Command, runner: &str, seed: u32) {
    tests.env(runner, "env RUSTC_BOOTSTRAP=1").args(["-Z", "unstable-options", "--shuffle-seed", &seed.to_string()]);
}

/// Returns the variable that names the program by which cargo starts tests.
fn runner_variable(project: &Project) -> Result<String> {
    let version = sh::output(project.command("rustc").arg("-vV")).context("rustc does not start")?;
    let host = version.lines().find_map(|it| it.strip_prefix("host: ")).context("rustc has no host")?;
    Ok(format!("CARGO_TARGET_{}_RUNNER", host.to_uppercase().replace('-', "_")))
}
