//! `stream-events.md`: events of the table stream, the flow stream and the UI message stream.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use serde_json::Value;

use super::lint_codes::literals_after;
use super::markdown::{code, fence, table, wrap};
use super::{Meanings, Page, prose, read_source};

/// The streams: section of the data, heading, and the column of the names.
const STREAMS: [(&str, &str, &str); 3] =
    [("table", "Stream of a conversation", "Event"), ("flow", "Stream of a flow turn", "Event"), ("ui", "UI message stream", "Part")];

/// Where events are written.
const TABLE_WRITER: &str = "host-native/turns/src/stream/event.rs";
const FLOW_WRITER: &str = "host-native/src/api/assistant/runtime/stream/writer.rs";

/// Generates the page.
///
/// # Errors
/// If the meanings, examples or sources cannot be read.
pub fn page() -> Result<Page> {
    let meanings = Meanings::parse("stream_events.txt", include_str!("data/stream_events.txt"))?;
    let examples: Value = serde_json::from_str(include_str!("data/stream_examples.json"))?;
    let mut body = prose(include_str!("data/stream_events_intro.txt")) + "\n";
    for (group, heading, column) in STREAMS {
        let rows: Vec<Vec<String>> = examples[group]
            .as_object()
            .with_context(|| format!("no examples of {group}"))?
            .keys()
            .map(|name| {
                let meaning = meanings.get(group, name);
                let (members, when) = meaning.split_once('|').unwrap_or(("", &meaning));
                vec![code(if name == "done-mark" { "[DONE]" } else { name }), members.trim().to_owned(), when.trim().to_owned()]
            })
            .collect();
        body.push_str(&format!("\n## {heading}\n\n{}\n\n", wrap(&meanings.section(group))));
        body.push_str(&table(&[column, "Members", "When"], &rows));
        body.push_str(&format!("\nAn example:\n\n{}", fence("text", &wire(group, &examples[group]))));
    }
    let mut gaps = meanings.gaps();
    for name in written_names()? {
        if !STREAMS.iter().any(|stream| examples[stream.0].get(&name).is_some()) {
            gaps.push(format!("stream_events.txt: the event '{name}' is written and has no example"));
        }
    }
    let summary = "events of the streams of conversations and flow turns, with members and examples";
    Ok(Page { file: "stream-events.md", title: "Stream events", summary, body, gaps })
}

/// The examples as they are sent.
fn wire(group: &str, examples: &Value) -> String {
    let mut text = String::new();
    for (name, data) in examples.as_object().into_iter().flatten() {
        match (group, data) {
            ("ui", Value::String(end)) => text.push_str(&format!("data: {end}\n\n")),
            ("ui", data) => text.push_str(&format!("data: {data}\n\n")),
            ("table", data) => {
                let id = data["$id"].as_str().map(|it| format!("id:{it}\n")).unwrap_or_default();
                let event = data["$event"].as_str().unwrap_or(name);
                let mut data = data.clone();
                if let Some(members) = data.as_object_mut() {
                    members.retain(|key, _| !key.starts_with('$'));
                }
                text.push_str(&format!("{id}event:{event}\ndata:{data}\n\n"));
            }
            (_, data) => text.push_str(&format!("event: {name}\ndata: {data}\n\n")),
        }
    }
    text
}

/// The names of events that the server writes.
fn written_names() -> Result<BTreeSet<String>> {
    let table = read_source(TABLE_WRITER)?;
    let table = table.split("#[cfg(test)]").next().unwrap_or_default();
    let flow = read_source(FLOW_WRITER)?;
    let mut names: BTreeSet<String> = BTreeSet::new();
    for marker in ["event_type: ", "\"eventType\": "] {
        names.extend(literals_after(table, marker).into_iter().filter(|it| it != "VERBOSE_PROGRESS"));
    }
    for marker in ["push_event(", "write_side_event(", "{\"type\": "] {
        names.extend(literals_after(&flow, marker));
    }
    Ok(names)
}
