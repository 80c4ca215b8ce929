//! Input targets: message bodies, STOMP frames and settings files.

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::OnceLock;

use anyhow::Result;
use convengine_host::api::attachment::AttachmentFilter;
use convengine_host::api::request::MessageBody;
use convengine_host::api::stomp::frame::{Frame, Parsed, Version, parse, parse_within};
use convengine_host::api::stomp::session::StompSession;
use convengine_host::api::stomp::sockjs;
use convengine_settings::{Options, Settings};
use serde_json::{Value, json};

use super::super::{FuzzResult, Target, seeds};
use super::{describe_error, require};

/// Bodies of messages, with their attachments.
pub const BODY: Target = Target { name: "body", seeds: bodies, read: read_body };

/// Settings files, TOML and YAML.
pub const SETTINGS: Target = Target { name: "settings", seeds: settings, read: read_settings };

/// STOMP frames, with and without SockJS.
pub const STOMP: Target = Target { name: "stomp", seeds: frames, read: read_stomp };

fn bodies() -> Result<Vec<Vec<u8>>> {
    let mut bodies: Vec<Value> = Vec::new();
    for mut pack in seeds::packs()? {
        let turns = pack["turns"].take();
        bodies.extend(turns.as_array().into_iter().flatten().map(|it| it["request"]["body"].clone()).filter(Value::is_object));
    }
    let file = |content: &str| json!({"name": "a.txt", "mimeType": "text/plain", "size": 5, "content": content, "encoding": "base64"});
    bodies.push(json!({"conversationId": "87583a5f-039f-5549-b37a-748e462dd9b4", "message": "", "reset": "true", "inputParams": {"files": [file("aGVsbG8="), file("no Base64 ü\n"), file("")]}}));
    let raw = br#"{"input\u0050arams":{"files":[{"c\u006fntent":"aGV\u0073bG8\u003d\/x"},{"content":"aGVs","content":7}]}}"#;
    Ok(bodies.iter().map(|body| body.to_string().into_bytes()).chain([raw.to_vec()]).collect())
}

fn filter_attachments(input: &[u8], piece: usize) -> Vec<u8> {
    let mut filter = AttachmentFilter::default();
    input.chunks(piece).for_each(|it| filter.push(it));
    filter.finish()
}

fn read_body(input: &[u8]) -> FuzzResult {
    let filtered_body = filter_attachments(input, usize::MAX);
    for piece in [1, 3, 64] {
        require(filter_attachments(input, piece) == filtered_body, || format!("differs when read in pieces of {piece} bytes"))?;
    }
    let (before, after) = (serde_json::from_slice::<Value>(input), serde_json::from_slice::<Value>(&filtered_body));
    if let Ok(mut before) = before {
        let after = after.map_err(|it| format!("is no longer JSON: {it}"))?;
        let contents = take_contents(&mut before);
        let mut rest = after.clone();
        require(take_contents(&mut rest) == contents && rest == before, || "changes more than the contents".to_owned())?;
        require(count_texts(&after) == 0, || "keeps a content".to_owned())?;
    }
    Ok(match MessageBody::parse(&filtered_body) {
        Ok(body) => format!("{} {} {} {}", body.conversation.is_some(), body.message.is_some(), body.reset, body.params.len().min(3)),
        Err(reason) => describe_error(reason),
    })
}

/// Returns the contents of a body's attachments.
fn contents(body: &mut Value) -> impl Iterator<Item = &mut Value> {
    let files = body.pointer_mut("/inputParams/files").and_then(Value::as_array_mut);
    files.into_iter().flatten().filter_map(|file| file.as_object_mut()?.get_mut("content"))
}

/// Removes the contents and their replacements; returns their number.
fn take_contents(body: &mut Value) -> usize {
    let replaced = |content: &Value| content.is_string() || content.get("sha256").is_some();
    contents(body).filter(|it| replaced(it)).map(|it| it.take()).count()
}

fn count_texts(body: &Value) -> usize {
    contents(&mut body.clone()).filter(|it| it.is_string()).count()
}

