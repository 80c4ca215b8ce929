//! What comes in from clients and operators: bodies of messages, files of settings.

use std::path::PathBuf;
use std::sync::OnceLock;

use anyhow::Result;
use convengine_server::arguments::Options;
use convengine_server::http::attachment::Filter;
use convengine_server::http::request::MessageBody;
use convengine_server::settings::Settings;
use serde_json::{Value, json};

use super::super::{Target, Verdict, seeds};
use super::{demand, refused};

/// Bodies of messages, with their attachments.
pub const BODY: Target = Target { name: "body", seeds: bodies, read: body };

/// Files of settings, TOML and YAML.
pub const SETTINGS: Target = Target { name: "settings", seeds: settings, read: setting };

fn bodies() -> Result<Vec<Vec<u8>>> {
    let mut bodies: Vec<Value> = Vec::new();
    for mut pack in seeds::packs()? {
        let turns = pack["turns"].take();
        bodies.extend(turns.as_array().into_iter().flatten().map(|it| it["request"]["body"].clone()).filter(Value::is_object));
    }
    let file = |content: &str| json!({"name": "a.txt", "mimeType": "text/plain", "size": 5, "content": content, "encoding": "base64"});
    bodies.push(json!({"conversationId": "87583a5f-039f-5549-b37a-748e462dd9b4", "message": "", "reset": "true", "inputParams": {"files": [file("aGVsbG8="), file("no Base64 ü\n"), file("")]}}));
    let raw = br#"{"input\u0050arams":{"files":[{"c\u006fntent":"aGV\u0073bG8\u003d\/x"},{"content":"aGVs","content":7}]}}"#;
    Ok(bodies.iter().map(|it| it.to_string().into_bytes()).chain([raw.to_vec()]).collect())
}

fn filtered(input: &[u8], piece: usize) -> Vec<u8> {
    let mut filter = Filter::default();
    input.chunks(piece).for_each(|it| filter.push(it));
    filter.finish()
}

fn body(input: &[u8]) -> Verdict {
    let kept = filtered(input, usize::MAX);
    for piece in [1, 3, 64] {
        demand(filtered(input, piece) == kept, || format!("cut into pieces of {piece} it is another one"))?;
    }
    let (before, after) = (serde_json::from_slice::<Value>(input), serde_json::from_slice::<Value>(&kept));
    if let Ok(mut before) = before {
        let after = after.map_err(|it| format!("it is no JSON any more: {it}"))?;
        let contents = taken_out(&mut before);
        let mut rest = after.clone();
        demand(taken_out(&mut rest) == contents && rest == before, || "another part than the contents was changed".to_owned())?;
        demand(texts(&after) == 0, || "a content stayed".to_owned())?;
    }
    Ok(match MessageBody::parse(&kept) {
        Ok(body) => format!("{} {} {} {}", body.conversation.is_some(), body.message.is_some(), body.reset, body.params.len().min(3)),
        Err(reason) => refused(reason),
    })
}

/// The contents of the attachments of a body.
fn contents(body: &mut Value) -> impl Iterator<Item = &mut Value> {
    let files = body.pointer_mut("/inputParams/files").and_then(Value::as_array_mut);
    files.into_iter().flatten().filter_map(|it| it.as_object_mut()?.get_mut("content"))
}

/// Takes out texts and what they were replaced with; answers their number.
fn taken_out(body: &mut Value) -> usize {
    let replaced = |it: &Value| it.is_string() || it.get("sha256").is_some();
    contents(body).filter(|it| replaced(it)).map(|it| it.take()).count()
}

fn texts(body: &Value) -> usize {
    contents(&mut body.clone()).filter(|it| it.is_string()).count()
}

fn settings() -> Result<Vec<Vec<u8>>> {
    let toml = "listen = \"127.0.0.1:0\"\nllm = [\"off\"]\n[convengine.turn]\njournal = \"full\"\n[convengine.tables]\na = 1\n";
    let yaml = "convengine:\n  flow.dialogue-act.resolute: REGEX_ONLY\n  mcp:\n    guardrail: {enabled: true, fail-closed: ${X:false}}\n\
        ---\nspring.config.activate.on-profile: dev\nconvengine.turn.journal: off\n---\nconvengine: &a\n  tables:\n    \"[x.y]\": [1, 2.5, ~]\nb: *a\n";
    let mut all = vec![toml.to_owned(), yaml.to_owned()];
    // JSON is YAML, too.
    all.extend(seeds::packs()?.into_iter().map(|mut it| json!({"convengine": it["settings"].take()}).to_string()));
    all.sort();
    all.dedup();
    Ok(all.into_iter().map(String::into_bytes).collect())
}

fn setting(input: &[u8]) -> Verdict {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| std::env::temp_dir().join(format!("convengine-fuzz-{}", std::process::id())));
    let mut kinds = Vec::new();
    for name in ["settings.toml", "application.yml"] {
        let path = folder.join(name);
        let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, input));
        written.map_err(|it| format!("{}: {it}", path.display()))?;
        let read = Settings::read(&Options { settings: Some(path), ..Options::default() });
        kinds.push(match read {
            Ok(_) => "settings".to_owned(),
            Err(failure) => {
                demand(!failure.lines.is_empty(), || "it is refused without a word".to_owned())?;
                failure.lines.first().map(refused).unwrap_or_default()
            }
        });
    }
    Ok(kinds.join("|"))
}
