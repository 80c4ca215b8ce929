//! Converts documents to the formats that the core cuts.

use std::time::Duration;

use convengine_core::knowledge::SourceFormat;
use tokio::time::timeout;

use super::{html, pdf};
use crate::ops::audit::derive::run_blocking;

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
}

/// The text of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConvertedDocument {
    /// The title that the document gives itself.
    pub title: Option<String>,
    /// The text.
    pub text: String,
    /// How the text is written.
    pub format: SourceFormat,
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
        DocumentFormat::ALL.into_iter().find(|it| it.name() == name)
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
        match timeout(MAX_CONVERSION, run_blocking(move || convert(self))).await {
            Ok(Ok(converted)) => converted,
            // The parser has panicked.
            Ok(Err(_)) => Err("it cannot be parsed".to_owned()),
            Err(_) => Err(format!("it is not parsed within {} s", MAX_CONVERSION.as_secs())),
        }
    }
}

fn convert(document: Document) -> Result<ConvertedDocument, String> {
    match document.format {
        DocumentFormat::Text => read_text(document.bytes).map(|text| ConvertedDocument { title: None, text, format: SourceFormat::Text }),
        DocumentFormat::Markdown => {
            read_text(document.bytes).map(|text| ConvertedDocument { title: None, text, format: SourceFormat::Markdown })
        }
        DocumentFormat::Html => {
            let page = html::convert(&String::from_utf8_lossy(&document.bytes))?;
            Ok(ConvertedDocument { title: page.title, text: page.markdown, format: SourceFormat::Markdown })
        }
        DocumentFormat::Pdf => {
            pdf::extract_text(&document.bytes).map(|text| ConvertedDocument { title: None, text, format: SourceFormat::Text })
        }
    }
}

fn read_text(bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())
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
        Document { format, bytes: bytes.to_vec() }.convert().await
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
        let objects = [&objects[..], more].concat();
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
        assert_eq!(reason(DocumentFormat::Text, &[0xff, 0xfe]).await, "it is not UTF-8");
        assert_eq!(reason(DocumentFormat::Markdown, &[0xff, 0xfe]).await, "it is not UTF-8");
        for bytes in [&b""[..], b"%PDF-1.4", b"%PDF-1.7\n1 0 obj\n<<>>\nendobj\ntrailer\n<</Root 1 0 R>>\nstartxref\n9\n%%EOF", &[0; 5_000]]
        {
            assert_eq!(reason(DocumentFormat::Pdf, bytes).await, "it is not a PDF, or damaged", "{bytes:?}");
        }
        assert_eq!(reason(DocumentFormat::Pdf, &pdf("", &[])).await, "it has no text; a scan must be recognised first");
        let drawn = "q /F Do Q BT /F1 12 Tf 72 720 Td (Fees) Tj ET";
        for entries in ["", "/Resources<</XObject<</F 6 0 R>>>>"] {
            let endless = pdf(drawn, &[&form(entries, "/F Do")]);
            assert_eq!(reason(DocumentFormat::Pdf, &endless).await, "its forms are nested without end", "{entries}");
        }
        let text = convert(DocumentFormat::Pdf, &pdf(drawn, &[&form("", "0 0 m")])).await.map(|it| it.text.trim().to_owned());
        assert_eq!(text.as_deref(), Ok("Fees"), "what is refused above is refused for its form");
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
    async fn a_page_becomes_markdown() {
        let page = "<!doctype html><title> Fees &amp; limits </title><style>p{}</style><nav><a href=/x>Home</a></nav><h1>Cards</h1>\
            <p>A <b>card</b> costs <a href='https://bank.example/x'>5 euros</a>.<script>alert('no')</script><h2>Abroad</h2><p>2 %</p>";
        let found = convert(DocumentFormat::Html, page.as_bytes()).await.expect("a text");
        assert_eq!((found.title.as_deref(), found.format), (Some("Fees & limits"), SourceFormat::Markdown));
        assert!(found.text.starts_with("# Cards\n\nA **card** costs 5 euros."), "{}", found.text);
        assert!(found.text.contains("## Abroad") && !found.text.contains("alert") && !found.text.contains("Home"), "{}", found.text);
    }
}
