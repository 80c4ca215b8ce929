//! Runs of the program `turns` (`tests/src/bin/turns.rs`) under valgrind, which counts.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::project::Project;

/// A run without the number of repetitions.
#[derive(Clone, Copy)]
pub struct TurnsRun<'p> {
    pub pack: &'p str,
    pub mode: &'p str,
    /// One turn of a long conversation, instead of the whole conversation.
    pub turn: Option<u64>,
}

impl<'p> TurnsRun<'p> {
    /// Returns a run of the whole conversation of a pack.
    pub fn of_conversation(pack: &'p str, mode: &'p str) -> Self {
        TurnsRun { pack, mode, turn: None }
    }

    /// Returns the command that runs it `times` times.
    pub fn command(self, project: &Project, binary: &Path, times: u64) -> Command {
        let mut command = project.command(binary);
        command.args([self.pack, &times.to_string(), self.mode]).args(self.turn.map(|it| it.to_string()));
        command
    }

    /// Returns the instructions of `times` repetitions, without the start of the process.
    pub fn count_instructions(self, project: &Project, binary: &Path, times: u64) -> Result<u64> {
        self.count(project, binary, times, &["--tool=callgrind", "--callgrind-out-file=/dev/null"], "Collected : ")
    }

    /// Returns the allocations of `times` repetitions, without those of the start of the process.
    pub fn count_allocations(self, project: &Project, binary: &Path, times: u64) -> Result<u64> {
        self.count(project, binary, times, &["--tool=memcheck", "--undef-value-errors=no"], "total heap usage: ")
    }

    fn count(self, project: &Project, binary: &Path, times: u64, tool: &[&str], mark: &str) -> Result<u64> {
        let counted = |times| read_count(project, tool, mark, &self.command(project, binary, times));
        Ok(counted(2 * times)? - counted(times)?)
    }
}

/// Runs a command under a tool of valgrind; returns the number after `mark` in its report.
fn read_count(project: &Project, tool: &[&str], mark: &str, run: &Command) -> Result<u64> {
    let mut command = project.command("valgrind");
    let output = command.args(tool).arg(run.get_program()).args(run.get_args()).output().context("cannot start valgrind")?;
    let report = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "the turns failed under valgrind:\n{report}");
    let (_, number) = report.rsplit_once(mark).with_context(|| format!("no '{mark}' in valgrind's report:\n{report}"))?;
    let digits: String =
        number.chars().take_while(|letter| letter.is_ascii_digit() || *letter == ',').filter(char::is_ascii_digit).collect();
    digits.parse().with_context(|| format!("no number after '{mark}'"))
}
