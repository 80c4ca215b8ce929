//! The tests that must detect a sabotage, and how to run them.

use std::fmt::{self, Display, Formatter};
use std::process::{Command, Output};

use anyhow::{Context, Result, bail};

use super::copy::SourceCopy;

/// A test, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// A pack or talk below `tests`, run in the core.
    Pack(&'static str),
    /// A unit test of a crate, by both names.
    Unit(&'static str, &'static str),
    /// A test of a test program of the corpus, by both names.
    Corpus(&'static str, &'static str),
    /// A test of the suite.
    Suite(&'static str),
}

impl Display for Proof {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Proof::Pack(file) => write!(f, "{file}"),
            Proof::Unit(program, test) | Proof::Corpus(program, test) => write!(f, "{program} {test}"),
            Proof::Suite(test) => write!(f, "suite {test}"),
        }
    }
}

impl Proof {
    /// Builds and runs the test; returns whether it passed.
    ///
    /// # Errors
    /// If the copy does not compile, or not exactly one test ran: that proves nothing about the test.
    pub fn run(self, copy: &SourceCopy) -> Result<bool> {
        let quiet = |arguments: &[&str]| run_build(copy.cargo(arguments).arg("--quiet"));
        let mut test = match self {
            Proof::Pack(file) => {
                quiet(&["build", "--package", "convengine-server", "--bin", "convengine"])?;
                let mut test = copy.command(copy.target.join("debug/convengine"));
                test.args(["test", &format!("tests/{file}")]);
                test
            }
            Proof::Unit(package, name) => {
                quiet(&["test", "--no-run", "--package", package, "--lib"])?;
                copy.cargo(&["test", "--package", package, "--lib", "--", "--exact", name])
            }
            Proof::Corpus(program, name) => {
                quiet(&["test", "--no-run", "--package", "convengine-corpus", "--test", program])?;
                copy.cargo(&["test", "--package", "convengine-corpus", "--test", program, "--", "--exact", name])
            }
            Proof::Suite(name) => {
                // The suite starts the binary, which has crash points only if it is built with the tests.
                quiet(&["build", "--workspace", "--bin", "convengine"])?;
                quiet(&["test", "--no-run", "--workspace", "--test", "suite"])?;
                // Its name, or that of its variant that needs no PostgreSQL.
                let names = [name.to_owned(), format!("{name}::sqlite"), format!("{name}::no_database")];
                let mut test = copy.cargo(&["test", "--workspace", "--test", "suite", "--", "--exact"]);
                test.args(names);
                test
            }
        };
        let output = test.output().with_context(|| format!("cannot start {self}"))?;
        parse_result(&output).with_context(|| format!("{self} did not run as exactly one test:\n{}", combined_output(&output)))
    }
}

fn run_build(build: &mut Command) -> Result<()> {
    let output = build.output().context("cannot start cargo")?;
    if !output.status.success() {
        bail!("the copy does not compile:\n{}", combined_output(&output));
    }
    Ok(())
}

/// Returns whether the test passed; `None` if not exactly one test ran.
fn parse_result(output: &Output) -> Option<bool> {
    let out = String::from_utf8_lossy(&output.stdout);
    // `test result: ok. 1 passed; 0 failed; …` of the test runner, `1 passed, 0 failed` of the product.
    let counts = out.lines().rev().find(|line| line.contains(" passed") && line.contains(" failed"))?.replace(';', ",");
    let passed = counts.contains("1 passed, 0 failed");
    let failed = counts.contains("0 passed, 1 failed");
    match (output.status.success(), passed, failed) {
        (true, true, false) => Some(true),
        (false, false, true) => Some(false),
        _ => None,
    }
}

fn combined_output(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    #[test]
    fn only_exactly_one_test_has_a_result() {
        let verdict = |code: i32, line: &str| {
            parse_result(&Output { status: ExitStatus::from_raw(code << 8), stdout: line.as_bytes().to_vec(), stderr: Vec::new() })
        };
        assert_eq!(
            verdict(0, "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 9 filtered out; finished in 0.01s\n\n"),
            Some(true)
        );
        assert_eq!(verdict(101, "test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 9 filtered out\n"), Some(false));
        assert_eq!((verdict(0, "PASS x\n1 passed, 0 failed"), verdict(1, "0 passed, 1 failed")), (Some(true), Some(false)));
        assert_eq!((verdict(0, "test result: ok. 0 passed; 0 failed; 9 filtered out"), verdict(101, "error: no such test")), (None, None));
    }
}
