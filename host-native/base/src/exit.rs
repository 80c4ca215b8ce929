//! Failures of commands: messages and exit codes.

use std::process::ExitCode;

use crate::print_error_line;

/// A command failure, with lines for standard error and an exit code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", lines.join("\n"))]
pub struct Failure {
    /// 1: the checked subject has problems. 2: invalid usage or settings. 3: a required service is unavailable. 4: nothing was found.
    pub code: u8,
    /// One problem per line.
    pub lines: Vec<String>,
}

impl Failure {
    /// Creates a failure with code 1: the checked subject has problems.
    pub fn check_failed(lines: Vec<String>) -> Self {
        Failure { code: 1, lines }
    }

    /// Creates a failure with code 2: invalid usage or settings.
    pub fn invalid_usage(line: impl Into<String>) -> Self {
        Failure { code: 2, lines: vec![line.into()] }
    }

    /// Creates a failure with code 3: a required service is unavailable.
    pub fn service_unavailable(line: impl Into<String>) -> Self {
        Failure { code: 3, lines: vec![line.into()] }
    }

    /// Creates a failure with code 4: what is to be changed was not found.
    pub fn nothing_found(line: impl Into<String>) -> Self {
        Failure { code: 4, lines: vec![line.into()] }
    }

    /// Prints the lines and returns the code.
    pub fn report(&self) -> ExitCode {
        for line in &self.lines {
            print_error_line!("{line}");
        }
        ExitCode::from(self.code)
    }
}
