//! The documents of a knowledge base and the chunks that are searched.

use serde::{Deserialize, Serialize};

/// A document of a knowledge base.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The id; a source with the id of another replaces it.
    pub id: String,
    /// The title, which is shown in citations and searched with every chunk.
    pub title: String,
    /// The whole text.
    pub text: String,
    /// Where a reader finds the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The locale of the text, such as `en-GB`; it selects stemming, stop words and the treatment of accents.
    #[serde(default)]
    pub locale: String,
    /// How the text is written.
    #[serde(default)]
    pub format: SourceFormat,
    /// How many pages of the document show something that is not in the text, such as scans.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unreadable_pages: u32,
}

/// Stands for a character of a document that could not be read.
pub const UNREADABLE: char = char::REPLACEMENT_CHARACTER;

impl Source {
    /// Returns the number of characters that could not be read.
    pub fn unreadable_characters(&self) -> usize {
        self.text.chars().filter(|it| *it == UNREADABLE).count()
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// How the text of a source is written. Hosts convert other formats to one of these.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceFormat {
    /// Plain text; blank lines separate paragraphs.
    #[default]
    Text,
    /// Markdown; headings separate sections.
    Markdown,
}

/// A part of a source: the unit of search and citation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    /// `{source}#{n}`, counted from 1.
    pub id: String,
    /// The id of the source.
    pub source: String,
    /// The title of the source, followed by the headings above the chunk: `Cards › Fees › Abroad`.
    pub title: String,
    /// The address of the source.
    pub url: Option<String>,
    /// The text, without control characters.
    pub text: String,
    /// The terms of title and text with their counts, sorted by term.
    pub terms: Vec<(String, u32)>,
    /// The sum of the counts.
    pub length: u32,
}

/// Returns the text that is embedded for a chunk: the title and the text.
pub fn embedding_text(title: &str, text: &str) -> String {
    format!("{title}\n{text}")
}

impl Chunk {
    /// Returns the text that is embedded: the title and the text.
    pub fn embedding_text(&self) -> String {
        embedding_text(&self.title, &self.text)
    }

    /// Returns how often a term occurs in the chunk.
    pub fn count(&self, term: &str) -> u32 {
        let place = self.terms.binary_search_by(|entry| entry.0.as_str().cmp(term)).ok();
        place.and_then(|it| self.terms.get(it)).map_or(0, |it| it.1)
    }
}
