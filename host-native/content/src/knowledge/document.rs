//! Converts documents to the formats that the core cuts.

use std::time::Duration;

use convengine_core::knowledge::SourceFormat;
pub use convengine_core::knowledge::UNREADABLE;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use convengine_storage::run_blocking;

use super::{charset, document_process, html, pdf};

/// The largest document in bytes.
pub const MAX_DOCUMENT_BYTES: usize = 10 * 1024 * 1024;

/// The longest text of a document in bytes.
pub(super) const MAX_TEXT_BYTES: usize = MAX_DOCUMENT_BYTES;

/// How long a document is parsed.
const MAX_CONVERSION: Duration = Duration::from_secs(30);

/// Maximum length of a source id in characters.
pub const MAX_ID_CHARS: usize = 128;

/// The formats that a source may be sent in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentFormat {
    /// Plain text.
    Text,
    /// Markdown.
    Markdown,
    /// A web page.
    Html,
    /// A PDF.
    Pdf,
}

/// A document.
#[derive(Debug)]
pub struct Document {
    /// Its format.
    pub format: DocumentFormat,
    /// Its content.
    pub bytes: Vec<u8>,
    /// The name of its character set, if its sender declares one.
    pub charset: Option<String>,
}

/// The text of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConvertedDocument {
    /// The title that the document gives itself.
    pub title: Option<String>,
    /// The text, with [`UNREADABLE`] for each character that could not be read.
    pub text: String,
    /// How the text is written.
    pub format: SourceFormat,
    /// The number of pages that show something but have no text.
    pub unreadable_pages: u32,
}

impl DocumentFormat {
    const ALL: [DocumentFormat; 4] = [DocumentFormat::Text, DocumentFormat::Markdown, DocumentFormat::Html, DocumentFormat::Pdf];

    /// The name in requests.
    pub fn name(self) -> &'static str {
        match self {
            DocumentFormat::Text => "text",
            DocumentFormat::Markdown => "markdown",
            DocumentFormat::Html => "html",
            DocumentFormat::Pdf => "pdf",
        }
    }

    /// Returns the format with a name.
    pub fn from_name(name: &str) -> Option<DocumentFormat> {
        DocumentFormat::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Whether documents of the format can be far larger than they look, or keep their reader busy.
    fn needs_process(self) -> bool {
        match self {
            DocumentFormat::Text | DocumentFormat::Markdown => false,
            DocumentFormat::Html | DocumentFormat::Pdf => true,
        }
    }

    /// Returns the format of a media type, without parameters and in lower case.
    pub fn from_media_type(kind: &str) -> Option<DocumentFormat> {
        match kind {
            "text/plain" => Some(DocumentFormat::Text),
            "text/markdown" | "text/x-markdown" => Some(DocumentFormat::Markdown),
            "text/html" | "application/xhtml+xml" => Some(DocumentFormat::Html),
            "application/pdf" => Some(DocumentFormat::Pdf),
            _ => None,
        }
    }

    /// Returns the format of a file by its extension.
    pub fn from_extension(extension: &str) -> Option<DocumentFormat> {
        match extension.to_ascii_lowercase().as_str() {
            "txt" | "text" => Some(DocumentFormat::Text),
            "md" | "markdown" => Some(DocumentFormat::Markdown),
            "html" | "htm" | "xhtml" => Some(DocumentFormat::Html),
            "pdf" => Some(DocumentFormat::Pdf),
            _ => None,
        }
    }
}

impl Document {
    /// Converts the document.
    ///
    /// # Errors
    /// The reason why it has no readable text.
    pub async fn convert(self) -> Result<ConvertedDocument, String> {
        let _turn = if self.format.needs_process() { Some(document_process::turn().await) } else { None };
        timeout(MAX_CONVERSION, self.convert_in_time())
            .await
            .unwrap_or_else(|_| Err(format!("it is not parsed within {} s", MAX_CONVERSION.as_secs())))
    }

    async fn convert_in_time(self) -> Result<ConvertedDocument, String> {
        if self.format.needs_process() {
            return document_process::convert(self).await;
        }
        run_blocking(move || self.convert_here()).await.unwrap_or_else(|_| Err("it cannot be parsed".to_owned()))
    }

    /// Converts the document on this thread.
    ///
    /// # Errors
    /// The reason why it has no readable text.
    pub(super) fn convert_here(self) -> Result<ConvertedDocument, String> {
        if self.format == DocumentFormat::Pdf {
            let found = pdf::extract_text(self.bytes)?;
            let (text, unreadable_pages) = (found.text, found.unreadable_pages);
            return Ok(ConvertedDocument { title: None, text, format: SourceFormat::Text, unreadable_pages });
        }
        convert_text(&self)
    }
}

