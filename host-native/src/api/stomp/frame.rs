//! Parses and renders frames of STOMP 1.0, 1.1 and 1.2.

use std::borrow::Cow;

/// Maximum size of a frame in bytes, including its body.
pub const MAX_FRAME_BYTES: usize = 64 * 1024;

/// Maximum number of headers of a frame.
const MAX_HEADERS: usize = 64;

/// The negotiated protocol version, which determines how headers are escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// 1.0, without escapes.
    V10,
    /// 1.1.
    V11,
    /// 1.2, which escapes a carriage return too.
    V12,
}

impl Version {
    /// All versions, newest first.
    pub const ALL: [Version; 3] = [Version::V12, Version::V11, Version::V10];

    /// The version as written in headers.
    pub fn as_str(self) -> &'static str {
        match self {
            Version::V10 => "1.0",
            Version::V11 => "1.1",
            Version::V12 => "1.2",
        }
    }
}

/// A STOMP frame.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frame {
    /// `SEND`, `MESSAGE`, …
    pub command: String,
    /// Names and values in order of appearance.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// What the received bytes begin with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parsed {
    /// A frame and its length in bytes.
    Frame(Frame, usize),
    /// Line breaks sent as heartbeats and their length in bytes.
    Heartbeat(usize),
    /// An incomplete frame.
    Incomplete(Wait),
}

/// What must arrive before parsing again can succeed. Avoids parsing a frame again for each byte that arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// The end of a line.
    Line,
    /// The NUL that terminates a body.
    Nul,
    /// This number of bytes in total, including those already received.
    Bytes(usize),
}

impl Wait {
    /// Whether it has arrived. `new` is the latest chunk; `received` is the total number of bytes including it.
    pub fn is_satisfied(self, new: &[u8], received: usize) -> bool {
        received > MAX_FRAME_BYTES
            || match self {
                Wait::Line => new.contains(&b'\n'),
                Wait::Nul => new.contains(&0),
                Wait::Bytes(length) => received >= length,
            }
    }
}

/// Why bytes are not a valid frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The frame exceeds the maximum size.
    #[error("frame is too long; send at most {MAX_FRAME_BYTES} bytes")]
    TooLong,
    /// The frame has too many headers.
    #[error("frame has too many headers; send at most {MAX_HEADERS}")]
    TooManyHeaders,
    /// A line before the body is not UTF-8.
    #[error("frame contains a line that is not valid UTF-8; encode the command and headers as UTF-8")]
    InvalidUtf8,
    /// A header has no colon.
    #[error("frame header has no colon; send name:value")]
    MissingColon,
    /// A header contains an escape that the version does not define.
    #[error("frame header contains an unknown escape; use \\n, \\c or \\\\, and \\r in version 1.2")]
    UnknownEscape,
    /// The body length differs from `content-length`.
    #[error("frame body does not match content-length; send its length in bytes and terminate the body with NUL")]
    LengthMismatch,
}

impl Frame {
    /// Creates a frame without a body.
    pub fn new(command: &str, headers: &[(&str, &str)]) -> Frame {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Frame { command: command.to_owned(), headers, body: Vec::new() }
    }

    /// The value of a header; the first one if it is repeated.
    pub fn parse_header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|it| it.0 == name).map(|it| it.1.as_str())
    }

    /// Renders the frame in wire format.
    pub fn render(&self, version: Version) -> String {
        let plain = has_unescaped_headers(&self.command, version);
        let mut text = format!("{}\n", self.command);
        for (name, value) in &self.headers {
            let (name, value) = if plain {
                (replace_line_breaks(name), replace_line_breaks(value))
            } else {
                (escape(name, version), escape(value, version))
            };
            text.push_str(&format!("{name}:{value}\n"));
        }
        text.push('\n');
        text.push_str(&String::from_utf8_lossy(&self.body));
        text.push('\0');
        text
    }
}

/// Whether the headers of a frame are not escaped: frames that negotiate the version never are.
fn has_unescaped_headers(command: &str, version: Version) -> bool {
    version == Version::V10 || ["CONNECT", "STOMP", "CONNECTED"].contains(&command)
}

/// Parses the start of the received bytes.
///
/// # Errors
/// [`FrameError`] if the bytes are not a valid frame; the connection cannot continue.
pub fn parse(bytes: &[u8], version: Version) -> Result<Parsed, FrameError> {
    parse_within(bytes, version, MAX_FRAME_BYTES)
}

