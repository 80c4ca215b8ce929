//! The lines below a folder that have certain words.

use std::path::{Path, PathBuf};

use convengine_core::turn::EffectError;
use serde_json::{Value, json};

use super::Spec;
use super::place::Place;
use super::read::{self, Text};
use crate::fulfil::tool::invalid;
use crate::fulfil::words;

/// Lines of an answer.
const MOST_LINES: usize = 50;

/// Files and folders that are looked at.
const MOST_FILES: usize = 1_000;

/// Bytes that are read in all.
const MOST_BYTES: usize = 64 << 20;

/// Characters of a line that are shown.
const LONGEST_LINE: usize = 300;

/// The lines that have every word, in the order of the files' names.
///
/// # Errors
/// No words, or a folder that cannot be read.
pub fn lines(place: &Place<'_>, spec: &Spec, query: &str) -> Result<Value, EffectError> {
    let words = words::of(query);
    if words.is_empty() {
        let name = spec.query.as_deref().unwrap_or("query");
        return Err(invalid(format!("there are no words to search for: give the argument '{name}'")));
    }
    let mut hits = Hits { words, lines: Vec::new(), bytes: 0, full: false, truncated: false };
    let mut open = vec![place.path.clone()];
    let mut looked_at = 0;
    // The last one is looked at next, so folders and files come in their order.
    while let Some(path) = open.pop() {
        looked_at += 1;
        if looked_at > MOST_FILES || hits.bytes > MOST_BYTES || hits.full {
            hits.truncated = true;
            break;
        }
        // Links are left out, except the one that was asked for: they could lead in circles.
        let Ok(metadata) = place.root.symlink_metadata(&path) else { continue };
        if metadata.is_dir() {
            let names = match read::names(place.root, &path, &place.asked) {
                Err(error) if path == place.path => return Err(error),
                names => names.unwrap_or_default(),
            };
            open.extend(names.iter().rev().map(|it| below(&path, it)));
        } else if metadata.is_file() && path.to_str().is_some_and(|it| spec.takes(it)) {
            hits.look(place, &path, spec);
        }
    }
    Ok(json!({"path": place.asked, "query": query, "lines": hits.lines, "truncated": hits.truncated}))
}

fn below(path: &Path, name: &str) -> PathBuf {
    if path == Path::new(".") { PathBuf::from(name) } else { path.join(name) }
}

struct Hits {
    words: Vec<String>,
    lines: Vec<Value>,
    bytes: usize,
    /// Whether there are more lines than are shown.
    full: bool,
    /// Whether something was left out.
    truncated: bool,
}

impl Hits {
    /// Looks into a file; one that cannot be read, or is no text, has no lines.
    fn look(&mut self, place: &Place<'_>, path: &Path, spec: &Spec) {
        let shown = path.to_string_lossy();
        let Ok(Text { text, truncated, .. }) = read::text(place.root, path, &shown, spec.most_bytes()) else { return };
        self.bytes += text.len();
        self.truncated |= truncated;
        for (index, line) in text.lines().enumerate() {
            let folded = line.to_lowercase();
            if !self.words.iter().all(|it| folded.contains(it.as_str())) {
                continue;
            }
            if self.lines.len() == MOST_LINES {
                self.full = true;
                self.truncated = true;
                return;
            }
            let text: String = line.trim().chars().take(LONGEST_LINE).collect();
            self.lines.push(json!({"path": shown, "line": index + 1, "text": text}));
        }
    }
}
