//! Attachments: files in the parameters of a message, of which only name, type, size and hash are kept (docs/spec/clients.md#A.9).
//!
//! Bodies are filtered while they are read, so that contents are never buffered: tens of megabytes of Base64 use no memory.

use convengine_core::turn::Map;

use super::json_text;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// The path of the list whose objects have contents, and the member with the content.
const FILES_PATH: [&[u8]; 2] = [b"inputParams", b"files"];
const CONTENT_KEY: &[u8] = b"content";

/// Maximum buffered bytes of a member name; longer than any searched name with all characters escaped.
const MAX_NAME_BYTES: usize = 80;

/// Streams a JSON text and drops the contents of attachments. Invalid JSON passes unchanged and is rejected by the parser.
#[derive(Debug, Default)]
pub struct AttachmentFilter {
    output: Vec<u8>,
    /// The open containers.
    containers: Vec<Container>,
    state: State,
    /// The raw bytes of the current or last member name.
    name: Vec<u8>,
    /// Whether the next string is a member name.
    expects_name: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Container {
    /// An object, with the number of names of [`FILES_PATH`] that lead to its current member.
    Object { depth: usize },
    /// A list; `files` is whether it contains the attachments.
    List { files: bool },
    /// An attachment.
    File,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Between,
    /// In a member name; `true` after a backslash.
    Name(bool),
    /// In a string that is kept; `true` after a backslash.
    Text(bool),
    /// In the content of an attachment.
    Content(Box<ContentHasher>),
}

/// Computes size and hash of a content, both decoded and as text.
#[derive(Debug, Default)]
struct ContentHasher {
    escape: Vec<u8>,
    /// Base64 characters not decoded yet; fewer than four between chunks.
    pending: Vec<u8>,
    decoded: SizedHash,
    text: SizedHash,
    /// Whether the content is not Base64.
    is_plain: bool,
    is_ended: bool,
}

#[derive(Debug, Default)]
struct SizedHash {
    hash: Sha256,
    size: u64,
}

impl SizedHash {
    fn add(&mut self, bytes: &[u8]) {
        self.hash.update(bytes);
        self.size += bytes.len() as u64;
    }
}

impl AttachmentFilter {
    /// Processes the next bytes of the body.
    pub fn push(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some((&byte, after)) = rest.split_first() {
            if let State::Content(content) = &mut self.state {
                let consumed = content.consume(rest);
                rest = rest.get(consumed..).unwrap_or_default();
                if content.is_ended {
                    self.end_content();
                }
                continue;
            }
            self.push_byte(byte);
            rest = after;
        }
    }

    /// Size of the buffered body in bytes.
    pub fn output_len(&self) -> usize {
        self.output.len()
    }

    /// Returns the body without contents.
    pub fn finish(self) -> Vec<u8> {
        self.output
    }

    fn push_byte(&mut self, byte: u8) {
        match &mut self.state {
            State::Name(escaped) | State::Text(escaped) if *escaped => *escaped = false,
            State::Name(escaped) | State::Text(escaped) if byte == b'\\' => *escaped = true,
            State::Name(_) | State::Text(_) if byte == b'"' => {
                self.output.push(byte);
                self.state = State::Between;
                return;
            }
            State::Name(_) | State::Text(_) => {}
            State::Between | State::Content(_) => return self.push_structural(byte),
        }
        if matches!(self.state, State::Name(_)) && self.name.len() < MAX_NAME_BYTES {
            self.name.push(byte);
        }
        self.output.push(byte);
    }

    fn push_structural(&mut self, byte: u8) {
        match byte {
            b'{' => {
                let inner = match self.containers.last() {
                    Some(Container::List { files: true }) => Container::File,
                    _ => Container::Object { depth: self.depth() },
                };
                self.containers.push(inner);
                self.expects_name = true;
            }
            b'[' => {
                let files = self.depth() == FILES_PATH.len();
                self.containers.push(Container::List { files });
                self.expects_name = false;
            }
            b'}' | b']' => {
                self.containers.pop();
                self.expects_name = false;
            }
            b',' => self.expects_name = matches!(self.containers.last(), Some(Container::Object { .. } | Container::File)),
            b':' => {
                self.expects_name = false;
                self.enter_member();
            }
            b'"' if self.expects_name => {
                self.name.clear();
                self.state = State::Name(false);
            }
            b'"' if self.containers.last() == Some(&Container::File) && self.is_named(CONTENT_KEY) => {
                // The name is already written; its value becomes size and hash of the content.
                self.state = State::Content(Box::default());
                return;
            }
            b'"' => self.state = State::Text(false),
            _ => {}
        }
        self.output.push(byte);
    }

