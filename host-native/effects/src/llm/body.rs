//! Reads the body of an answer: one document, server-sent events, or lines. Servers answer in another form than they were asked for, begin
//! with a byte order mark, and leave the last line open.

use serde_json::Value;

use super::failure::ModelFailure;

/// The UTF-8 byte order mark.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// What a line of server-sent events begins with.
const EVENT_FIELDS: [&[u8]; 5] = [b"data:", b"event:", b"id:", b"retry:", b":"];

/// A part of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Record {
    /// The whole answer.
    Document(Value),
    /// The data of an event, or a line.
    Part(String),
    /// An event that reports an error.
    Error(Value),
}

/// How the parts of a stream are separated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamForm {
    /// Server-sent events.
    Events,
    /// One JSON document a line.
    Lines,
}

/// A body that is read chunk by chunk.
#[derive(Debug)]
pub struct BodyReader {
    stream: StreamForm,
    /// The form of the body once it is known.
    form: Option<Form>,
    /// The bytes that are not read yet.
    buffer: Vec<u8>,
    /// How many of them have no line break.
    searched: usize,
    event: EventLines,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Document,
    Stream,
}

/// The lines of an event.
#[derive(Debug, Default)]
struct EventLines {
    is_error: bool,
    data: Vec<Vec<u8>>,
}

impl BodyReader {
    /// Begins a body; `is_stream` is whether a stream was asked for.
    pub fn new(stream: StreamForm, is_stream: bool) -> BodyReader {
        let form = if is_stream { None } else { Some(Form::Document) };
        BodyReader { stream, form, buffer: Vec::new(), searched: 0, event: EventLines::default() }
    }

    /// Adds a chunk and returns the parts that are complete.
    ///
    /// # Errors
    /// The failure if a part is not UTF-8.
    pub fn push(&mut self, chunk: &[u8]) -> Result<Vec<Record>, ModelFailure> {
        self.buffer.extend_from_slice(chunk);
        if self.form.is_none() {
            self.form = self.detect_form();
        }
        if self.form == Some(Form::Stream) { self.read_lines() } else { Ok(Vec::new()) }
    }

    /// Ends the body and returns the parts that had not been ended.
    ///
    /// # Errors
    /// The failure if a document was expected and is none.
    pub fn finish(mut self) -> Result<Vec<Record>, ModelFailure> {
        match self.form {
            Some(Form::Document) => self.finish_document(),
            Some(Form::Stream) | None => Ok(self.finish_lines()),
        }
    }

    /// A document begins with a brace. That of a stream of lines goes on after its first line.
    fn detect_form(&self) -> Option<Form> {
        let first = *skip_bom(&self.buffer)?.iter().find(|it| !it.is_ascii_whitespace())?;
        match self.stream {
            StreamForm::Events if first == b'{' || first == b'[' => Some(Form::Document),
            StreamForm::Events => Some(Form::Stream),
            StreamForm::Lines => {
                let end = self.buffer.iter().position(|it| *it == b'\n')?;
                let line = parse(self.buffer.get(..end).unwrap_or_default());
                Some(if line.is_err_and(|it| it.is_eof()) { Form::Document } else { Form::Stream })
            }
        }
    }

    fn finish_document(&mut self) -> Result<Vec<Record>, ModelFailure> {
        let body = skip_bom(&self.buffer).unwrap_or(&self.buffer).trim_ascii_start();
        let error = match parse(body) {
            Ok(document) => return Ok(vec![Record::Document(document)]),
            Err(error) if error.is_eof() => return Err(ModelFailure::truncated()),
            Err(error) => error,
        };
        let is_stream = match self.stream {
            StreamForm::Events => EVENT_FIELDS.iter().any(|it| body.starts_with(it)),
            StreamForm::Lines => body.starts_with(b"{"),
        };
        if !is_stream {
            return Err(ModelFailure::unreadable(error));
        }
        let mut records = self.read_lines()?;
        records.extend(self.finish_lines());
        Ok(records)
    }

    fn finish_lines(&mut self) -> Vec<Record> {
        let line = std::mem::take(&mut self.buffer);
        // What is not UTF-8 there was cut off.
        let last = self.read_line(&line).unwrap_or_default();
        let event = self.event.dispatch().unwrap_or_default();
        last.into_iter().chain(event).collect()
    }

    fn read_lines(&mut self) -> Result<Vec<Record>, ModelFailure> {
        let mut records = Vec::new();
        while let Some(at) = self.buffer.get(self.searched..).and_then(|rest| rest.iter().position(|byte| *byte == b'\n')) {
            let rest = self.buffer.split_off(self.searched + at + 1);
            let line = std::mem::replace(&mut self.buffer, rest);
            self.searched = 0;
            records.extend(self.read_line(line.get(..line.len() - 1).unwrap_or_default())?);
        }
        self.searched = self.buffer.len();
        Ok(records)
    }