/// Parses like [`parse`] with a limit of `max_bytes` bytes: frames from a server may be as long as its events.
///
/// # Errors
/// [`FrameError`] if the bytes are not a valid frame.
pub fn parse_within(bytes: &[u8], version: Version, max_bytes: usize) -> Result<Parsed, FrameError> {
    let heartbeats = bytes.iter().take_while(|it| [b'\n', b'\r'].contains(it)).count();
    if heartbeats > 0 {
        return Ok(Parsed::Heartbeat(heartbeats));
    }
    let mut lines = Vec::new();
    let mut offset = 0;
    loop {
        let Some(length) = bytes.get(offset..).unwrap_or_default().iter().position(|it| *it == b'\n') else {
            return require_more(bytes, max_bytes, Wait::Line);
        };
        let line = bytes.get(offset..offset + length).unwrap_or_default();
        offset += length + 1;
        let line = std::str::from_utf8(line.strip_suffix(b"\r").unwrap_or(line)).map_err(|_| FrameError::InvalidUtf8)?;
        if line.is_empty() {
            break;
        }
        lines.push(line);
        if lines.len() > MAX_HEADERS + 1 {
            return Err(FrameError::TooManyHeaders);
        }
    }
    let (command, headers) = lines.split_first().map_or(("", &[][..]), |(command, rest)| (*command, rest));
    let headers =
        headers.iter().map(|line| parse_header(line, has_unescaped_headers(command, version), version)).collect::<Result<Vec<_>, _>>()?;
    let frame = Frame { command: command.to_owned(), headers, body: Vec::new() };
    parse_body(bytes, offset, frame, max_bytes)
}

fn require_more(bytes: &[u8], max_bytes: usize, wait: Wait) -> Result<Parsed, FrameError> {
    if bytes.len() > max_bytes { Err(FrameError::TooLong) } else { Ok(Parsed::Incomplete(wait)) }
}

/// Adds the body, which begins at `offset`, to a frame.
fn parse_body(bytes: &[u8], offset: usize, frame: Frame, max_bytes: usize) -> Result<Parsed, FrameError> {
    let rest = bytes.get(offset..).unwrap_or_default();
    let length = match frame.parse_header("content-length") {
        None => match rest.iter().position(|it| *it == 0) {
            Some(length) => length,
            None => return require_more(bytes, max_bytes, Wait::Nul),
        },
        Some(text) => {
            let length: usize = text.trim().parse().map_err(|_| FrameError::LengthMismatch)?;
            if length > max_bytes {
                return Err(FrameError::TooLong);
            }
            match rest.get(length) {
                Some(0) => length,
                Some(_) => return Err(FrameError::LengthMismatch),
                None => return require_more(bytes, max_bytes, Wait::Bytes(offset + length + 1)),
            }
        }
    };
    let end = offset + length + 1;
    if end > max_bytes {
        return Err(FrameError::TooLong);
    }
    let body = rest.get(..length).unwrap_or_default().to_vec();
    Ok(Parsed::Frame(Frame { body, ..frame }, end))
}

fn parse_header(line: &str, plain: bool, version: Version) -> Result<(String, String), FrameError> {
    let (name, value) = line.split_once(':').ok_or(FrameError::MissingColon)?;
    if plain {
        return Ok((name.trim().to_owned(), value.trim().to_owned()));
    }
    Ok((unescape(name, version)?, unescape(value, version)?))
}

fn unescape(text: &str, version: Version) -> Result<String, FrameError> {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        plain.push(match character {
            '\\' => match characters.next() {
                Some('n') => '\n',
                Some('c') => ':',
                Some('\\') => '\\',
                Some('r') if version == Version::V12 => '\r',
                _ => return Err(FrameError::UnknownEscape),
            },
            other => other,
        });
    }
    Ok(plain)
}

fn escape(text: &str, version: Version) -> Cow<'_, str> {
    if !text.contains(['\\', '\n', '\r', ':', '\0']) {
        return Cow::Borrowed(text);
    }
    let text = text.replace('\0', "").replace('\\', "\\\\").replace('\n', "\\n").replace(':', "\\c");
    Cow::Owned(text.replace('\r', if version == Version::V12 { "\\r" } else { " " }))
}

