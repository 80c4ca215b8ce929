//! Writes the events of a turn in both stream formats.

use axum::http::Uri;
use convengine_core::turn::{Notice, NoticeBody};
use serde_json::{Value, json};

use super::super::told::{PROGRAM, place};
use super::super::{Sees, refused, shown};
use super::Form;
use super::pieces::{Part, Pieces, Shown};
use crate::clock;
use crate::drive::{Answered, Refusal};
use crate::stream::live::Told;

/// Writes events into an output buffer.
#[derive(Debug)]
pub struct Writing {
    form: Form,
    sees: Sees,
    uri: Uri,
    session: String,
    /// Number of messages written.
    messages: usize,
    /// Pieces shown of messages to come.
    pieces: Pieces,
    wire: String,
}

impl Writing {
    /// Creates a writer with an empty buffer.
    pub fn new(form: Form, sees: Sees, uri: &Uri, session: &str) -> Writing {
        let (uri, session) = (uri.clone(), session.to_owned());
        Writing { form, sees, uri, session, messages: 0, pieces: Pieces::default(), wire: String::new() }
    }

    /// Whether the buffer is empty.
    pub fn is_empty(&self) -> bool {
        self.wire.is_empty()
    }

    /// Takes the buffered output.
    pub fn written(&mut self) -> String {
        std::mem::take(&mut self.wire)
    }

    /// Writes the start of the stream.
    pub fn begin(&mut self) {
        if self.form == Form::Ui {
            self.part(&json!({"type": "start"}));
            self.part(&json!({"type": "start-step"}));
        }
    }

    /// Writes a live event of the turn.
    pub fn hear(&mut self, event: Told) {
        match event {
            Told::Notice(notice) => self.notice(&notice),
            Told::Effect(effect) => {
                self.follow(&effect);
                if self.sees.debug {
                    self.aside("effect", &effect);
                }
            }
            Told::Token { effect, text: Some(text) } => self.piece(effect.0, &text),
            Told::Token { effect, text: None } => {
                let retracted = self.pieces.of(effect.0);
                self.take_back(retracted);
            }
        }
    }

    /// Tracks an effect whose model output may have been shown.
    fn follow(&mut self, effect: &Value) {
        let Some(id) = effect["id"].as_u64().and_then(|it| u32::try_from(it).ok()) else { return };
        if effect["phase"] == "started" {
            // The turn continued without a message for it, or runs again with the same effect numbers.
            let retracted = [self.pieces.unsaid(), self.pieces.of(id)].concat();
            self.take_back(retracted);
        } else if effect["outcome"] == "ok" {
            self.pieces.complete(id);
        } else {
            let retracted = self.pieces.of(id);
            self.take_back(retracted);
        }
    }

    fn piece(&mut self, effect: u32, text: &str) {
        let Some(Shown { id, begins, text }) = self.pieces.push(effect, text) else { return };
        if self.form == Form::Own {
            return self.event("token", &json!({"effect": effect, "delta": text}));
        }
        if begins {
            self.part(&json!({"type": "text-start", "id": id}));
        }
        self.part(&json!({"type": "text-delta", "id": id, "delta": text}));
    }

    /// Retracts shown parts.
    fn take_back(&mut self, parts: Vec<Part>) {
        for Part { effect, id, .. } in parts {
            if self.form == Form::Own {
                self.event("token", &json!({"effect": effect, "reset": true}));
            } else {
                self.part(&json!({"type": "text-end", "id": id}));
                self.part(&json!({"type": "data-reset", "id": id, "data": {"effect": effect}, "transient": true}));
            }
        }
    }

    fn notice(&mut self, notice: &Notice) {
        match &notice.body {
            NoticeBody::Message { message } => {
                self.messages += 1;
                self.message(message);
            }
            NoticeBody::Audit { stage, payload } if self.sees.debug => {
                let (at, time) = (place(payload), clock::iso_text(notice.at));
                let event = json!({"seq": notice.seq, "kind": stage, "program": PROGRAM, "at": at, "time": time, "data": payload});
                if self.form == Form::Ui && stage == "agent.tool" {
                    self.tool(payload);
                }
                self.aside("trace", &event);
            }
            NoticeBody::Audit { .. } | NoticeBody::Verbose(_) => {}
        }
    }

    /// Writes a tool call with its input and output.
    fn tool(&mut self, call: &Value) {
        let id = &call["call_id"];
        self.part(&json!({
            "type": "tool-input-available", "toolCallId": id, "toolName": call["tool"], "input": call["args"], "dynamic": true,
        }));
        let output = json!({"ok": call["ok"], "code": call["code"]});
        self.part(&json!({"type": "tool-output-available", "toolCallId": id, "output": output, "dynamic": true}));
    }

