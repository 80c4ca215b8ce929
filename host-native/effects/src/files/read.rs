//! Reads text files and lists folders.

use std::io::Read;
use std::path::Path;

use cap_std::fs::Dir;
use convengine_core::turn::EffectError;
use serde_json::{Value, json};

use super::resolved_path::ResolvedPath;
use super::{Spec, denied, io_failure};
use crate::tool::invalid;

/// Maximum number of listed entries.
const MAX_ENTRIES: usize = 1_000;

/// The text of a file, up to the byte limit.
pub struct FileText {
    /// Size of the whole file in bytes.
    pub size: u64,
    pub text: String,
    pub truncated: bool,
}

/// Returns the text of a file with its path, size and whether it is truncated.
///
/// # Errors
/// `Invalid` without a path or for a file that is not UTF-8, `Denied` for a file that may not be read, or the I/O failure.
pub fn read_file(place: &ResolvedPath<'_>, spec: &Spec) -> Result<Value, EffectError> {
    if place.requested.is_empty() {
        let name = spec.path.as_deref().unwrap_or("path");
        return Err(invalid(format!("missing path: give the argument '{name}'")));
    }
    if !spec.allows_file(place.file_name()) {
        return Err(denied(&place.requested, &format!("only files that end in {} may be read", spec.extensions.join(", "))));
    }
    let FileText { size, text, truncated } = read_text(place.root, &place.path, &place.requested, spec.byte_limit())?;
    Ok(json!({"path": place.requested, "size": size, "text": text, "truncated": truncated}))
}

/// Reads a file up to `limit` bytes.
///
/// # Errors
/// `Denied` if it is not a regular file, `Invalid` if it is not UTF-8, or the I/O failure.
pub fn read_text(root: &Dir, path: &Path, requested: &str, limit: u64) -> Result<FileText, EffectError> {
    let failed = |it: std::io::Error| io_failure(requested, &it);
    let special = || denied(requested, "not a regular file");
    // Opening a pipe would block until something writes to it, and opening a device may have side effects.
    if !root.metadata(path).map_err(failed)?.is_file() {
        return Err(special());
    }
    let file = root.open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(special());
    }
    let mut bytes = Vec::new();
    // One extra byte shows whether there is more, even if the file is growing.
    file.take(limit + 1).read_to_end(&mut bytes).map_err(failed)?;
    let truncated = u64::try_from(bytes.len()).is_ok_and(|it| it > limit);
    if truncated {
        bytes.pop();
    }
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let end = error.utf8_error();
            // The limit may have cut a character in two.
            if !truncated || end.error_len().is_some() {
                return Err(invalid(format!("'{requested}' is not UTF-8: only text files can be read")));
            }
            let mut bytes = error.into_bytes();
            bytes.truncate(end.valid_up_to());
            String::from_utf8(bytes).unwrap_or_default()
        }
    };
    Ok(FileText { size: metadata.len(), text, truncated })
}

/// Lists the folders and readable files in a folder.
///
/// # Errors
/// `Invalid` if it is not a folder, or the I/O failure.
pub fn list_folder(place: &ResolvedPath<'_>, spec: &Spec) -> Result<Value, EffectError> {
    let failed = |it: std::io::Error| io_failure(&place.requested, &it);
    if !place.root.metadata(&place.path).map_err(failed)?.is_dir() {
        return Err(invalid(format!("'{}' is not a folder: read it, or list the folder it lies in", place.requested)));
    }
    let names = list_names(place.root, &place.path, &place.requested)?;
    let mut entries = names.iter().filter_map(|it| describe_entry(place, it, spec));
    let shown: Vec<Value> = entries.by_ref().take(MAX_ENTRIES).collect();
    let truncated = entries.next().is_some();
    Ok(json!({"path": place.requested, "entries": shown, "truncated": truncated}))
}

/// Returns the names in a folder that are not hidden, sorted.
///
/// # Errors
/// The I/O failure.
pub fn list_names(root: &Dir, path: &Path, requested: &str) -> Result<Vec<String>, EffectError> {
    let failed = |it: std::io::Error| io_failure(requested, &it);
    let mut names = Vec::new();
    for entry in root.read_dir(path).map_err(failed)? {
        // A name that is not UTF-8 cannot be requested.
        let name = entry.map_err(failed)?.file_name().into_string().unwrap_or_default();
        if !name.is_empty() && !name.starts_with('.') {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// Describes a listed name; `None` if it leads out of the root, may not be read, or is neither file nor folder.
fn describe_entry(place: &ResolvedPath<'_>, name: &str, spec: &Spec) -> Option<Value> {
    let metadata = place.root.metadata(place.path.join(name)).ok()?;
    if metadata.is_dir() {
        return Some(json!({"name": name, "kind": "folder", "size": null}));
    }
    (metadata.is_file() && spec.allows_file(name)).then(|| json!({"name": name, "kind": "file", "size": metadata.len()}))
}