    fn read_line(&mut self, line: &[u8]) -> Result<Option<Record>, ModelFailure> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let line = line.strip_prefix(BOM).unwrap_or(line);
        match self.stream {
            StreamForm::Lines if line.trim_ascii().is_empty() => Ok(None),
            StreamForm::Lines => to_text(line.to_vec()).map(|text| Some(Record::Part(text))),
            StreamForm::Events if line.is_empty() => self.event.dispatch(),
            StreamForm::Events => {
                self.event.add(line);
                Ok(None)
            }
        }
    }
}

impl EventLines {
    fn add(&mut self, line: &[u8]) {
        let end = line.iter().position(|it| *it == b':').unwrap_or(line.len());
        let value = line.get(end + 1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match line.get(..end) {
            Some(b"data") => self.data.push(value.to_vec()),
            Some(b"event") => self.is_error = value == b"error",
            Some(_) | None => {}
        }
    }

    /// Returns the event of the lines so far; one without data is a sign of life.
    fn dispatch(&mut self) -> Result<Option<Record>, ModelFailure> {
        let EventLines { is_error, data } = std::mem::take(self);
        let data = to_text(data.join(&b'\n'))?;
        Ok(match data.trim() {
            "" => None,
            _ if is_error => Some(Record::Error(serde_json::from_str(&data).unwrap_or(Value::String(data)))),
            _ => Some(Record::Part(data)),
        })
    }
}

/// Returns the bytes after a byte order mark; `None` while it may still be coming.
fn skip_bom(bytes: &[u8]) -> Option<&[u8]> {
    if bytes.len() < BOM.len() && BOM.starts_with(bytes) { None } else { Some(bytes.strip_prefix(BOM).unwrap_or(bytes)) }
}

fn parse(bytes: &[u8]) -> serde_json::Result<Value> {
    serde_json::from_slice(bytes.strip_prefix(BOM).unwrap_or(bytes))
}

fn to_text(bytes: Vec<u8>) -> Result<String, ModelFailure> {
    String::from_utf8(bytes).map_err(ModelFailure::unreadable)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Reads a body in chunks of a size.
    fn read(stream: StreamForm, is_stream: bool, body: &str, size: usize) -> Vec<Record> {
        let mut reader = BodyReader::new(stream, is_stream);
        let mut records: Vec<Record> = body.as_bytes().chunks(size).flat_map(|chunk| reader.push(chunk).expect("UTF-8")).collect();
        records.extend(reader.finish().expect("a body"));
        records
    }

    #[test]
    fn a_body_is_read_in_the_form_that_it_has() {
        let part = |text: &str| Record::Part(text.to_owned());
        let document = Record::Document(json!({"a": "é"}));
        let both = || vec![part("{\"a\":1}"), part("é")];
        for (stream, is_stream, body, expected) in [
            (StreamForm::Events, true, "data: {\"a\":1}\n\ndata:é\n\n", both()),
            (StreamForm::Events, true, "\u{feff}data: {\"a\":1}\r\n\r\nid: 1\r\ndata:é", both()),
            (StreamForm::Events, true, ": on it\n\nretry\nevent: x\ndata: {\"a\":1}\n\ndata:\n\n\ndata: é\n", both()),
            (StreamForm::Events, true, "data: a\ndata: b\n\n", vec![part("a\nb")]),
            (StreamForm::Events, true, "event: error\ndata: no\n\n", vec![Record::Error(json!("no"))]),
            (StreamForm::Events, true, "event: error\ndata: {\"a\":\"é\"}\n\n", vec![Record::Error(json!({"a": "é"}))]),
            (StreamForm::Events, true, " \n{\n\"a\":\n \"é\"}\n", vec![document.clone()]),
            (StreamForm::Events, true, "\u{feff}{\"a\":\"é\"}", vec![document.clone()]),
            (StreamForm::Events, false, "data: {\"a\":1}\n\ndata:é\n\n", both()),
            (StreamForm::Events, false, "\u{feff}{\"a\":\"é\"}", vec![document.clone()]),
            (StreamForm::Lines, true, "{\"a\":1}\n\né\n", both()),
            (StreamForm::Lines, true, "\u{feff}{\"a\":1}\r\né", both()),
            (StreamForm::Lines, true, "{\n  \"a\": \"é\"\n}", vec![document.clone()]),
            (StreamForm::Lines, true, "{\"a\":1}", vec![part("{\"a\":1}")]),
            (StreamForm::Lines, false, "{\"a\":1}\né\n", both()),
            (StreamForm::Lines, false, "{\n\"a\":\"é\"}", vec![document]),
        ] {
            for size in [1, 2, 3, 7, 1000] {
                assert_eq!(read(stream, is_stream, body, size), expected, "{stream:?} {is_stream} {body:?} {size}");
            }
        }
    }
}
