//! What the caller of a turn is told while it runs, when the answer to the call is a stream.

use convengine_core::turn::{Answer, Completion, Effect, EffectId, Notice, Request};
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// Something that a turn tells its caller.
#[derive(Debug, Clone, PartialEq)]
pub enum Told {
    /// What it says.
    Notice(Notice),
    /// That it asks for an effect, or was answered.
    Effect(Value),
    /// A piece of what a model says to an effect; without a text, that its pieces so far do not count.
    Token {
        /// The effect.
        effect: EffectId,
        /// The piece.
        text: Option<String>,
    },
}

/// The ear of a caller; one who has gone hears nothing, and the turn goes on.
#[derive(Debug, Clone)]
pub struct Ear(mpsc::UnboundedSender<Told>);

impl Ear {
    /// An ear, and what it hears.
    pub fn open() -> (Ear, mpsc::UnboundedReceiver<Told>) {
        let (sender, heard) = mpsc::unbounded_channel();
        (Ear(sender), heard)
    }

    /// Tells what was said.
    pub fn notices(&self, notices: &[Notice]) {
        notices.iter().for_each(|it| drop(self.0.send(Told::Notice(it.clone()))));
    }

    /// Tells that an effect leaves.
    pub fn asked(&self, effect: &Effect) {
        let mut told = json!({"id": effect.id.0, "kind": kind(&effect.request), "phase": "started"});
        if let (Request::Llm(request), Some(told)) = (&effect.request, told.as_object_mut()) {
            told.insert("purpose".to_owned(), json!(request.purpose));
        }
        let _ = self.0.send(Told::Effect(told));
    }

    /// Tells a piece of what a model says; without a text, that its pieces so far do not count: the model is asked again.
    pub fn token(&self, effect: EffectId, text: Option<&str>) {
        let _ = self.0.send(Told::Token { effect, text: text.map(str::to_owned) });
    }

    /// Tells that an effect was answered; not what.
    pub fn answered(&self, completion: &Completion) {
        let outcome = if matches!(completion.outcome, Answer::Ok(_)) { "ok" } else { "error" };
        let _ = self.0.send(Told::Effect(json!({"id": completion.id.0, "phase": "finished", "outcome": outcome})));
    }
}

/// The effect in the words of `convoship.md` 15.2.
fn kind(request: &Request) -> &'static str {
    match request {
        Request::Llm(_) => "llm.generate",
        Request::Embed(_) => "llm.embed",
        Request::Http(_) => "http.request",
        Request::Tool(_) | Request::Extension(_) => "tool.call",
        Request::Task(_) => "task.invoke",
        Request::Container(_) => "container.fetch",
        Request::Sql(_) => "db.query",
        Request::Sleep(_) => "timer.set",
    }
}
