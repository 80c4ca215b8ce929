//! How a command ends when it does not end well.

use std::process::ExitCode;

/// Lines for standard error and an exit code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", lines.join("\n"))]
pub struct Failure {
    /// 1 the thing asked about is not right, 2 bad usage or settings, 3 a needed service is not there.
    pub code: u8,
    /// One problem a line.
    pub lines: Vec<String>,
}

impl Failure {
    /// The thing asked about is not right.
    pub fn not_right(lines: Vec<String>) -> Self {
        Failure { code: 1, lines }
    }

    /// Bad usage or settings.
    pub fn usage(line: impl Into<String>) -> Self {
        Failure { code: 2, lines: vec![line.into()] }
    }

    /// A needed service is not there.
    pub fn service(line: impl Into<String>) -> Self {
        Failure { code: 3, lines: vec![line.into()] }
    }

    /// Prints the lines and returns the code.
    pub fn report(&self) -> ExitCode {
        for line in &self.lines {
            eprintln!("{line}");
        }
        ExitCode::from(self.code)
    }
}
