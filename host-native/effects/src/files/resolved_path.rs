//! Validated paths below a root. Names are checked here; the operating system enforces on every open that no link leads outside.

use std::path::PathBuf;

use cap_std::fs::Dir;
use convengine_core::turn::EffectError;

use super::{denied, io_failure};

/// Maximum length of a path in characters.
const MAX_CHARS: usize = 1_024;

/// A file or folder that the tool may access.
pub struct ResolvedPath<'d> {
    pub root: &'d Dir,
    /// The path as requested.
    pub requested: String,
    /// The path below the root with links resolved.
    pub path: PathBuf,
}

impl<'d> ResolvedPath<'d> {
    /// Validates and resolves a requested path; an empty one is the root.
    ///
    /// # Errors
    /// `Denied` for a path that is not allowed, `NotFound` if nothing exists at the path.
    pub fn resolve(root: &'d Dir, requested: &str) -> Result<ResolvedPath<'d>, EffectError> {
        let trimmed = requested.strip_suffix('/').filter(|it| !it.is_empty()).unwrap_or(requested);
        if let Some(reason) = find_problem(trimmed) {
            return Err(denied(&requested.chars().take(100).collect::<String>(), reason));
        }
        if trimmed.is_empty() {
            return Ok(ResolvedPath { root, requested: String::new(), path: PathBuf::from(".") });
        }
        let path = root.canonicalize(trimmed).map_err(|it| io_failure(trimmed, &it))?;
        let hidden = path.iter().any(|name| name.to_str().is_none_or(|name| name.starts_with('.')));
        if hidden { Err(denied(trimmed, "it is hidden")) } else { Ok(ResolvedPath { root, requested: trimmed.to_owned(), path }) }
    }

    /// The file name after links are resolved.
    pub fn file_name(&self) -> &str {
        self.path.file_name().and_then(|it| it.to_str()).unwrap_or_default()
    }
}

/// Returns the reason why a path is not allowed, judging by its text alone.
fn find_problem(path: &str) -> Option<&'static str> {
    if path.chars().count() > MAX_CHARS {
        return Some("it is too long");
    }
    if path.starts_with('/') {
        return Some("write it without a slash at its beginning");
    }
    if path.contains(['\\', ':']) || path.chars().any(char::is_control) {
        return Some("write names with slashes between them, without backslashes, colons and control characters");
    }
    let mut names = path.split('/').filter(|_| !path.is_empty());
    names.find_map(|name| match name {
        "" => Some("a name in it is empty"),
        "." | ".." => Some("write it without '.' and '..'"),
        hidden if hidden.starts_with('.') => Some("it is hidden"),
        _ => None,
    })
}
