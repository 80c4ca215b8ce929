//! Pack files: a talk is converted to a pack, and the files that a pack names are inserted into it. Hosts read the bytes.

use std::io;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{Pack, PackError, foreign};

/// Returns the content of a file. The core opens none; paths are those of the pack file and, beside it, what it names.
pub type ReadFile<'f> = &'f dyn Fn(&Path) -> io::Result<Vec<u8>>;

/// Why a pack file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PackFileError {
    /// The file cannot be read.
    #[error("cannot read {0}: {1}; check the path")]
    Unreadable(String, io::Error),
    /// The file is neither a pack nor a talk.
    #[error("{0}: {1}")]
    Invalid(String, PackError),
}

/// Returns the JSON text of a pack file; a talk is converted to the pack that it describes.
///
/// # Errors
/// [`PackFileError`] if a file cannot be read, is one of another builder or no JSON, or if a talk is invalid. Other text that is not a pack is
/// returned unchanged.
pub fn pack_file_text(path: &Path, read: ReadFile) -> Result<String, PackFileError> {
    let name = || path.display().to_string();
    let text = read_text(path, read).map_err(|error| PackFileError::Unreadable(name(), error))?;
    let within = |path: &Path, text| inline_modules(path.parent().unwrap_or(Path::new("")), text, read);
    if !path.extension().is_some_and(|it| it.eq_ignore_ascii_case("talk")) {
        if let Some(problem) = foreign::find_problem(&text) {
            return Err(PackFileError::Invalid(name(), PackError::invalid_pack(problem)));
        }
        return within(path, wrap_document(text)).map_err(|(file, error)| PackFileError::Unreadable(file, error));
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let config = |file: &str| {
        let file = folder.join(file);
        let text = read_text(&file, read).map_err(|error| error.to_string())?;
        within(&file, text).map_err(|(file, error)| format!("{file}: {error}"))
    };
    let pack = Pack::parse_talk(&text, config).map_err(|error| PackFileError::Invalid(name(), error))?;
    Ok(json!(pack).to_string())
}

/// Wraps a flow document in a pack; other text is returned unchanged. A document has a member `doc`.
pub fn wrap_document(text: String) -> String {
    let found: Option<Value> = serde_json::from_str(&text).ok();
    let document = found.filter(|document| document.get("doc").is_some_and(Value::is_string) && document.get("tables").is_none());
    document
        .map_or(text, |document| json!({"name": document.get("name").cloned().unwrap_or_default(), "documents": [document]}).to_string())
}

fn read_text(path: &Path, read: ReadFile) -> io::Result<String> {
    String::from_utf8(read(path)?).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "the file is not valid UTF-8"))
}

/// Replaces the module files that a pack names, relative to `folder`, by their content; other text is returned unchanged.
fn inline_modules(folder: &Path, text: String, read: ReadFile) -> Result<String, (String, io::Error)> {
    if !text.contains("\"extensions\"") {
        return Ok(text);
    }
    let Ok(mut pack) = serde_json::from_str::<Value>(&text) else { return Ok(text) };
    let extensions = pack.get_mut("extensions").and_then(Value::as_object_mut);
    let mut changed = false;
    for extension in extensions.into_iter().flat_map(serde_json::Map::values_mut).filter_map(Value::as_object_mut) {
        let Some(file) = extension.get("file").and_then(Value::as_str).map(|it| folder.join(it)) else { continue };
        let bytes = read(&file).map_err(|error| (file.display().to_string(), error))?;
        extension.shift_remove("file");
        extension.insert("wasm".to_owned(), STANDARD.encode(bytes).into());
        changed = true;
    }
    Ok(if changed { pack.to_string() } else { text })
}

impl Pack {
    /// Reads a pack, a talk or a single document, whichever the file is; a talk by the extension `talk`.
    ///
    /// ```
    /// use std::io;
    /// use std::path::Path;
    /// use convengine_pack::Pack;
    ///
    /// let read = |path: &Path| match path.to_str() {
    ///     Some("talks/open.talk") => Ok(b"config bakery.json\n\n> When are you open?\n< From 6 to 14.\n".to_vec()),
    ///     Some("talks/bakery.json") => Ok(br#"{"name": "bakery"}"#.to_vec()),
    ///     _ => Err(io::Error::from(io::ErrorKind::NotFound)),
    /// };
    /// let pack = Pack::from_file(Path::new("talks/open.talk"), &read)?;
    /// assert_eq!((pack.name.as_str(), pack.turns.len()), ("bakery", 1));
    /// assert!(Pack::from_file(Path::new("talks/closed.talk"), &read).is_err());
    /// # Ok::<(), convengine_pack::PackFileError>(())
    /// ```
    ///
    /// # Errors
    /// [`PackFileError`] if a file cannot be read or is invalid.
    pub fn from_file(path: &Path, read: ReadFile) -> Result<Pack, PackFileError> {
        Pack::parse(&pack_file_text(path, read)?).map_err(|error| PackFileError::Invalid(path.display().to_string(), error))
    }
}
