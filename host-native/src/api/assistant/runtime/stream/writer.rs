//! Writes the events of a turn in both stream formats.

use convengine_core::turn::{Notice, NoticeBody};
use convengine_host_base::clock;
use convengine_storage::assistant::DocumentKind;
use convengine_turns::message::SubmitResult;
use convengine_turns::refusal::Refusal;
use convengine_turns::stream::live::LiveEvent;
use serde_json::{Value, json};

use super::super::trace_events::node_path;
use super::super::{Visibility, filter_answer, refuse};
use super::StreamFormat;
use super::pieces::{Part, Pieces, ShownPiece};

/// Writes events into an output buffer.
#[derive(Debug)]
pub struct EventWriter {
    form: StreamFormat,
    visibility: Visibility,
    session: String,
    /// The kind of the document of the session.
    program: &'static str,
    /// Number of messages written.
    message_count: usize,
    /// Pieces shown of messages to come.
    pieces: Pieces,
    output: String,
}

impl EventWriter {
    /// Creates a writer with an empty buffer.
    pub fn new(form: StreamFormat, visibility: Visibility, session: &str, program: DocumentKind) -> EventWriter {
        let (session, program) = (session.to_owned(), program.name());
        EventWriter { form, visibility, session, program, message_count: 0, pieces: Pieces::default(), output: String::new() }
    }

    /// Whether the buffer is empty.
    pub fn is_empty(&self) -> bool {
        self.output.is_empty()
    }

    /// Takes the buffered output.
    pub fn take_output(&mut self) -> String {
        std::mem::take(&mut self.output)
    }

    /// Writes the start of the stream.
    pub fn write_start(&mut self) {
        if self.form == StreamFormat::Ui {
            self.push_part(&json!({"type": "start"}));
            self.push_part(&json!({"type": "start-step"}));
        }
    }

    /// Writes a live event of the turn.
    pub fn write_live_event(&mut self, event: LiveEvent) {
        match event {
            LiveEvent::Notice(notice) => self.write_notice(&notice),
            LiveEvent::Effect(effect) => {
                self.track_effect(&effect);
                if self.visibility.debug {
                    self.write_side_event("effect", &effect);
                }
            }
            LiveEvent::Token { effect, text: Some(text) } => self.write_piece(effect.0, &text),
            LiveEvent::Token { effect, text: None } => {
                let retracted = self.pieces.take_for_effect(effect.0);
                self.retract_parts(retracted);
            }
        }
    }

    /// Tracks an effect whose model output may have been shown.
    fn track_effect(&mut self, effect: &Value) {
        let Some(id) = effect["id"].as_u64().and_then(|id| u32::try_from(id).ok()) else { return };
        if effect["phase"] == "started" {
            // The turn continued without a message for it, or runs again with the same effect numbers.
            let retracted = [self.pieces.take_complete(), self.pieces.take_for_effect(id)].concat();
            self.retract_parts(retracted);
        } else if effect["outcome"] == "ok" {
            self.pieces.mark_complete(id);
        } else {
            let retracted = self.pieces.take_for_effect(id);
            self.retract_parts(retracted);
        }
    }

    fn write_piece(&mut self, effect: u32, text: &str) {
        let Some(ShownPiece { id, is_first: begins, text }) = self.pieces.push(effect, text) else { return };
        if self.form == StreamFormat::Events {
            return self.push_event("token", &json!({"effect": effect, "delta": text}));
        }
        if begins {
            self.push_part(&json!({"type": "text-start", "id": id}));
        }
        self.push_part(&json!({"type": "text-delta", "id": id, "delta": text}));
    }

    /// Retracts shown parts.
    fn retract_parts(&mut self, parts: Vec<Part>) {
        for Part { effect, id, .. } in parts {
            if self.form == StreamFormat::Events {
                self.push_event("token", &json!({"effect": effect, "reset": true}));
            } else {
                self.push_part(&json!({"type": "text-end", "id": id}));
                self.push_part(&json!({"type": "data-reset", "id": id, "data": {"effect": effect}, "transient": true}));
            }
        }
    }