    fn message(&mut self, message: &Value) {
        let (id, text) = (&message["id"], message["text"].as_str().unwrap_or_default());
        let shown = self.pieces.said(text);
        if shown.is_none() {
            let retracted = self.pieces.unsaid();
            self.take_back(retracted);
        }
        if self.form == Form::Own {
            return self.event("message", message);
        }
        if let Some(part) = shown {
            self.part(&json!({"type": "text-end", "id": part.id}));
        } else if !text.is_empty() {
            self.part(&json!({"type": "text-start", "id": id}));
            self.part(&json!({"type": "text-delta", "id": id, "delta": text}));
            self.part(&json!({"type": "text-end", "id": id}));
        }
        self.part(&json!({"type": "data-message", "id": id, "data": message}));
    }

    /// Writes an event that is not part of the conversation.
    fn aside(&mut self, name: &str, data: &Value) {
        match self.form {
            Form::Own => self.event(name, data),
            Form::Ui => self.part(&json!({"type": format!("data-{name}"), "data": data, "transient": true})),
        }
    }

    /// Writes the end of the stream: the response of the turn, or the error.
    pub fn end(&mut self, answered: Result<Answered, Refusal>) {
        let answer = match answered {
            Ok(Answered { outcome, .. }) => outcome.flow.and_then(|it| shown(*it, self.sees)),
            Err(refusal) => {
                let error = refused(&refusal, &self.uri, &self.session).told();
                return self.fails(&error);
            }
        };
        let Some(answer) = answer else {
            return self.fails(&json!({"error": {"code": "turn_lost", "message": "turn was lost; send the event again"}}));
        };
        // A repeated event has no notices, only the stored response.
        let remaining = answer["messages"].as_array().into_iter().flatten().skip(self.messages).cloned().collect::<Vec<_>>();
        remaining.iter().for_each(|it| self.message(it));
        let retracted = self.pieces.rest();
        self.take_back(retracted);
        match self.form {
            Form::Own => self.event("done", &answer),
            Form::Ui => {
                self.part(&json!({"type": "data-turn", "data": answer}));
                self.part(&json!({"type": "finish-step"}));
                self.part(&json!({"type": "finish"}));
                self.wire.push_str("data: [DONE]\n\n");
            }
        }
    }

    fn fails(&mut self, error: &Value) {
        let retracted = self.pieces.rest();
        self.take_back(retracted);
        match self.form {
            Form::Own => self.event("error", error),
            Form::Ui => {
                self.part(&json!({"type": "error", "errorText": error["error"]["message"]}));
                self.wire.push_str("data: [DONE]\n\n");
            }
        }
    }

    fn event(&mut self, name: &str, data: &Value) {
        // Compact JSON contains no line breaks.
        self.wire.push_str(&format!("event: {name}\ndata: {data}\n\n"));
    }