    /// The number of names of [`FILES_PATH`] that lead to the next value.
    fn depth(&self) -> usize {
        match self.containers.as_slice() {
            [.., Container::Object { depth }] => *depth,
            _ => 0,
        }
    }

    /// Records the member of the value that follows.
    fn enter_member(&mut self) {
        let level = self.containers.len();
        let outer = match self.containers.as_slice() {
            [.., Container::Object { depth }, Container::Object { .. }] => *depth,
            _ => 0,
        };
        let leads = level <= FILES_PATH.len() && outer + 1 == level && FILES_PATH.get(level - 1).is_some_and(|it| self.is_named(it));
        if let Some(Container::Object { depth }) = self.containers.last_mut() {
            *depth = if leads { level } else { 0 };
        }
    }

    fn is_named(&self, name: &[u8]) -> bool {
        if !self.name.contains(&b'\\') {
            return self.name == name;
        }
        let quoted = [b"\"", self.name.as_slice(), b"\""].concat();
        serde_json::from_slice::<String>(&quoted).is_ok_and(|decoded| decoded.as_bytes() == name)
    }

    fn end_content(&mut self) {
        let State::Content(content) = std::mem::take(&mut self.state) else { return };
        let SizedHash { hash, size } = content.finish();
        let hash: String = hash.finalize().iter().map(|it| format!("{it:02x}")).collect();
        self.output.extend_from_slice(format!("{{\"size\":{size},\"sha256\":\"{hash}\"}}").as_bytes());
    }
}

impl ContentHasher {
    /// Consumes bytes up to the end of the content. Returns how many.
    fn consume(&mut self, bytes: &[u8]) -> usize {
        if !self.escape.is_empty() {
            let Some(byte) = bytes.first() else { return 0 };
            self.escape.push(*byte);
            let length = if self.escape.get(1) == Some(&b'u') { 6 } else { 2 };
            if self.escape.len() == length {
                let quoted = [b"\"", std::mem::take(&mut self.escape).as_slice(), b"\""].concat();
                // A lone surrogate is replaced: it is not Base64 anyway.
                let text = json_text::parse::<String>(&quoted).unwrap_or_else(|_| "\u{fffd}".to_owned());
                self.add(text.as_bytes());
            }
            return 1;
        }
        let plain = bytes.iter().position(|byte| matches!(byte, b'"' | b'\\')).unwrap_or(bytes.len());
        if plain > 0 {
            self.add(bytes.get(..plain).unwrap_or_default());
            return plain;
        }
        match bytes.first() {
            Some(b'\\') => self.escape.push(b'\\'),
            _ => self.is_ended = true,
        }
        1
    }

    fn add(&mut self, text: &[u8]) {
        self.text.add(text);
        if self.is_plain {
            return;
        }
        self.pending.extend(text.iter().filter(|it| !it.is_ascii_whitespace()));
        // The last group may have padding, which ends decoding, so it is kept for the end.
        let whole = self.pending.len().saturating_sub(1) / 4 * 4;
        let last = self.pending.split_off(whole);
        self.decode();
        self.pending = last;
    }

    fn decode(&mut self) {
        match STANDARD.decode(&self.pending) {
            Ok(bytes) => self.decoded.add(&bytes),
            Err(_) => self.is_plain = true,
        }
    }