fn settings() -> Result<Vec<Vec<u8>>> {
    let toml = "listen = \"127.0.0.1:0\"\nllm = [\"off\"]\n[convengine.turn]\njournal = \"full\"\n[convengine.tables]\na = 1\n";
    let yaml = "convengine:\n  flow.dialogue-act.resolute: REGEX_ONLY\n  mcp:\n    guardrail: {enabled: true, fail-closed: ${X:false}}\n\
        ---\nspring.config.activate.on-profile: dev\nconvengine.turn.journal: off\n---\nconvengine: &a\n  tables:\n    \"[x.y]\": [1, 2.5, ~]\nb: *a\n";
    let mut all = vec![toml.to_owned(), yaml.to_owned()];
    // JSON is also YAML.
    all.extend(seeds::packs()?.into_iter().map(|mut pack| json!({"convengine": pack["settings"].take()}).to_string()));
    all.sort();
    all.dedup();
    Ok(all.into_iter().map(String::into_bytes).collect())
}

fn read_settings(input: &[u8]) -> FuzzResult {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| std::env::temp_dir().join(format!("convengine-fuzz-{}", std::process::id())));
    let mut kinds = Vec::new();
    for name in ["settings.toml", "application.yml"] {
        let path = folder.join(name);
        let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, input));
        written.map_err(|error| format!("{}: {error}", path.display()))?;
        let read = Settings::load(&Options { settings: Some(path), ..Options::default() });
        kinds.push(match read {
            Ok(_) => "settings".to_owned(),
            Err(failure) => {
                require(!failure.lines.is_empty(), || "is rejected without a message".to_owned())?;
                failure.lines.first().map(describe_error).unwrap_or_default()
            }
        });
    }
    Ok(kinds.join("|"))
}

fn frames() -> Result<Vec<Vec<u8>>> {
    let connect = "CONNECT\naccept-version:1.2,1.1,1.0\nheart-beat:10000,10000\n\n\0";
    let subscribe = "SUBSCRIBE\nid:sub-0\ndestination:/topic/convengine/audit/87583a5f-039f-5549-b37a-748e462dd9b4\nreceipt:r\\c1\n\n\0";
    let others = "UNSUBSCRIBE\nid:sub-0\n\n\0SEND\ndestination:/x\ncontent-length:5\n\na\0b\n\0\0\nDISCONNECT\nreceipt:77\n\n\0";
    let all = [connect, subscribe, others].concat();
    let single = "STOMP\r\naccept-version:1.0\r\nheart-beat:0,0\r\n\r\n\0ACK\nid:a\\nb\\\\\n\n\0";
    let wrapped = json!([connect, subscribe, others]).to_string();
    Ok([connect, subscribe, others, &all, single, &wrapped].map(|frame| frame.as_bytes().to_vec()).to_vec())
}

fn read_stomp(input: &[u8]) -> FuzzResult {
    let mut kinds = String::new();
    for version in Version::ALL {
        match parse(input, version) {
            Ok(Parsed::Frame(frame, length)) => {
                require(length <= input.len() && length > 0, || format!("frame of {length} bytes"))?;
                check_round_trip(&frame, version)?;
                let _ = write!(kinds, "{} {}|", frame.command.chars().take(9).collect::<String>(), frame.headers.len());
            }
            other => drop(write!(kinds, "{}|", describe_error(format!("{other:?}")))),
        }
    }
    let texts = std::str::from_utf8(input).ok().and_then(sockjs::decode);
    for text in texts.iter().flatten() {
        let again = sockjs::encode_all(&[text]);
        require(again.strip_prefix('a').and_then(sockjs::decode).as_ref() == Some(&vec![text.clone()]), || {
            "differs when wrapped".to_owned()
        })?;
    }
    let bytes = texts.map_or(input.to_vec(), |texts| texts.concat().into_bytes());
    let whole = StompSession::new("/topic/convengine/audit").receive(&bytes);
    for piece in [1, 7, 100] {
        let mut session = StompSession::new("/topic/convengine/audit");
        let received: Vec<_> = bytes.chunks(piece).flat_map(|it| session.receive(it)).collect();
        require(received == whole, || format!("in pieces of {piece} bytes it yields {received:?}, as a whole {whole:?}"))?;
    }
    Ok(kinds + &whole.len().min(5).to_string())
}

/// Checks that a frame without control characters is read back as it was rendered.
fn check_round_trip(frame: &Frame, version: Version) -> Result<(), String> {
    let is_text = |text: &str| !text.contains(|c: char| c.is_control());
    let texts = is_text(&frame.command) && frame.headers.iter().all(|(name, value)| is_text(name) && is_text(value));
    if !texts || std::str::from_utf8(&frame.body).is_err() {
        return Ok(());
    }
    let text = frame.render(version);
    // Escapes make a frame longer than it was.
    let again = parse_within(text.as_bytes(), version, text.len());
    require(again == Ok(Parsed::Frame(frame.clone(), text.len())), || format!("differs when read back: {again:?}"))
}
