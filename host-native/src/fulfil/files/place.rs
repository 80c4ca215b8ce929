//! A path below a root. Names are checked here; that no link leads out is up to the operating system, at every opening anew.

use std::path::PathBuf;

use cap_std::fs::Dir;
use convengine_core::turn::EffectError;

use super::{denied, unusable};

/// Characters of a path.
const LONGEST: usize = 1_024;

/// A file or a folder that may be looked at.
pub struct Place<'d> {
    pub root: &'d Dir,
    /// As it was asked for.
    pub asked: String,
    /// Where it really lies below the root, without links.
    pub path: PathBuf,
}

impl<'d> Place<'d> {
    /// Takes a path that somebody wrote; an empty one is the root.
    ///
    /// # Errors
    /// A path that is not allowed, or nothing there.
    pub fn of(root: &'d Dir, asked: &str) -> Result<Place<'d>, EffectError> {
        let written = asked.strip_suffix('/').filter(|it| !it.is_empty()).unwrap_or(asked);
        if let Some(reason) = fault(written) {
            return Err(denied(&asked.chars().take(100).collect::<String>(), reason));
        }
        if written.is_empty() {
            return Ok(Place { root, asked: String::new(), path: PathBuf::from(".") });
        }
        let path = root.canonicalize(written).map_err(|it| unusable(written, &it))?;
        let hidden = path.iter().any(|it| it.to_str().is_none_or(|it| it.starts_with('.')));
        if hidden { Err(denied(written, "it is hidden")) } else { Ok(Place { root, asked: written.to_owned(), path }) }
    }

    /// The name that the file really has.
    pub fn name(&self) -> &str {
        self.path.file_name().and_then(|it| it.to_str()).unwrap_or_default()
    }
}

/// What is wrong with a path as it is written.
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