    fn write_notice(&mut self, notice: &Notice) {
        match &notice.body {
            NoticeBody::Message { message } => {
                self.message_count += 1;
                self.write_message(message);
            }
            NoticeBody::Audit { stage, payload } if self.visibility.debug => {
                let payload = &*payload.to_value();
                let (at, time) = (node_path(payload), clock::format_iso(notice.at));
                let event = json!({"seq": notice.seq, "kind": stage, "program": self.program, "at": at, "time": time, "data": payload});
                if self.form == StreamFormat::Ui && stage == "agent.tool" {
                    self.write_tool_call(payload);
                }
                self.write_side_event("trace", &event);
            }
            NoticeBody::Audit { .. } | NoticeBody::Verbose(_) => {}
        }
    }

    /// Writes a tool call with its input and output.
    fn write_tool_call(&mut self, call: &Value) {
        let id = &call["call_id"];
        self.push_part(&json!({
            "type": "tool-input-available", "toolCallId": id, "toolName": call["tool"], "input": call["args"], "dynamic": true,
        }));
        let output = json!({"ok": call["ok"], "code": call["code"]});
        self.push_part(&json!({"type": "tool-output-available", "toolCallId": id, "output": output, "dynamic": true}));
    }

    fn write_message(&mut self, message: &Value) {
        let (id, text) = (&message["id"], message["text"].as_str().unwrap_or_default());
        let shown = self.pieces.take_for_message(text);
        if shown.is_none() {
            let retracted = self.pieces.take_complete();
            self.retract_parts(retracted);
        }
        if self.form == StreamFormat::Events {
            return self.push_event("message", message);
        }
        if let Some(part) = shown {
            self.push_part(&json!({"type": "text-end", "id": part.id}));
        } else if !text.is_empty() {
            self.push_part(&json!({"type": "text-start", "id": id}));
            self.push_part(&json!({"type": "text-delta", "id": id, "delta": text}));
            self.push_part(&json!({"type": "text-end", "id": id}));
        }
        self.push_part(&json!({"type": "data-message", "id": id, "data": message}));
    }

    /// Writes an event that is not part of the conversation.
    fn write_side_event(&mut self, name: &str, data: &Value) {
        match self.form {
            StreamFormat::Events => self.push_event(name, data),
            StreamFormat::Ui => self.push_part(&json!({"type": format!("data-{name}"), "data": data, "transient": true})),
        }
    }

    /// Writes the end of the stream: the response of the turn, or the error.
    pub fn write_end(&mut self, answered: Result<SubmitResult, Refusal>) {
        let answer = match answered {
            Ok(SubmitResult { outcome, .. }) => outcome.flow.and_then(|it| filter_answer(*it, self.visibility)),
            Err(refusal) => {
                let error = refuse(refusal, &self.session).to_json();
                return self.write_error(&error);
            }
        };
        let Some(answer) = answer else {
            return self.write_error(&json!({"error": {"code": "turn_lost", "message": "turn was lost; send the event again"}}));
        };
        // A repeated event has no notices, only the stored response.
        let remaining = answer["messages"].as_array().into_iter().flatten().skip(self.message_count).cloned().collect::<Vec<_>>();
        remaining.iter().for_each(|it| self.write_message(it));
        let retracted = self.pieces.take_all();
        self.retract_parts(retracted);
        match self.form {
            StreamFormat::Events => self.push_event("done", &answer),
            StreamFormat::Ui => {
                self.push_part(&json!({"type": "data-turn", "data": answer}));
                self.push_part(&json!({"type": "finish-step"}));
                self.push_part(&json!({"type": "finish"}));
                self.output.push_str("data: [DONE]\n\n");
            }
        }
    }

    fn write_error(&mut self, error: &Value) {
        let retracted = self.pieces.take_all();
        self.retract_parts(retracted);
        match self.form {
            StreamFormat::Events => self.push_event("error", error),
            StreamFormat::Ui => {
                self.push_part(&json!({"type": "error", "errorText": error["error"]["message"]}));
                self.output.push_str("data: [DONE]\n\n");
            }
        }
    }

    fn push_event(&mut self, name: &str, data: &Value) {
        // Compact JSON contains no line breaks.
        self.output.push_str(&format!("event: {name}\ndata: {data}\n\n"));
    }

    fn push_part(&mut self, part: &Value) {
        self.output.push_str(&format!("data: {part}\n\n"));
    }
}

