//! Reads the text of PDF documents: page by page, and of each page the lines as they are drawn.

mod content;
mod font;
mod layout;
mod order;

use self::content::PageReader;
use super::document::{MAX_TEXT_BYTES, UNREADABLE};
use hayro_font::hayro_syntax::{LoadPdfError, Pdf};

/// The most pages of a document, which may name one page again and again.
const MAX_PAGES: usize = 10_000;

/// The text of a PDF.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PdfText {
    /// The text, with [`UNREADABLE`] for each character that cannot be read.
    pub text: String,
    /// The number of pages that show something but have no text, such as scans, or are damaged.
    pub unreadable_pages: u32,
}

/// Reads the text of a document.
///
/// # Errors
/// The reason why it cannot be read.
pub fn extract_text(bytes: Vec<u8>) -> Result<PdfText, String> {
    let damaged = "it is not a PDF, or damaged";
    let pdf = Pdf::new(bytes).map_err(|error| match error {
        LoadPdfError::Decryption(_) => "it has a password",
        LoadPdfError::Invalid => damaged,
    })?;
    if pdf.pages().is_empty() {
        return Err(damaged.to_owned());
    }
    if pdf.pages().len() > MAX_PAGES {
        return Err(format!("it has more than {MAX_PAGES} pages; split it"));
    }
    let mut reader = PageReader::default();
    let (mut text, mut unreadable_pages) = (String::new(), 0);
    for page in pdf.pages().iter() {
        let drawn = reader.read(page)?;
        let lines = layout::text_of(&drawn.pieces);
        unreadable_pages += u32::from(drawn.is_damaged || lines.is_empty() && drawn.has_pictures);
        if lines.is_empty() {
            continue;
        }
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(&lines);
        if text.len() > MAX_TEXT_BYTES {
            return Err(format!("its text is longer than {MAX_TEXT_BYTES} bytes"));
        }
    }
    match text.chars().find(|character| !character.is_whitespace() && *character != UNREADABLE) {
        Some(_) => Ok(PdfText { text, unreadable_pages }),
        None if text.is_empty() => Err("it has no text; a scan must be recognised first".to_owned()),
        None => Err("its fonts do not say which characters it shows; export it with another program, or recognise it as a scan".to_owned()),
    }
}