    fn part(&mut self, part: &Value) {
        self.wire.push_str(&format!("data: {part}\n\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use convengine_core::turn::{EffectId, Outcome};

    fn told(form: Form, all: &[Told]) -> (Writing, Vec<String>) {
        let mut writing = Writing::new(form, Sees { debug: false }, &Uri::from_static("/x"), "s");
        all.iter().for_each(|it| writing.hear(it.clone()));
        let written = lines(&mut writing);
        (writing, written)
    }

    /// Takes the written events as lines of an optional name and data.
    fn lines(writing: &mut Writing) -> Vec<String> {
        let line = |it: &str| it.replace("event: ", "").replace("\ndata: ", " ").replace("data: ", "");
        writing.written().split_terminator("\n\n").map(line).collect()
    }

    fn piece(effect: u32, text: &str) -> Told {
        Told::Token { effect: EffectId(effect), text: Some(text.to_owned()) }
    }

    fn again(effect: u32) -> Told {
        Told::Token { effect: EffectId(effect), text: None }
    }

    fn started(effect: u32) -> Told {
        Told::Effect(json!({"id": effect, "kind": "llm.generate", "phase": "started"}))
    }

    fn finished(effect: u32, outcome: &str) -> Told {
        Told::Effect(json!({"id": effect, "phase": "finished", "outcome": outcome}))
    }

    fn message(id: &str, text: &str) -> Told {
        Told::Notice(Notice { seq: 0, at: 0, body: NoticeBody::Message { message: json!({"id": id, "text": text}) } })
    }

    /// Events of a turn with text before a tool call and text after it.
    fn two_steps() -> Vec<Told> {
        let first = [started(0), piece(0, "Let "), piece(0, "me look."), finished(0, "ok"), message("1.1", "Let me look.")];
        let tool = [started(1), finished(1, "ok")];
        let second = [started(2), piece(2, "\n"), piece(2, "It is"), piece(2, " 3. "), finished(2, "ok"), message("1.2", "\nIt is 3. ")];
        [&first[..], &tool, &second].concat()
    }

    #[test]
    fn pieces_stand_before_their_message_in_our_own_form() {
        let expected = [
            r#"token {"effect":0,"delta":"Let "}"#,
            r#"token {"effect":0,"delta":"me look."}"#,
            r#"message {"id":"1.1","text":"Let me look."}"#,
            r#"token {"effect":2,"delta":"\nIt is"}"#,
            r#"token {"effect":2,"delta":" 3. "}"#,
            r#"message {"id":"1.2","text":"\nIt is 3. "}"#,
        ];
        let (mut writing, written) = told(Form::Own, &two_steps());
        assert_eq!(written, expected);
        let answer = json!({"messages": [{"id": "1.1", "text": "Let me look."}, {"id": "1.2", "text": "\nIt is 3. "}], "debug": {}});
        let outcome: Outcome = serde_json::from_value(json!({"conversation_id": "s", "intent": "", "state": "", "writes": [],
            "session": {"intent": "", "state": "", "context": {}, "params": {}}, "flow": answer}))
        .unwrap();
        writing.end(Ok(Answered { outcome, again: false }));
        let done = format!("done {}", json!({"messages": answer["messages"]}));
        assert_eq!(lines(&mut writing), [done], "the whole response, with nothing repeated");
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
        assert_eq!(told(Form::Ui, &two_steps()).1, expected);
    }

    #[test]
    fn what_was_taken_back_is_written_again_as_another_part() {
        let all =
            [started(0), again(0), piece(0, "It was"), again(0), again(0), piece(0, "It is"), finished(0, "ok"), message("1.1", "It is")];
        let expected = [
            r#"token {"effect":0,"delta":"It was"}"#,
            r#"token {"effect":0,"reset":true}"#,
            r#"token {"effect":0,"delta":"It is"}"#,
            r#"message {"id":"1.1","text":"It is"}"#,
        ];
        assert_eq!(told(Form::Own, &all).1, expected);
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
        assert_eq!(told(Form::Ui, &all).1, expected);
    }

    #[test]
    fn a_message_that_says_something_else_is_written_whole() {
        let (text_end, reset) = (r#"{"type":"text-end","id":"t0"}"#, r#"{"type":"data-reset","id":"t0","data":{"effect":0},"transient":true}"#);
        let all = [piece(0, "It is 3."), finished(0, "ok"), message("1.1", "It…")];
        let whole = [
            text_end,
            reset,
            r#"{"type":"text-start","id":"1.1"}"#,
            r#"{"type":"text-delta","id":"1.1","delta":"It…"}"#,
            r#"{"type":"text-end","id":"1.1"}"#,
            r#"{"type":"data-message","id":"1.1","data":{"id":"1.1","text":"It…"}}"#,
        ];
        assert_eq!(told(Form::Ui, &all).1[2..], whole);
        // A message during model output does not affect its pieces.
        let beside =
            told(Form::Own, &[piece(0, "It"), message("1.1", "Wait."), piece(0, " is"), finished(0, "ok"), message("1.2", "It is")]).1;
        assert!(beside.len() == 4 && beside.iter().all(|it| !it.contains("reset")), "{beside:?}");
    }

    #[test]
    fn what_no_message_comes_for_is_taken_back() {
        let reset = r#"token {"effect":0,"reset":true}"#;
        for then in [finished(0, "error"), again(0)] {
            assert_eq!(told(Form::Own, &[piece(0, "It"), then]).1[1..], [reset]);
        }
        let unsaid = [piece(0, "It"), finished(0, "ok"), started(1)];
        assert_eq!(told(Form::Own, &unsaid).1[1..], [reset], "the turn continues without it");
        assert_eq!(told(Form::Own, &[piece(0, "It"), started(0)]).1[1..], [reset], "the turn runs again");
        let (mut writing, _) = told(Form::Own, &[piece(0, "It")]);
        writing.end(Err(Refusal::Defect("x".to_owned())));
        let end = lines(&mut writing);
        assert!(end[0] == reset && end[1].starts_with("error {") && end.len() == 2, "{end:?}");
        let blank = [piece(0, " "), piece(0, "\n"), finished(0, "ok"), started(1)];
        assert_eq!(told(Form::Own, &blank).1, [""; 0], "blank text before tool calls is never shown");
    }
}
