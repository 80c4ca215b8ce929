//! The text of a file, and the names in a folder.

use std::io::Read;
use std::path::Path;

use cap_std::fs::Dir;
use convengine_core::turn::EffectError;
use serde_json::{Value, json};

use super::place::Place;
use super::{Spec, denied, unusable};
use crate::fulfil::tool::invalid;

/// Names of a folder that are listed.
const MOST_NAMES: usize = 1_000;

/// A text as far as it is read.
pub struct Text {
    /// Bytes of the whole file.
    pub size: u64,
    pub text: String,
    pub truncated: bool,
}

/// The text of a file.
///
/// # Errors
/// No file, no text, or one that may not be read.
pub fn file(place: &Place<'_>, spec: &Spec) -> Result<Value, EffectError> {
    if place.asked.is_empty() {
        let name = spec.path.as_deref().unwrap_or("path");
        return Err(invalid(format!("there is no path: give the argument '{name}'")));
    }
    if !spec.takes(place.name()) {
        return Err(denied(&place.asked, &format!("only files that end in {} may be read", spec.extensions.join(", "))));
    }
    let Text { size, text, truncated } = text(place.root, &place.path, &place.asked, spec.most_bytes())?;
    Ok(json!({"path": place.asked, "size": size, "text": text, "truncated": truncated}))
}

/// Reads a file up to a number of bytes.
///
/// # Errors
/// No file, or no text.
pub fn text(root: &Dir, path: &Path, asked: &str, most: u64) -> Result<Text, EffectError> {
    let failed = |it: std::io::Error| unusable(asked, &it);
    let special = || denied(asked, "it is no file");
    // Opening a pipe would wait for somebody who writes, and opening a device may do anything.
    if !root.metadata(path).map_err(failed)?.is_file() {
        return Err(special());
    }
    let file = root.open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(special());
    }
    let mut bytes = Vec::new();
    // One byte more tells whether there is more, also of a file that grows.
    file.take(most + 1).read_to_end(&mut bytes).map_err(failed)?;
    let truncated = u64::try_from(bytes.len()).is_ok_and(|it| it > most);
    if truncated {
        bytes.pop();
    }
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let end = error.utf8_error();
            // A character that was cut in two at the end is no fault of the file.
            if !truncated || end.error_len().is_some() {
                return Err(invalid(format!("'{asked}' is no text in UTF-8: only texts can be read")));
            }
            let mut bytes = error.into_bytes();
            bytes.truncate(end.valid_up_to());
            String::from_utf8(bytes).unwrap_or_default()
        }
    };
    Ok(Text { size: metadata.len(), text, truncated })
}

/// The names in a folder.
///
/// # Errors
/// No folder, or one that may not be read.
pub fn folder(place: &Place<'_>, spec: &Spec) -> Result<Value, EffectError> {
    let failed = |it: std::io::Error| unusable(&place.asked, &it);
    if !place.root.metadata(&place.path).map_err(failed)?.is_dir() {
        return Err(invalid(format!("'{}' is no folder: read it, or list the folder it lies in", place.asked)));
    }
    let names = names(place.root, &place.path, &place.asked)?;
    let mut entries = names.iter().filter_map(|it| entry(place, it, spec));
    let shown: Vec<Value> = entries.by_ref().take(MOST_NAMES).collect();
    let truncated = entries.next().is_some();
    Ok(json!({"path": place.asked, "entries": shown, "truncated": truncated}))
}

/// The names in a folder that are not hidden, in their order.
///
/// # Errors
/// A folder that cannot be read.
pub fn names(root: &Dir, path: &Path, asked: &str) -> Result<Vec<String>, EffectError> {
    let failed = |it: std::io::Error| unusable(asked, &it);
    let mut names = Vec::new();
    for entry in root.read_dir(path).map_err(failed)? {
        // A name that is no text cannot be asked for.
        let name = entry.map_err(failed)?.file_name().into_string().unwrap_or_default();
        if !name.is_empty() && !name.starts_with('.') {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// What a name stands for; nothing when it leads out of the root, may not be read, or is neither file nor folder.
fn entry(place: &Place<'_>, name: &str, spec: &Spec) -> Option<Value> {
    let metadata = place.root.metadata(place.path.join(name)).ok()?;
    if metadata.is_dir() {
        return Some(json!({"name": name, "kind": "folder", "size": null}));
    }
    (metadata.is_file() && spec.takes(name)).then(|| json!({"name": name, "kind": "file", "size": metadata.len()}))
}