    fn finish(mut self) -> SizedHash {
        self.decode();
        if self.is_plain { self.text } else { self.decoded }
    }
}

/// Moves size and hash of contents into the file objects.
pub fn apply_digests(params: &mut Map) {
    let Some(Value::Array(files)) = params.get_mut("files") else { return };
    for file in files.iter_mut().filter_map(Value::as_object_mut) {
        let Some(Value::Object(known)) = file.get("content") else { continue };
        let (Some(size), Some(hash)) = (known.get("size").cloned(), known.get("sha256").cloned()) else { continue };
        file.shift_remove("content");
        file.shift_remove("encoding");
        file.insert("size".to_owned(), size);
        file.insert("sha256".to_owned(), hash);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn filter_body(body: &str, piece: usize) -> String {
        let mut filter = AttachmentFilter::default();
        body.as_bytes().chunks(piece).for_each(|it| filter.push(it));
        String::from_utf8(filter.finish()).expect("text")
    }

    fn digest_json(bytes: &[u8]) -> Value {
        let hash: String = Sha256::digest(bytes).iter().map(|it| format!("{it:02x}")).collect();
        json!({"size": bytes.len(), "sha256": hash})
    }

    #[test]
    fn contents_are_dropped_wherever_the_body_is_cut() {
        let file = |content: &str| json!({"name": "a\"b", "content": content, "mimeType": "x"});
        let bytes: Vec<u8> = (0..=255).cycle().take(1000).collect();
        let body = json!({
            "message": "content",
            "inputParams": {"files": [file(&STANDARD.encode(&bytes)), file("no Base64: ü"), file("")], "content": "stays"},
            "content": "stays",
        });
        let mut expected = body.clone();
        for (index, content) in [digest_json(&bytes), digest_json("no Base64: ü".as_bytes()), digest_json(b"")].into_iter().enumerate() {
            expected["inputParams"]["files"][index]["content"] = content;
        }
        for piece in [1, 2, 3, 7, 64, 4096] {
            let kept: Value = serde_json::from_str(&filter_body(&body.to_string(), piece)).expect("JSON");
            assert_eq!(kept, expected, "{piece}");
        }
    }

    #[test]
    fn escapes_hide_nothing() {
        let body = r#"{"input\u0050arams":{"files":[{"c\u006fntent":"aGV\u0073bG8\u003d\/x"},{"content":"aGVs\u0062G8="}]}}"#;
        let kept: Value = serde_json::from_str(&filter_body(body, 5)).expect("JSON");
        assert_eq!(kept["inputParams"]["files"][0]["content"], digest_json(b"aGVsbG8=/x"));
        assert_eq!(kept["inputParams"]["files"][1]["content"], digest_json(b"hello"));
    }

    #[test]
    fn everything_else_stays_as_it_is() {
        for body in [
            r#"{"files":[{"content":"x"}]}"#,
            r#"{"inputParams":{"a":{"files":[{"content":"x"}]}}}"#,
            r#"{"inputParams":[{"files":[{"content":"x"}]}]}"#,
            r#"{"inputParams":{"files":{"content":"x"}}}"#,
            r#"{"inputParams":{"files":[[{"content":"x"}]]}}"#,
            r#"{"inputParams":{"files":[{"about":{"content":"x"},"content":7,"contents":"y"}]}}"#,
            r#"{"a":{"b":1},"x":"inputParams","y":{"files":[{"content":"x"}]}}"#,
            r#"{"inputParams":{"x":1},"files":[{"content":"x"}]}"#,
            r#"[{"content":"x"}"#,
            r#"}}]{"content" "x":"#,
            "",
            "\"",
            "\\",
        ] {
            assert_eq!(filter_body(body, 1), body);
        }
    }

    #[test]
    fn name_type_size_and_hash_of_a_file_are_kept() {
        let file = json!({"name": "a.txt", "mimeType": "text/plain", "size": 99, "content": digest_json(b"hello"), "encoding": "base64"});
        let mut params = convengine_core::json::into_members(json!({"files": [file, 7, {"name": "b"}]}));
        apply_digests(&mut params);
        let hash = digest_json(b"hello")["sha256"].clone();
        let expected = json!([{"name": "a.txt", "mimeType": "text/plain", "size": 5, "sha256": hash}, 7, {"name": "b"}]);
        assert_eq!(params["files"], expected);
    }

    #[test]
    fn dropped_content_is_not_buffered() {
        let mut filter = AttachmentFilter::default();
        filter.push(br#"{"inputParams":{"files":[{"content":""#);
        for _ in 0..1000 {
            filter.push(&[b'A'; 4096]);
            assert!(filter.output_len() < 100);
        }
        filter.push(br#""}]}}"#);
        let kept: Value = serde_json::from_slice(&filter.finish()).expect("JSON");
        assert_eq!(kept["inputParams"]["files"][0]["content"], digest_json(&vec![0; 1000 * 3072]));
    }
}
