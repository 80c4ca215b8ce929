//! Reads the text of PDF documents.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use pdf_extract::content::Content;
use pdf_extract::{ConvertToFmt, Dictionary, Document, Object, ObjectId, PlainTextOutput, output_doc};

use super::document::MAX_TEXT_BYTES;

/// Forms that are nested deeper would exhaust the stack of the reader.
const MAX_FORM_DEPTH: usize = 16;

/// Reads the text of a document.
///
/// # Errors
/// The reason why it cannot be read.
pub fn extract_text(bytes: &[u8]) -> Result<String, String> {
    let mut document = Document::load_mem(bytes).map_err(|_| "it is not a PDF, or damaged")?;
    if document.is_encrypted() {
        document.decrypt("").map_err(|_| "it has a password")?;
    }
    if !are_forms_finite(&document) {
        return Err("its forms are nested without end".to_owned());
    }
    let mut text = LimitedText::default();
    let written = output_doc(&document, &mut PlainTextOutput::new(&mut text));
    match written {
        Err(_) if text.is_full => Err(format!("its text is longer than {MAX_TEXT_BYTES} bytes")),
        Err(_) => Err("it cannot be parsed".to_owned()),
        Ok(()) if text.text.trim().is_empty() => Err("it has no text; a scan must be recognised first".to_owned()),
        Ok(()) => Ok(text.text),
    }
}

/// A text that stops growing.
#[derive(Debug, Default)]
struct LimitedText {
    text: String,
    is_full: bool,
}

impl fmt::Write for LimitedText {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        self.is_full |= self.text.len() + part.len() > MAX_TEXT_BYTES;
        if self.is_full {
            return Err(fmt::Error);
        }
        self.text.push_str(part);
        Ok(())
    }
}

impl<'t> ConvertToFmt for &'t mut LimitedText {
    type Writer = &'t mut LimitedText;

    fn convert(self) -> Self::Writer {
        self
    }
}

/// Whether no form draws itself, directly or by others: the reader would never end.
fn are_forms_finite(document: &Document) -> bool {
    let mut drawn: BTreeMap<ObjectId, BTreeSet<ObjectId>> = BTreeMap::new();
    for (id, object) in &document.objects {
        let Object::Stream(stream) = object else { continue };
        if !stream.dict.get(b"Subtype").is_ok_and(|it| it.as_name().is_ok_and(|it| it == b"Form")) {
            continue;
        }
        match dictionary(document, &stream.dict, b"Resources") {
            Some(resources) => {
                let forms = dictionary(document, resources, b"XObject").into_iter().flat_map(Dictionary::iter);
                drawn.insert(*id, forms.filter_map(|it| it.1.as_reference().ok()).collect());
            }
            // It uses the resources of the page, where it finds itself too.
            None if draws_others(stream) => return false,
            None => {}
        }
    }
    drawn.keys().all(|it| is_shallow(&drawn, *it, MAX_FORM_DEPTH))
}

fn draws_others(stream: &pdf_extract::Stream) -> bool {
    let content = stream.decompressed_content().unwrap_or_else(|_| stream.content.clone());
    Content::decode(&content).is_ok_and(|it| it.operations.iter().any(|it| it.operator == "Do"))
}

fn dictionary<'d>(document: &'d Document, of: &'d Dictionary, key: &[u8]) -> Option<&'d Dictionary> {
    let value = of.get(key).ok()?;
    document.dereference(value).ok()?.1.as_dict().ok()
}

fn is_shallow(drawn: &BTreeMap<ObjectId, BTreeSet<ObjectId>>, form: ObjectId, depth: usize) -> bool {
    let mut level = BTreeSet::from([form]);
    for _ in 0..depth {
        level = level.iter().filter_map(|it| drawn.get(it)).flatten().copied().collect();
        if level.is_empty() {
            return true;
        }
    }
    false
}
