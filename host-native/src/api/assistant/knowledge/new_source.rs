//! Reads a source from a request: a JSON object, or the document itself with its members as query parameters.

use axum::extract::{Query, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use convengine_access::api_error::ApiError;
use convengine_content::knowledge::document::{Document, DocumentFormat, MAX_DOCUMENT_BYTES, is_source_id};
use convengine_core::knowledge::Source;
use convengine_core::turn::Map;
use serde_json::{Value, json};

use crate::api::assistant::body;
use crate::api::json_text;
use crate::api::request::has_json_body;

/// A PDF of 10 MB is 14 MB in Base64.
const MAX_BODY_BYTES: usize = MAX_DOCUMENT_BYTES / 3 * 4 + 64 * 1024;

/// Maximum length of a title in characters.
pub const MAX_TITLE_CHARS: usize = 300;
/// Maximum length of a URL in characters.
pub const MAX_URL_CHARS: usize = 2_000;
/// Maximum length of a locale in characters.
pub const MAX_LOCALE_CHARS: usize = 35;

/// A source as it was sent.
#[derive(Debug)]
pub struct NewSource {
    members: Map,
    /// The document, if it was sent without JSON.
    raw: Option<Document>,
}

/// Reads the body of a request.
///
/// # Errors
/// 400, 408, 413 or 415 for a body that is not of a supported kind.
pub async fn read(request: Request) -> Result<NewSource, ApiError> {
    let (Parts { uri, headers, .. }, body) = request.into_parts();
    let bytes = body::read_whole(body, MAX_BODY_BYTES).await?;
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let charset = charset_of(kind);
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if has_json_body(&headers) {
        let bytes = bytes.ok_or_else(too_large)?;
        return match json_text::parse(&bytes) {
            Ok(Value::Object(members)) => Ok(NewSource { members, raw: None }),
            Ok(_) => Err(bad_request("body is not an object; send one JSON object")),
            Err(error) => Err(bad_request(&format!("invalid JSON body: {error}; send one JSON object"))),
        };
    }
    let Some(format) = DocumentFormat::from_media_type(&kind) else {
        let message = "unsupported content type; send application/json, text/plain, text/markdown, text/html or application/pdf";
        return Err(ApiError::with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    };
    let bytes = bytes.filter(|bytes| bytes.len() <= MAX_DOCUMENT_BYTES).ok_or_else(too_large)?;
    let parameters = Query::<std::collections::BTreeMap<String, String>>::try_from_uri(&uri);
    let parameters = parameters.map_err(|_| bad_request("invalid query parameters; send each once, with percent-encoding"))?.0;
    let members = parameters.into_iter().map(|(key, value)| (key, json!(value))).collect();
    Ok(NewSource { members, raw: Some(Document { format, bytes, charset }) })
}

/// Returns the parameter `charset` of a media type.
fn charset_of(kind: &str) -> Option<String> {
    let parameters = kind.split(';').skip(1).filter_map(|it| it.split_once('='));
    let mut named = parameters.filter(|parameter| parameter.0.trim().eq_ignore_ascii_case("charset"));
    named.next().map(|parameter| parameter.1.trim().trim_matches('"').to_owned()).filter(|it| !it.is_empty())
}

impl NewSource {
    /// Checks the members and converts the document to text.
    ///
    /// # Errors
    /// 413 or 422 for a document or member that is invalid.
    pub async fn into_source(mut self, default_locale: &str) -> Result<Source, ApiError> {
        let document = match self.raw.take() {
            Some(document) => document,
            None => self.document()?,
        };
        let (id, title) = (self.id(), self.text("title", MAX_TITLE_CHARS));
        let (url, locale) = (self.url(), self.text("locale", MAX_LOCALE_CHARS));
        let invalid = |it: String| refuse(&it).with_code("invalid_source");
        let (id, title, url, locale) = (id.map_err(invalid)?, title.map_err(invalid)?, url.map_err(invalid)?, locale.map_err(invalid)?);
        let is_locale = |it: &String| it.chars().all(|character| character.is_ascii_alphanumeric() || matches!(character, '-' | '_'));
        if !locale.iter().all(is_locale) {
            return Err(invalid("locale is not a language tag; send one such as en-GB".to_owned()));
        }
        let format = document.format;
        let converted =
            document.convert().await.map_err(|reason| refuse(&format!("{}: {reason}", format.name())).with_code("unreadable_document"))?;
        if converted.text.trim().is_empty() {
            return Err(refuse("the source has no text; send some").with_code("empty_text"));
        }
        let title = title.or(converted.title).unwrap_or_else(|| id.clone());
        Ok(Source {
            id,
            title: title.chars().take(MAX_TITLE_CHARS).collect(),
            text: converted.text,
            url,
            locale: locale.unwrap_or_else(|| default_locale.to_owned()),
            format: converted.format,
            unreadable_pages: converted.unreadable_pages,
        })
    }

    fn document(&self) -> Result<Document, ApiError> {
        let invalid = |it: &str| refuse(it).with_code("invalid_source");
        let format = match self.members.get("format").filter(|it| !it.is_null()) {
            None => DocumentFormat::Text,
            Some(it) => it
                .as_str()
                .and_then(DocumentFormat::from_name)
                .ok_or_else(|| invalid("unknown format; send text, markdown, html or pdf"))?,
        };
        let text = self.members.get("text").and_then(Value::as_str);
        let text = text.ok_or_else(|| invalid("text is missing; send the text of the source, or a PDF in Base64"))?;
        let bytes = if format == DocumentFormat::Pdf {
            let decoded = BASE64_STANDARD.decode(text.split_ascii_whitespace().collect::<String>());
            decoded.map_err(|_| invalid("text is not Base64; send a PDF in Base64"))?
        } else {
            text.as_bytes().to_vec()
        };
        // Text in JSON is decoded, whatever a web page says of itself.
        let charset = Some("utf-8".to_owned());
        if bytes.len() > MAX_DOCUMENT_BYTES { Err(too_large()) } else { Ok(Document { format, bytes, charset }) }
    }

    fn id(&self) -> Result<String, String> {
        let id = self.members.get("id").and_then(Value::as_str).filter(|it| is_source_id(it));
        let expected = "send up to 128 characters without commas, control characters and spaces around them; 'search' is reserved";
        id.map(str::to_owned).ok_or_else(|| format!("invalid id; {expected}"))
    }

    fn text(&self, key: &str, most: usize) -> Result<Option<String>, String> {
        match self.members.get(key).filter(|it| !it.is_null()) {
            None => Ok(None),
            Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
            Some(Value::String(text)) if text.chars().count() <= most && !text.contains('\0') => Ok(Some(text.trim().to_owned())),
            Some(_) => Err(format!("invalid {key}; send a string of at most {most} characters")),
        }
    }

    fn url(&self) -> Result<Option<String>, String> {
        let url = self.text("url", MAX_URL_CHARS)?;
        let is_web = |it: &String| {
            let scheme = it.get(..8).unwrap_or(it).to_ascii_lowercase();
            (scheme.starts_with("http://") || scheme.starts_with("https://"))
                && !it.chars().any(|character| character.is_whitespace() || character.is_control())
        };
        if url.iter().all(is_web) { Ok(url) } else { Err("invalid url; send an address that starts with https:// or http://".to_owned()) }
    }
}

fn refuse(message: &str) -> ApiError {
    ApiError::unprocessable(message)
}

fn bad_request(message: &str) -> ApiError {
    ApiError::bad_request(message).with_code("not_json")
}

fn too_large() -> ApiError {
    let message = format!("the source is too large; send at most {MAX_DOCUMENT_BYTES} bytes");
    ApiError::too_large(message).with_code("source_too_large")
}
