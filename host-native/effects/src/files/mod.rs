//! The FILES tool group: reads, lists and searches text files below the root folders of the settings, and nothing outside of them.

mod read;
mod resolved_path;
mod search;

use std::io;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use convengine_core::turn::{EffectError, EffectErrorKind, ToolRequest};
use convengine_host_base::blocking_share::BlockingShare;
use convengine_settings::Roots;
use serde::Deserialize;
use serde_json::Value;

use super::tool::{argument_text, invalid, parse_spec};
use resolved_path::ResolvedPath;

/// Upper bound of a tool's `max_bytes`.
const MAX_BYTES: u32 = 1 << 20;

/// The tool's configuration.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Spec {
    /// The name of a root folder in the settings.
    root: String,
    operation: Operation,
    /// The argument that holds the path.
    path: Option<String>,
    /// The argument that holds the words to search for.
    query: Option<String>,
    /// File name extensions that may be read; empty allows all.
    extensions: Vec<String>,
    /// Maximum number of bytes read from a file.
    max_bytes: Option<u32>,
}

/// The operation of a tool.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Operation {
    /// Returns the text of a file.
    #[default]
    Read,
    /// Lists a folder.
    List,
    /// Returns the lines that contain all words of a query.
    Search,
}

/// One call of a tool.
struct Job {
    spec: Spec,
    /// Relative to the root; empty for the root itself.
    path: String,
    words: String,
}

/// Executes a FILES tool and returns its result as JSON text.
///
/// # Errors
/// `Invalid` for a wrong configuration or argument, `Denied` for a path that is not allowed, `NotFound` if it does not exist.
pub async fn execute(blocking: &BlockingShare, roots: &Roots, request: &ToolRequest) -> Result<String, EffectError> {
    let spec: Spec = parse_spec(request)?;
    let Some(root) = roots.get(&spec.root).cloned() else {
        return Err(invalid(format!("the root '{}' is not set up: add convengine.files.roots.{0}", spec.root)));
    };
    if !spec.max_bytes.is_none_or(|it| (1..=MAX_BYTES).contains(&it)) {
        return Err(invalid(format!("max_bytes is not allowed: write a number from 1 to {MAX_BYTES} into the spec of the tool")));
    }
    let text = |name: &Option<String>, default: &str| argument_text(request, name.as_deref().unwrap_or(default)).unwrap_or_default();
    let job = Job { path: text(&spec.path, "path"), words: text(&spec.query, "query"), spec };
    let work = move || {
        let root = Dir::open_ambient_dir(&root, ambient_authority()).map_err(|error| io_failure(&job.spec.root, &error))?;
        run(&root, &job)
    };
    let done = blocking.run(work).await;
    let answer = done.map_err(|error| EffectError::new(EffectErrorKind::Unavailable, format!("the files cannot be read: {error}")))?;
    answer.map(|it| it.to_string())
}

fn run(root: &Dir, job: &Job) -> Result<Value, EffectError> {
    let place = ResolvedPath::resolve(root, &job.path)?;
    match job.spec.operation {
        Operation::Read => read::read_file(&place, &job.spec),
        Operation::List => read::list_folder(&place, &job.spec),
        Operation::Search => search::search_lines(&place, &job.spec, &job.words),
    }
}

impl Spec {
    /// Returns whether a file with this name may be read.
    fn allows_file(&self, name: &str) -> bool {
        let ending = name.rsplit_once('.').map(|it| it.1);
        let same = |allowed: &String| ending.is_some_and(|ending| allowed.trim_start_matches('.').eq_ignore_ascii_case(ending));
        self.extensions.is_empty() || self.extensions.iter().any(same)
    }

    fn byte_limit(&self) -> u64 {
        self.max_bytes.unwrap_or(65_536).into()
    }
}

fn denied(path: &str, reason: &str) -> EffectError {
    EffectError::new(EffectErrorKind::Denied, format!("the path '{path}' is not allowed: {reason}"))
}

fn io_failure(path: &str, error: &io::Error) -> EffectError {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            EffectError::new(EffectErrorKind::NotFound, format!("'{path}' does not exist: list the folder to see what does"))
        }
        io::ErrorKind::PermissionDenied => denied(path, "it leads out of its folder or cannot be read"),
        _ => EffectError::new(EffectErrorKind::Unavailable, format!("'{path}' cannot be read: {error}")),
    }
}

#[cfg(test)]
mod tests;
