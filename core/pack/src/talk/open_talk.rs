//! A talk while it is held: the messages come one by one, and what was said is written as a talk that can be played again.

use convengine_config::flow::document::ProgramKind;
use convengine_config::flow::{document_kind, is_chain};
use convengine_text::date::Date;
use convengine_turn::Millis;
use serde_json::Value;

use super::super::{Pack, PackError, PackTurn};
use super::line::Line;
use super::{Header, flow, new_turn};

/// Reads messages as a talk has them after `>`, and writes the turns as a talk.
///
/// ```
/// use convengine_pack::{OpenTalk, Pack};
/// use serde_json::json;
///
/// let pack = Pack::parse(r#"{"name": "bakery", "tables": {"ce_response": []}}"#)?;
/// let mut talk = OpenTalk::new(&pack, 1_767_258_000_000);
/// let turn = talk.read_message(1, "Are you open?")?;
/// assert_eq!(turn.request.ok_or("no request")?.body["message"], "Are you open?");
/// let answer = json!({"payload": {"type": "TEXT", "value": "From 6 to 14."}, "errorCode": null});
/// let header = talk.header_text("open", "Opening hours.", "bakery.json", &[]);
/// let text = header + "\n" + &OpenTalk::turn_text("Are you open?", &answer);
/// assert_eq!(
///     text,
///     "# Opening hours.\nname    open\nconfig  bakery.json\nat      2026-01-01T09:00:00Z\n\n> Are you open?\n< From 6 to 14.\n"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct OpenTalk {
    /// The word and the id of the line `program`, if a document is played.
    program: Option<(&'static str, String)>,
    start: Millis,
    /// When the latest message was sent.
    clock: Option<Millis>,
}

impl OpenTalk {
    /// Begins a talk about a pack. The first message is sent at `start`, which is cut to seconds, because talks have no parts of one.
    pub fn new(pack: &Pack, start: Millis) -> OpenTalk {
        let document = pack.played_document().and_then(|at| pack.documents.get(at));
        OpenTalk { program: document.map(program_of), start: start - start.rem_euclid(1000), clock: None }
    }

    /// The message that begins a conversation before anybody has said anything; `None` for tables, AI agents and chains, which wait.
    pub fn opening(&self) -> Option<&'static str> {
        self.program.as_ref().and_then(|(word, _)| matches!(*word, "flow" | "workflow").then_some("/start"))
    }

    /// Reads the next message, a minute after the one before it. `line` is its number where it comes from, for errors.
    ///
    /// # Errors
    /// [`PackError`] with line and column if the message is invalid. The next message is read as if this one had not been there.
    pub fn read_message(&mut self, line: u32, text: &str) -> Result<PackTurn, PackError> {
        let mut clock = self.clock;
        let turn = self.parse_turn(&Line::new(line, text), &mut clock).map_err(|error| PackError { form: "message", ..error })?;
        self.clock = clock;
        Ok(turn)
    }

    /// Returns the lines before the first message. `config` is the file of the pack, as it is named beside the talk.
    pub fn header_text(&self, name: &str, about: &str, config: &str, settings: &[(String, Value)]) -> String {
        let mut lines = vec![format!("# {}", on_one_line(about)), format!("name    {}", on_one_line(name)), format!("config  {config}")];
        lines.extend(self.program.as_ref().map(|(word, id)| format!("program {word} {id}")));
        lines.push(format!("at      {}", Date::from_millis(self.start).to_rfc3339()));
        lines.extend(settings.iter().map(|(key, value)| format!("set     {key}={value}")));
        lines.join("\n") + "\n"
    }

    /// Returns the lines of a turn: the message as it was read, and the reply or the error code. `answer` is the response of the turn, as the
    /// paths of talks see it.
    pub fn turn_text(message: &str, answer: &Value) -> String {
        let mut lines = vec![format!("> {}", message.trim())];
        match answer.get("errorCode").and_then(Value::as_str) {
            Some(code) => lines.push(format!("! {code}")),
            None => lines.extend(reply_lines(answer.get("payload").unwrap_or(&Value::Null))),
        }
        lines.join("\n") + "\n"
    }

    fn parse_turn(&self, line: &Line<'_>, clock: &mut Option<Millis>) -> Result<PackTurn, PackError> {
        let document = self.program.as_ref().and_then(|(word, id)| flow::Document::from_word(word, id));
        new_turn(line, &Header { at: Some(self.start), document, ..Header::default() }, clock)
    }
}

/// The word and the id by which a talk names a document.
fn program_of(document: &Value) -> (&'static str, String) {
    let text = |name: &str| document.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    if is_chain(document) {
        return ("chain", text("slug"));
    }
    let word = match document_kind(document) {
        Some(ProgramKind::Workflow) => "workflow",
        Some(ProgramKind::Agent) => "agent",
        Some(ProgramKind::Assistant) | None => "flow",
    };
    (word, text("id"))
}

fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The lines that expect a reply.
fn reply_lines(payload: &Value) -> Vec<String> {
    let reply = payload.get("value").and_then(Value::as_str).unwrap_or_default();
    if payload.get("type").and_then(Value::as_str) == Some("JSON")
        && let Ok(value @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str::<Value>(reply)
    {
        return vec![format!("< {value}")];
    }
    reply.split('\n').map(reply_line).collect()
}

/// Quotes what a talk would read as something else.
fn reply_line(line: &str) -> String {
    let is_plain = line.trim() == line && !line.starts_with(['{', '[', '"']) && !line.chars().any(char::is_control);
    match line {
        "" => "<".to_owned(),
        _ if is_plain => format!("< {line}"),
        _ => format!("< {}", Value::from(line)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::Check;
    use super::*;

    const START: Millis = 1_767_258_000_999;

    fn document_pack(kind: &str) -> String {
        json!({"name": "p", "documents": [{"doc": kind, "id": "shop", "slug": "intake"}]}).to_string()
    }

    /// Writes messages with their answers, and reads the talk.
    fn write_and_parse(pack: &str, messages: &[(&str, Value)]) -> (Vec<PackTurn>, Pack) {
        let mut talk = OpenTalk::new(&Pack::parse(pack).unwrap(), START);
        let settings = [("flow.dialogue-act.resolute".to_owned(), json!("REGEX_ONLY"))];
        let mut text = talk.header_text("a talk", "About\nit.", "p.json", &settings);
        let mut turns = Vec::new();
        for (line, (message, answer)) in (1..).zip(messages) {
            turns.push(talk.read_message(line, message).unwrap());
            text += &format!("\n{}", OpenTalk::turn_text(message, answer));
        }
        let parsed = Pack::parse_talk(&text, |_| Ok(pack.to_owned())).unwrap_or_else(|error| panic!("{error}:\n{text}"));
        (turns, parsed)
    }

    #[test]
    fn a_written_talk_sends_the_same_messages() {
        let answer = json!({"payload": {"type": "TEXT", "value": ""}});
        for kind in ["conversation_flow", "workflow_graph", "ai_agent"] {
            let messages = ["/start {\"locale\": \"de-DE\"}", "hello", "@b +45m /press yes", "@b {\"type\": \"session.end\"}"];
            let (turns, parsed) = write_and_parse(&document_pack(kind), &messages.map(|it| (it, answer.clone())));
            let sent = |turns: &[PackTurn]| -> Vec<Value> { turns.iter().map(|it| json!([it.at, it.conversation, it.request])).collect() };
            assert_eq!(sent(&turns), sent(&parsed.turns), "{kind}");
            assert_eq!((turns[0].at, turns[1].at), (Some(START - 999), Some(START - 999 + 60_000)));
            assert!((0..4).all(|turn| parsed.message(turn).is_some()), "{kind}");
        }
        let (turns, parsed) = write_and_parse(&document_pack("workflow_chain"), &[("/run {\"a\": 1}", answer)]);
        assert_eq!(parsed.turns[0].request.as_ref().unwrap().path, "/v1/workflow-chains/intake/run");
        assert_eq!(turns[0].line, 1);
        assert_eq!((parsed.name.as_str(), parsed.about.as_str()), ("a talk", "About it."));
        assert_eq!(parsed.settings["flow"]["dialogue-act"]["resolute"], "REGEX_ONLY");
    }

    #[test]
    fn only_assistants_and_workflows_speak_first() {
        let opening = |pack: &str| OpenTalk::new(&Pack::parse(pack).unwrap(), START).opening();
        assert_eq!(["conversation_flow", "workflow_graph"].map(|it| opening(&document_pack(it))), [Some("/start"); 2]);
        assert_eq!(["ai_agent", "workflow_chain"].map(|it| opening(&document_pack(it))), [None; 2]);
        assert_eq!(opening(r#"{"name": "p", "tables": {"ce_rule": []}, "documents": [{"doc": "conversation_flow", "id": "a"}]}"#), None);
    }

    #[test]
    fn replies_are_expected_as_they_are() {
        let pack = r#"{"name": "p", "tables": {"ce_rule": []}}"#;
        for reply in ["", "a", "a\n\nb ", "[a]", "{\"a\": 1}", "\"a\"", "~ a", "> a\r\n# b\tc", "\u{2028}a", "a\n{b\n"] {
            let (_, parsed) = write_and_parse(pack, &[("hi", json!({"payload": {"type": "TEXT", "value": reply}, "errorCode": null}))]);
            let checks: Vec<&Check> = parsed.turns[0].checks.iter().map(|it| &it.check).collect();
            assert_eq!(checks, [&Check::Reply(reply.to_owned())]);
        }
        let answers = [
            (json!({"payload": {"type": "JSON", "value": "{\n\"a\": 1.5}"}}), Check::ReplyJson(json!({"a": 1.5}))),
            (json!({"payload": {"type": "JSON", "value": "{a"}}), Check::Reply("{a".to_owned())),
            (
                json!({"payload": {"type": "ERROR", "value": "{}"}, "errorCode": "LLM_CALL_FAILED"}),
                Check::Fails("LLM_CALL_FAILED".to_owned()),
            ),
        ];
        for (answer, check) in answers {
            assert_eq!(write_and_parse(pack, &[("hi", answer)]).1.turns[0].checks[0].check, check);
        }
    }

    #[test]
    fn an_invalid_message_takes_no_time() {
        let mut talk = OpenTalk::new(&Pack::parse(&document_pack("conversation_flow")).unwrap(), 0);
        let error = talk.read_message(7, "/press").unwrap_err().to_string();
        assert_eq!(error, "invalid message: line 7, column 7: the id of the button is missing");
        assert_eq!(talk.read_message(8, "/start").unwrap().at, Some(0));
    }
}