/// Replaces line breaks with spaces in headers that cannot be escaped.
fn replace_line_breaks(text: &str) -> Cow<'_, str> {
    if text.contains(['\n', '\r', '\0']) { Cow::Owned(text.replace(['\n', '\r', '\0'], " ")) } else { Cow::Borrowed(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRICKY: &str = "a:b\\c\nd\re";

    #[test]
    fn frames_are_read_as_they_were_rendered() {
        for version in Version::ALL {
            let value = match version {
                Version::V10 => "a:b\\c",
                Version::V11 => "a:b\\c\nd",
                Version::V12 => TRICKY,
            };
            let frame = Frame { body: "ü\n\n🙂".into(), ..Frame::new("SEND", &[("destination", value), ("x", "")]) };
            let text = frame.render(version);
            assert_eq!(parse(text.as_bytes(), version), Ok(Parsed::Frame(frame, text.len())), "{text:?}");
        }
        let tricky = Frame::new("ERROR", &[("message", TRICKY)]);
        assert_eq!(tricky.render(Version::V10), "ERROR\nmessage:a:b\\c d e\n\n\0");
        assert_eq!(tricky.render(Version::V11), "ERROR\nmessage:a\\cb\\\\c\\nd e\n\n\0");
        assert_eq!(Frame::new("CONNECTED", &[("x", "a:b")]).render(Version::V12), "CONNECTED\nx:a:b\n\n\0");
    }

    #[test]
    fn a_frame_may_arrive_in_pieces() {
        let text = "SEND\r\ncontent-length:3\r\na:1\r\na:2\r\n\r\n\0x\0\0rest";
        for end in 1..text.len() - 4 {
            let wait = if end < text.len() - 8 { Wait::Line } else { Wait::Bytes(text.len() - 4) };
            assert_eq!(parse(&text.as_bytes()[..end], Version::V12), Ok(Parsed::Incomplete(wait)), "{end}");
        }
        let Ok(Parsed::Frame(frame, length)) = parse(text.as_bytes(), Version::V12) else { panic!("no frame") };
        assert_eq!((frame.parse_header("a"), frame.body.as_slice(), &text[length..]), (Some("1"), &b"\0x\0"[..], "rest"));
        assert_eq!(parse(b"\n\r\nSEND", Version::V12), Ok(Parsed::Heartbeat(3)));
        assert_eq!(parse(b"", Version::V12), Ok(Parsed::Incomplete(Wait::Line)));
        assert_eq!(parse(b"SEND\n\nx\n", Version::V12), Ok(Parsed::Incomplete(Wait::Nul)));
    }

    #[test]
    fn malformed_frames_are_rejected() {
        for (bytes, reason) in [
            (&b"SEND\na\n\n\0"[..], FrameError::MissingColon),
            (b"SEND\na:\\t\n\n\0", FrameError::UnknownEscape),
            (b"SEND\na:\\", FrameError::UnknownEscape),
            (b"SEND\na:\xff\n\n\0", FrameError::InvalidUtf8),
            (b"SEND\ncontent-length:-1\n\n\0", FrameError::LengthMismatch),
            (b"SEND\ncontent-length:1\n\n\0\x01", FrameError::LengthMismatch),
            (b"SEND\ncontent-length:99999999999\n\n\0", FrameError::TooLong),
        ] {
            let found = parse(bytes, Version::V12);
            let expected = if bytes.ends_with(b"\\") { Ok(Parsed::Incomplete(Wait::Line)) } else { Err(reason) };
            assert_eq!(found, expected, "{:?}", String::from_utf8_lossy(bytes));
        }
        assert_eq!(parse(b"SEND\na:\\r\n\n\0", Version::V11), Err(FrameError::UnknownEscape));
        assert_eq!(parse(format!("SEND\n{}\n\0", "a:1\n".repeat(65)).as_bytes(), Version::V12), Err(FrameError::TooManyHeaders));
        for long in [
            "x".repeat(MAX_FRAME_BYTES + 1),
            format!("SEND\n\n{}", "x".repeat(MAX_FRAME_BYTES)),
            format!("SEND\n\n{}\0", "x".repeat(MAX_FRAME_BYTES)),
        ] {
            assert_eq!(parse(long.as_bytes(), Version::V12), Err(FrameError::TooLong));
        }
    }
}
