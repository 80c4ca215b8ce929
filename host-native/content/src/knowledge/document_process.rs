//! Converts PDFs and web pages in a process of their own, which `convengine read-document` is: a document that makes a reader loop, crash or
//! fill the memory ends that process and nothing else, and so does the end of the time for it.

use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::{ExitCode, Stdio};
use std::sync::OnceLock;

use convengine_storage::run_blocking;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::document::{ConvertedDocument, Document, DocumentFormat, MAX_TEXT_BYTES};

/// The name of the command.
pub const COMMAND: &str = "read-document";

/// How many documents are read at the same time, each with the memory below; others wait.
const MAX_PROCESSES: usize = 2;

/// The address space of the process in bytes.
#[cfg(unix)]
const MAX_MEMORY: u64 = 1 << 30;

/// How many seconds the process computes, should the one that started it end before.
#[cfg(unix)]
const MAX_SECONDS: u64 = 60;

/// In JSON a character of the text takes up to six bytes.
const MAX_ANSWER: u64 = 6 * MAX_TEXT_BYTES as u64 + 1024;

const UNPARSABLE: &str = "it cannot be parsed";

static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

static RUNNING: Semaphore = Semaphore::const_new(MAX_PROCESSES);

/// Makes documents be read by a program that knows the command. Otherwise a thread of this process reads them, which a document can end.
pub fn use_program(program: PathBuf) {
    let _ = PROGRAM.set(program);
}

/// Waits until another document may be read, which is while what this returns is kept.
pub(super) async fn turn() -> Option<SemaphorePermit<'static>> {
    RUNNING.acquire().await.ok()
}

/// Converts a document.
///
/// # Errors
/// The reason why it cannot be read.
pub(super) async fn convert(document: Document) -> Result<ConvertedDocument, String> {
    let Some(program) = PROGRAM.get() else {
        return run_blocking(move || document.convert_here()).await.unwrap_or_else(|_| Err(UNPARSABLE.to_owned()));
    };
    let Document { format, bytes, charset } = document;
    let mut command = Command::new(program);
    // It reads what strangers wrote, and needs no secret.
    command.args([COMMAND, format.name()]).args(charset.map(|it| format!("--charset={it}")));
    command.env_clear().stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    let unable = |it: std::io::Error| format!("the process that reads it cannot be started: {it}");
    let mut process = command.spawn().map_err(unable)?;
    let (Some(mut input), Some(output)) = (process.stdin.take(), process.stdout.take()) else { return Err(UNPARSABLE.to_owned()) };
    let send = async move {
        // The process may end before it has read everything.
        let _ = input.write_all(&bytes).await;
        drop(input);
    };
    let mut answer = Vec::new();
    let mut limited = output.take(MAX_ANSWER);
    let ((), received) = tokio::join!(send, limited.read_to_end(&mut answer));
    let is_whole = received.is_ok() && process.wait().await.is_ok_and(|it| it.success());
    if !is_whole {
        return Err(UNPARSABLE.to_owned());
    }
    serde_json::from_slice(&answer).unwrap_or_else(|_| Err(UNPARSABLE.to_owned()))
}

/// Runs the command: reads a document of a format from standard input and writes its text, or the reason why there is none, to standard
/// output.
pub fn run(format: &str, charset: Option<String>) -> ExitCode {
    limit_resources();
    let Some(format) = DocumentFormat::from_name(format) else { return ExitCode::FAILURE };
    let mut bytes = Vec::new();
    if std::io::stdin().lock().read_to_end(&mut bytes).is_err() {
        return ExitCode::FAILURE;
    }
    let document = Document { format, bytes, charset };
    let Ok(answer) = serde_json::to_vec(&document.convert_here()) else { return ExitCode::FAILURE };
    if std::io::stdout().lock().write_all(&answer).is_err() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

#[cfg(unix)]
fn limit_resources() {
    use rustix::process::{Resource, Rlimit, setrlimit};
    // Where a limit cannot be set, the system has one of its own.
    for (resource, most) in [(Resource::As, MAX_MEMORY), (Resource::Cpu, MAX_SECONDS), (Resource::Core, 0)] {
        let _ = setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) });
    }
}

#[cfg(not(unix))]
fn limit_resources() {}