#[cfg(test)]
mod tests {
    use convengine_core::turn::{EffectId, Outcome};

    use super::*;

    fn write_all(form: StreamFormat, all: &[LiveEvent]) -> (EventWriter, Vec<String>) {
        let mut writing = EventWriter::new(form, Visibility { debug: false }, "s", DocumentKind::Assistant);
        all.iter().for_each(|event| writing.write_live_event(event.clone()));
        let written = take_lines(&mut writing);
        (writing, written)
    }

    /// Takes the written events as lines of an optional name and data.
    fn take_lines(writing: &mut EventWriter) -> Vec<String> {
        let line = |it: &str| it.replace("event: ", "").replace("\ndata: ", " ").replace("data: ", "");
        writing.take_output().split_terminator("\n\n").map(line).collect()
    }

    fn token(effect: u32, text: &str) -> LiveEvent {
        LiveEvent::Token { effect: EffectId(effect), text: Some(text.to_owned()) }
    }

    fn token_reset(effect: u32) -> LiveEvent {
        LiveEvent::Token { effect: EffectId(effect), text: None }
    }

    fn effect_started(effect: u32) -> LiveEvent {
        LiveEvent::Effect(json!({"id": effect, "kind": "llm.generate", "phase": "started"}))
    }

    fn effect_finished(effect: u32, outcome: &str) -> LiveEvent {
        LiveEvent::Effect(json!({"id": effect, "phase": "finished", "outcome": outcome}))
    }

    fn message_notice(id: &str, text: &str) -> LiveEvent {
        LiveEvent::Notice(Notice { seq: 0, at: 0, body: NoticeBody::Message { message: json!({"id": id, "text": text}) } })
    }

    /// Events of a turn with text before a tool call and text after it.
    fn two_steps() -> Vec<LiveEvent> {
        let first =
            [effect_started(0), token(0, "Let "), token(0, "me look."), effect_finished(0, "ok"), message_notice("1.1", "Let me look.")];
        let tool = [effect_started(1), effect_finished(1, "ok")];
        let second = [
            effect_started(2),
            token(2, "\n"),
            token(2, "It is"),
            token(2, " 3. "),
            effect_finished(2, "ok"),
            message_notice("1.2", "\nIt is 3. "),
        ];
        [&first[..], &tool, &second].concat()
    }

    #[test]
    fn pieces_precede_their_message_in_our_own_format() {
        let expected = [
            r#"token {"effect":0,"delta":"Let "}"#,
            r#"token {"effect":0,"delta":"me look."}"#,
            r#"message {"id":"1.1","text":"Let me look."}"#,
            r#"token {"effect":2,"delta":"\nIt is"}"#,
            r#"token {"effect":2,"delta":" 3. "}"#,
            r#"message {"id":"1.2","text":"\nIt is 3. "}"#,
        ];
        let (mut writing, written) = write_all(StreamFormat::Events, &two_steps());
        assert_eq!(written, expected);
        let answer = json!({"messages": [{"id": "1.1", "text": "Let me look."}, {"id": "1.2", "text": "\nIt is 3. "}], "debug": {}});
        let outcome: Outcome = serde_json::from_value(json!({"conversation_id": "s", "intent": "", "state": "", "writes": [],
            "session": {"intent": "", "state": "", "context": {}, "params": {}}, "flow": answer}))
        .unwrap();
        writing.write_end(Ok(SubmitResult { outcome, is_repeat: false }));
        let done = format!("done {}", json!({"messages": answer["messages"]}));
        assert_eq!(take_lines(&mut writing), [done], "the whole response, with nothing repeated");
    }

    #[test]
    fn pieces_are_the_text_of_their_message_in_a_ui_message_stream() {
        let expected = [
            r#"{"type":"text-start","id":"t0"}"#,
            r#"{"type":"text-delta","id":"t0","delta":"Let "}"#,
            r#"{"type":"text-delta","id":"t0","delta":"me look."}"#,
            r#"{"type":"text-end","id":"t0"}"#,
            r#"{"type":"data-message","id":"1.1","data":{"id":"1.1","text":"Let me look."}}"#,
            r#"{"type":"text-start","id":"t2"}"#,
            r#"{"type":"text-delta","id":"t2","delta":"\nIt is"}"#,
            r#"{"type":"text-delta","id":"t2","delta":" 3. "}"#,
            r#"{"type":"text-end","id":"t2"}"#,
            r#"{"type":"data-message","id":"1.2","data":{"id":"1.2","text":"\nIt is 3. "}}"#,
        ];
        assert_eq!(write_all(StreamFormat::Ui, &two_steps()).1, expected);
    }