fn convert_text(document: &Document) -> Result<ConvertedDocument, String> {
    let is_page = document.format == DocumentFormat::Html;
    let text = charset::decode(&document.bytes, document.charset.as_deref(), is_page)?;
    if text.contains(UNREADABLE) && !text.chars().any(|character| character != UNREADABLE && !character.is_whitespace()) {
        return Err("it is not UTF-8; declare its character set".to_owned());
    }
    let (title, text, format) = match document.format {
        DocumentFormat::Html => {
            let page = html::convert(&text)?;
            if page.markdown.len() > MAX_TEXT_BYTES {
                return Err(format!("its text is longer than {MAX_TEXT_BYTES} bytes"));
            }
            (page.title, page.markdown, SourceFormat::Markdown)
        }
        DocumentFormat::Markdown => (None, text, SourceFormat::Markdown),
        DocumentFormat::Text | DocumentFormat::Pdf => (None, text, SourceFormat::Text),
    };
    Ok(ConvertedDocument { title, text, format, unreadable_pages: 0 })
}

/// Returns whether a text is a valid id of a source. Lists of ids have commas, and `search` is a route.
pub fn is_source_id(text: &str) -> bool {
    let is_allowed = |it: char| !it.is_control() && it != ',';
    !text.is_empty() && text.chars().count() <= MAX_ID_CHARS && text.trim() == text && text != "search" && text.chars().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn convert(format: DocumentFormat, bytes: &[u8]) -> Result<ConvertedDocument, String> {
        Document { format, bytes: bytes.to_vec(), charset: None }.convert().await
    }

    #[test]
    fn ids_can_be_listed_and_addressed() {
        for id in ["fees", "articles/fees.md", "Gebühren #1", "it's", &"x".repeat(128)] {
            assert!(is_source_id(id), "{id}");
        }
        for id in ["", " ", " a", "a,b", "a\n", "search", &"x".repeat(129)] {
            assert!(!is_source_id(id), "{id:?}");
        }
    }

    /// A PDF of one page with this content; `/F` is the sixth object, if there is one.
    fn pdf(content: &str, more: &[&str]) -> Vec<u8> {
        let page = "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>/XObject<</F 6 0 R>>>>>>";
        let content = format!("<</Length {}>>stream\n{content}\nendstream", content.len());
        let font = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>";
        let objects = ["<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>", page, &content, font];
        pdf_of(&[&objects[..], more].concat())
    }

    /// A PDF of these objects; the first one is the catalog.
    fn pdf_of(objects: &[&str]) -> Vec<u8> {
        let mut file = "%PDF-1.4\n".to_owned();
        let mut table = format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
        for (index, object) in objects.iter().enumerate() {
            table += &format!("{:010} 00000 n \n", file.len());
            file += &format!("{} 0 obj\n{object}\nendobj\n", index + 1);
        }
        let start = file.len();
        file += &format!("{table}trailer\n<</Size {}/Root 1 0 R>>\nstartxref\n{start}\n%%EOF\n", objects.len() + 1);
        file.into_bytes()
    }

    /// A form that draws this content.
    fn form(entries: &str, content: &str) -> String {
        format!("<</Type/XObject/Subtype/Form/BBox[0 0 9 9]{entries}/Length {}>>stream\n{content}\nendstream", content.len())
    }

    #[test]
    fn formats_have_names() {
        for format in DocumentFormat::ALL {
            assert_eq!(DocumentFormat::from_name(format.name()), Some(format));
        }
        assert_eq!(DocumentFormat::from_name("docx"), None);
    }

    #[tokio::test]
    async fn bad_documents_are_refused_with_the_reason() {
        let reason = async |format, bytes: &[u8]| convert(format, bytes).await.expect_err("refused");
        for format in [DocumentFormat::Text, DocumentFormat::Markdown, DocumentFormat::Html] {
            assert_eq!(reason(format, &[0xff, 0xff]).await, "it is not UTF-8; declare its character set");
        }
        for bytes in [&b""[..], b"%PDF-1.4", b"%PDF-1.7\n1 0 obj\n<<>>\nendobj\ntrailer\n<</Root 1 0 R>>\nstartxref\n9\n%%EOF", &[0; 5_000]]
        {
            assert_eq!(reason(DocumentFormat::Pdf, bytes).await, "it is not a PDF, or damaged", "{bytes:?}");
        }
        assert_eq!(reason(DocumentFormat::Pdf, &pdf("", &[])).await, "it has no text; a scan must be recognised first");
        let drawn = "q /F Do Q BT /F1 12 Tf 72 720 Td (Fees) Tj ET";
        let endless = pdf(drawn, &[&form("", "/F Do")]);
        assert_eq!(reason(DocumentFormat::Pdf, &endless).await, "its forms are nested without end");
        for harmless in [form("", "0 0 m"), form("/Resources<</XObject<</F 6 0 R>>>>", "/F Do")] {
            let text = convert(DocumentFormat::Pdf, &pdf(drawn, &[&harmless])).await.map(|it| it.text);
            assert_eq!(text.as_deref(), Ok("Fees"), "{harmless}");
        }
    }

    #[tokio::test]
    async fn words_and_lines_are_put_together() {
        let text = async |content: &str| convert(DocumentFormat::Pdf, &pdf(content, &[])).await.map(|it| it.text);
        for (content, expected) in [
            ("[(Fees) -300 (of) -20 (ten) -250 (cards)] TJ", "Fees often cards"),
            ("3 Tc (Fees) Tj", "Fees"),
            ("20 Tw (Fees of cards) Tj", "Fees of cards"),
            ("(Fees) Tj 0 -14 Td (of cards) Tj 0 -40 Td (Limits) Tj", "Fees\nof cards\n\nLimits"),
            ("(Area in m) Tj 4 Ts /F1 6 Tf (2) Tj 0 Ts /F1 12 Tf ( net) Tj", "Area in m2 net"),
            ("(Un\\255) Tj 0 -14 Td (believable) Tj", "Unbelievable"),
            ("(Name) Tj 200 0 Td (Fee) Tj", "Name Fee"),
            ("14 TL (Fees) Tj (of cards) ' 1 0 (Limits) \"", "Fees\nof cards\nLimits"),
            ("0 1 -1 0 300 300 Tm (Fees of cards) Tj", "Fees of cards"),
            ("q 2 Tc (Fees) Tj Q ( of cards) Tj", "Fees of cards"),
        ] {
            assert_eq!(text(&format!("BT /F1 12 Tf 72 720 Td {content} ET")).await.as_deref(), Ok(expected), "{content}");
        }
    }

    #[tokio::test]
    async fn what_a_pdf_does_not_have_is_counted() {
        let read = async |content: &str, more: &[&str]| convert(DocumentFormat::Pdf, &pdf(content, more)).await.expect("a text");
        let found = read("BT /F1 12 Tf 72 720 Td (Fees ) Tj /F9 12 Tf (abc) Tj ET", &[]).await;
        assert_eq!((found.text.as_str(), found.unreadable_pages), ("Fees \u{fffd}\u{fffd}\u{fffd}", 0));
        let damaged = "<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Filter/DCTDecode/Length 3>>stream\nabc\nendstream";
        let found = read("BT /F1 12 Tf 72 720 Td (Fees) Tj ET /F Do", &[damaged]).await;
        assert_eq!((found.text.as_str(), found.unreadable_pages), ("Fees", 1));
    }

    #[tokio::test]
    async fn pages_that_are_nested_too_deeply_are_refused() {
        let nested = |levels: usize| format!("{}text{}", "<div>".repeat(levels), "</div>".repeat(levels));
        let text = convert(DocumentFormat::Html, nested(150).as_bytes()).await.map(|it| it.text);
        assert_eq!(text.as_deref().map(str::trim), Ok("text"));
        for page in [nested(300), nested(2_000), "<div>".repeat(100_000)] {
            let reason = convert(DocumentFormat::Html, page.as_bytes()).await.expect_err("refused");
            assert_eq!(reason, "its elements are nested more than 200 levels deep", "{} bytes", page.len());
        }
    }

    #[tokio::test]
    async fn pages_with_many_attributes_are_read_in_linear_time() {
        // Each attribute used to be compared with all before it, which took minutes.
        let attributes: String = (0..150_000).map(|it| format!(" a{it}")).collect();
        let found = convert(DocumentFormat::Html, format!("<p{attributes}>Fees</p{attributes}>").as_bytes()).await.expect("a text");
        assert_eq!(found.text.trim(), "Fees");
        // Each paragraph used to reopen all elements of emphasis before it.
        let page: String = (0..900).map(|it| format!("<p><font color={it}>Fees</p>")).collect();
        assert!(convert(DocumentFormat::Html, page.as_bytes()).await.is_ok());
    }

    #[tokio::test]
    async fn pdfs_with_too_many_pages_are_refused() {
        let kids: String = (3..10_004).map(|it| format!("{it} 0 R ")).collect();
        let pages = format!("<</Type/Pages/Kids[{kids}]/Count 10001>>");
        let page = "<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>";
        let objects = [&["<</Type/Catalog/Pages 2 0 R>>", pages.as_str()][..], &[page; 10_001]].concat();
        let reason = convert(DocumentFormat::Pdf, &pdf_of(&objects)).await.expect_err("refused");
        assert_eq!(reason, "it has more than 10000 pages; split it");
    }

    #[tokio::test]
    async fn a_page_becomes_markdown() {
        let page = "<!doctype html><title> Fees &amp; limits </title><style>p{}</style><nav><a href=/x>Home</a></nav><h1>Cards</h1>\
            <p>A <b>card</b> costs <a href='https://bank.example/x'>5 euros</a>.<script>alert('no')</script><h2>Abroad</h2><p>2 %</p>";
        let found = convert(DocumentFormat::Html, page.as_bytes()).await.expect("a text");
        assert_eq!((found.title.as_deref(), found.format), (Some("Fees & limits"), SourceFormat::Markdown));
        assert!(found.text.starts_with("# Cards\n\nA card costs 5 euros."), "{}", found.text);
        assert!(found.text.contains("## Abroad") && !found.text.contains("alert") && !found.text.contains("Home"), "{}", found.text);
    }
}
