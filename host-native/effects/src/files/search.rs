//! Searches the files below a folder for lines that contain all words of a query.

use std::path::{Path, PathBuf};

use convengine_core::turn::EffectError;
use serde_json::{Value, json};

use super::Spec;
use super::read::{self, FileText};
use super::resolved_path::ResolvedPath;
use crate::search_words;
use crate::tool::invalid;

/// Maximum number of returned lines.
const MAX_LINES: usize = 50;

/// Maximum number of visited files and folders.
const MAX_FILES: usize = 1_000;

/// Maximum number of bytes read in total.
const MAX_BYTES: usize = 64 << 20;

/// Maximum number of returned characters of a line.
const MAX_LINE_CHARS: usize = 300;

/// Returns the lines that contain every word, ordered by file name.
///
/// # Errors
/// `Invalid` for a query without words, or the I/O failure of the folder itself.
pub fn search_lines(place: &ResolvedPath<'_>, spec: &Spec, query: &str) -> Result<Value, EffectError> {
    let words = search_words::tokenize(query);
    if words.is_empty() {
        let name = spec.query.as_deref().unwrap_or("query");
        return Err(invalid(format!("missing search terms: give the argument '{name}'")));
    }
    let mut hits = Hits { words, lines: Vec::new(), bytes: 0, full: false, truncated: false };
    let mut pending = vec![place.path.clone()];
    let mut visited = 0;
    // A stack: names are pushed in reverse, so that they are visited in order.
    while let Some(path) = pending.pop() {
        visited += 1;
        if visited > MAX_FILES || hits.bytes > MAX_BYTES || hits.full {
            hits.truncated = true;
            break;
        }
        // Links below the requested path are skipped, because they could form a cycle.
        let Ok(metadata) = place.root.symlink_metadata(&path) else { continue };
        if metadata.is_dir() {
            let names = match read::list_names(place.root, &path, &place.requested) {
                Err(error) if path == place.path => return Err(error),
                names => names.unwrap_or_default(),
            };
            pending.extend(names.iter().rev().map(|it| child_path(&path, it)));
        } else if metadata.is_file() && path.to_str().is_some_and(|it| spec.allows_file(it)) {
            hits.search_file(place, &path, spec);
        }
    }
    Ok(json!({"path": place.requested, "query": query, "lines": hits.lines, "truncated": hits.truncated}))
}

fn child_path(path: &Path, name: &str) -> PathBuf {
    if path == Path::new(".") { PathBuf::from(name) } else { path.join(name) }
}

struct Hits {
    words: Vec<String>,
    lines: Vec<Value>,
    bytes: usize,
    /// Whether there are more lines than are returned.
    full: bool,
    /// Whether something was omitted.
    truncated: bool,
}

impl Hits {
    /// Adds the matching lines of a file; a file that cannot be read as text is skipped.
    fn search_file(&mut self, place: &ResolvedPath<'_>, path: &Path, spec: &Spec) {
        let shown = path.to_string_lossy();
        let Ok(FileText { text, truncated, .. }) = read::read_text(place.root, path, &shown, spec.byte_limit()) else { return };
        self.bytes += text.len();
        self.truncated |= truncated;
        for (index, line) in text.lines().enumerate() {
            let folded = line.to_lowercase();
            if !self.words.iter().all(|word| folded.contains(word.as_str())) {
                continue;
            }
            if self.lines.len() == MAX_LINES {
                self.full = true;
                self.truncated = true;
                return;
            }
            let text: String = line.trim().chars().take(MAX_LINE_CHARS).collect();
            self.lines.push(json!({"path": shown, "line": index + 1, "text": text}));
        }
    }
}