    #[test]
    fn retracted_output_is_written_again_as_a_new_part() {
        let all = [
            effect_started(0),
            token_reset(0),
            token(0, "It was"),
            token_reset(0),
            token_reset(0),
            token(0, "It is"),
            effect_finished(0, "ok"),
            message_notice("1.1", "It is"),
        ];
        let expected = [
            r#"token {"effect":0,"delta":"It was"}"#,
            r#"token {"effect":0,"reset":true}"#,
            r#"token {"effect":0,"delta":"It is"}"#,
            r#"message {"id":"1.1","text":"It is"}"#,
        ];
        assert_eq!(write_all(StreamFormat::Events, &all).1, expected);
        let expected = [
            r#"{"type":"text-start","id":"t0"}"#,
            r#"{"type":"text-delta","id":"t0","delta":"It was"}"#,
            r#"{"type":"text-end","id":"t0"}"#,
            r#"{"type":"data-reset","id":"t0","data":{"effect":0},"transient":true}"#,
            r#"{"type":"text-start","id":"t0-2"}"#,
            r#"{"type":"text-delta","id":"t0-2","delta":"It is"}"#,
            r#"{"type":"text-end","id":"t0-2"}"#,
            r#"{"type":"data-message","id":"1.1","data":{"id":"1.1","text":"It is"}}"#,
        ];
        assert_eq!(write_all(StreamFormat::Ui, &all).1, expected);
    }

    #[test]
    fn a_message_with_another_text_is_written_whole() {
        let (text_end, reset) =
            (r#"{"type":"text-end","id":"t0"}"#, r#"{"type":"data-reset","id":"t0","data":{"effect":0},"transient":true}"#);
        let all = [token(0, "It is 3."), effect_finished(0, "ok"), message_notice("1.1", "It…")];
        let whole = [
            text_end,
            reset,
            r#"{"type":"text-start","id":"1.1"}"#,
            r#"{"type":"text-delta","id":"1.1","delta":"It…"}"#,
            r#"{"type":"text-end","id":"1.1"}"#,
            r#"{"type":"data-message","id":"1.1","data":{"id":"1.1","text":"It…"}}"#,
        ];
        assert_eq!(write_all(StreamFormat::Ui, &all).1[2..], whole);
        // A message during model output does not affect its pieces.
        let beside = write_all(
            StreamFormat::Events,
            &[token(0, "It"), message_notice("1.1", "Wait."), token(0, " is"), effect_finished(0, "ok"), message_notice("1.2", "It is")],
        )
        .1;
        assert!(beside.len() == 4 && beside.iter().all(|it| !it.contains("reset")), "{beside:?}");
    }

    #[test]
    fn pieces_without_a_message_are_retracted() {
        let reset = r#"token {"effect":0,"reset":true}"#;
        for then in [effect_finished(0, "error"), token_reset(0)] {
            assert_eq!(write_all(StreamFormat::Events, &[token(0, "It"), then]).1[1..], [reset]);
        }
        let unsaid = [token(0, "It"), effect_finished(0, "ok"), effect_started(1)];
        assert_eq!(write_all(StreamFormat::Events, &unsaid).1[1..], [reset], "the turn continues without it");
        assert_eq!(write_all(StreamFormat::Events, &[token(0, "It"), effect_started(0)]).1[1..], [reset], "the turn runs again");
        let (mut writing, _) = write_all(StreamFormat::Events, &[token(0, "It")]);
        writing.write_end(Err(Refusal::Internal("x".to_owned())));
        let end = take_lines(&mut writing);
        assert!(end[0] == reset && end[1].starts_with("error {") && end.len() == 2, "{end:?}");
        let blank = [token(0, " "), token(0, "\n"), effect_finished(0, "ok"), effect_started(1)];
        assert_eq!(write_all(StreamFormat::Events, &blank).1, [""; 0], "blank text before tool calls is never shown");
    }
}
