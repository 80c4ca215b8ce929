//! Runs other programs.

use std::env;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// When the first progress line was printed.
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Prints a progress line with the minutes and seconds since the first one.
pub fn print_progress(what: &str) {
    let seconds = START.elapsed().as_secs();
    println!("xtask {:02}:{:02}: {what}", seconds / 60, seconds % 60);
}

/// Runs a command with its output on the terminal.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start `{}`", format_command(command)))?;
    if !status.success() {
        bail!("`{}` ended with {status}", format_command(command));
    }
    Ok(())
}

/// Runs cargo; fails if it prints a warning, which it repeats for what is already compiled.
pub fn run_without_warnings(cargo: &mut Command) -> Result<()> {
    let mut child = cargo.stderr(Stdio::piped()).spawn().with_context(|| format!("cannot start `{}`", format_command(cargo)))?;
    let mut warnings = 0;
    for line in BufReader::new(child.stderr.take().context("cargo has no error output")?).lines() {
        let line = line?;
        eprintln!("{line}");
        warnings += usize::from(line.starts_with("warning:"));
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("`{}` ended with {status}", format_command(cargo));
    }
    if warnings > 0 {
        bail!("`{}` printed warnings; they are errors here", format_command(cargo));
    }
    Ok(())
}

/// Runs a command and prints its output only if it fails.
pub fn run_quietly(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("cannot start `{}`", format_command(command)))?;
    if !output.status.success() {
        eprint!("{}", String::from_utf8_lossy(&output.stdout));
        eprint!("{}", String::from_utf8_lossy(&output.stderr));
        bail!("`{}` ended with {}", format_command(command), output.status);
    }
    Ok(())
}

/// Runs a command and kills it if it takes longer than `limit`.
pub fn run_within(limit: Duration, command: &mut Command) -> Result<()> {
    match status_within(limit, command)? {
        Some(status) if status.success() => Ok(()),
        Some(status) => bail!("`{}` ended with {status}", format_command(command)),
        None => bail!("`{}` took longer than {} s", format_command(command), limit.as_secs()),
    }
}

/// Returns how a command ended; `None` if it took longer than `limit` and was killed.
pub fn status_within(limit: Duration, command: &mut Command) -> Result<Option<ExitStatus>> {
    let end = Instant::now() + limit;
    let mut child = command.stdin(Stdio::null()).spawn().with_context(|| format!("cannot start `{}`", format_command(command)))?;
    while Instant::now() < end {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        thread::sleep(Duration::from_millis(50));
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}

/// Returns the output of a command; `None` if it cannot be started or fails.
pub fn output(command: &mut Command) -> Option<String> {
    let output = command.output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Returns whether a program of this name is in PATH.
pub fn is_on_path(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Formats a command line, without the folder of the program.
fn format_command(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let mut words = vec![program.file_name().unwrap_or_default().to_string_lossy()];
    words.extend(command.get_args().map(|word| word.to_string_lossy()));
    words.join(" ")
}
