//! Validated paths below a root. Names are checked here; the operating system enforces on every open that no link leads outside.

use std::path::PathBuf;

use cap_std::fs::Dir;
use convengine_core::turn::EffectError;

use super::{denied, unusable};

/// Maximum length of a path in characters.
const LONGEST: usize = 1_024;

/// A file or folder that the tool may access.
pub struct Place<'d> {
    pub root: &'d Dir,
    /// The path as requested.
    pub asked: String,
    /// The path below the root with links resolved.
    pub path: PathBuf,
}

impl<'d> Place<'d> {
    /// Validates and resolves a requested path; an empty one is the root.
    ///
    /// # Errors
    /// `Denied` for a path that is not allowed, `NotFound` if nothing exists at the path.
    pub fn of(root: &'d Dir, requested: &str) -> Result<Place<'d>, EffectError> {
        let trimmed = requested.strip_suffix('/').filter(|it| !it.is_empty()).unwrap_or(requested);
        if let Some(reason) = fault(trimmed) {
            return Err(denied(&requested.chars().take(100).collect::<String>(), reason));
        }
        if trimmed.is_empty() {
            return Ok(Place { root, asked: String::new(), path: PathBuf::from(".") });
        }
        let path = root.canonicalize(trimmed).map_err(|it| unusable(trimmed, &it))?;
        let hidden = path.iter().any(|it| it.to_str().is_none_or(|it| it.starts_with('.')));
        if hidden { Err(denied(trimmed, "it is hidden")) } else { Ok(Place { root, asked: trimmed.to_owned(), path }) }
    }

    /// The file name after links are resolved.
    pub fn name(&self) -> &str {
        self.path.file_name().and_then(|it| it.to_str()).unwrap_or_default()
    }
}

/// Returns the reason why a path is not allowed, judging by its text alone.
fn fault(path: &str) -> Option<&'static str> {
    if path.chars().count() > LONGEST {
        return Some("it is too long");
    }
    if path.starts_with('/') {
        return Some("write it without a slash at its beginning");
    }
    if path.contains(['\\', ':']) || path.chars().any(char::is_control) {
        return Some("write names with slashes between them, without backslashes, colons and control characters");
    }
    let mut names = path.split('/').filter(|_| !path.is_empty());
    names.find_map(|it| match it {
        "" => Some("a name in it is empty"),
        "." | ".." => Some("write it without '.' and '..'"),
        hidden if hidden.starts_with('.') => Some("it is hidden"),
        _ => None,
    })
}
