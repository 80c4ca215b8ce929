//! A host of one's own in a hundred lines: it performs effects, keeps a journal in a file, and continues after a restart where it stopped.
//!
//! Run it with `cargo run --example own_host -- bakery.state "A cake before the power cut"`, and again with another message: the first run
//! ends while the model is called, the second one ends that turn first, without booking the cake again.
#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "a host has files and a clock, which the core must not use")]

use std::sync::Arc;
use std::{env, fs, mem, process, time};

use convengine_core::pack::Pack;
use convengine_core::turn::{
    Completion, EffectError, EffectErrorKind, EffectId, Journal, LlmReply, LoadedSession, Patch, Reply, Request, Slice, TaskReply, Turn,
    TurnInput, UserEvent, uuid_from_seed,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// What the host stores of its only conversation.
#[derive(Default, Serialize, Deserialize)]
struct Store {
    session: LoadedSession,
    /// The journal of a turn that has not ended, and the effects of it that were begun.
    open: Option<Journal>,
    begun: Vec<EffectId>,
    #[serde(skip)]
    file: String,
}

fn main() -> Result<()> {
    let mut arguments = env::args().skip(1);
    let file = arguments.next().ok_or("usage: own_host FILE MESSAGE...")?;
    let stored = if fs::exists(&file)? { serde_json::from_str(&fs::read_to_string(&file)?)? } else { Store::default() };
    let mut store = Store { file, ..stored };
    let config = Arc::new(Pack::parse(include_str!("bakery.json"))?.compile().0);
    if let Some(journal) = store.open.clone() {
        println!("continue a turn with {} of {} effects answered", journal.entries.len(), store.begun.len());
        store.run(Turn::restore(journal, Arc::clone(&config))?, true)?;
    }
    for text in arguments {
        println!("> {text}");
        let (at, seed) = (now()?, u64::try_from(time::UNIX_EPOCH.elapsed()?.as_nanos())?);
        let (turn, conversation) = (uuid_from_seed(seed), "5f0c9b6e-1d3a-4f5e-8a77-3c2b1a0d9e8f".to_owned());
        let event = UserEvent { text: Some(text), ..UserEvent::default() };
        let input = TurnInput { turn, conversation, at, seed, program: config.program(), event, session: store.session.clone() };
        store.run(Turn::start(input, Arc::clone(&config))?, false)?;
    }
    Ok(())
}

impl Store {
    /// Performs the effects of a turn until it ends, one at a time, and stores before each what a restart needs.
    fn run(&mut self, (mut turn, mut slice): (Turn, Slice), is_restarted: bool) -> Result<()> {
        let mut waiting = Vec::new();
        while slice.end.is_none() {
            // A host with subscribers publishes the notices of the slice here.
            waiting.append(&mut slice.effects);
            let effect = waiting.pop().ok_or("the turn waits for nothing")?;
            // A write that was begun and has no answer may have happened: only a repeatable effect is begun again.
            let is_in_doubt = self.begun.contains(&effect.id) && !effect.repeatable;
            self.begun.push(effect.id);
            self.save(Some(&turn))?;
            let done = if is_in_doubt { Err(EffectErrorKind::Interrupted) } else { perform(&effect.request, is_restarted) };
            let outcome = done.map_err(|kind| EffectError::new(kind, "not done")).into();
            slice = turn.resume(vec![Completion { id: effect.id, at: now()?, outcome }])?;
        }
        let outcome = slice.end.ok_or("the turn has no end")?;
        println!("< {}", outcome.payload.as_ref().map_or("the turn failed", |payload| payload.value.as_str()));
        self.session = mem::take(&mut self.session).with_writes(&outcome.writes);
        self.begun.clear();
        self.save(None)
    }

    fn save(&mut self, open: Option<&Turn>) -> Result<()> {
        self.open = open.map(|turn| turn.journal().clone());
        fs::write(format!("{}.new", self.file), serde_json::to_string(self)?)?;
        Ok(fs::rename(format!("{}.new", self.file), &self.file)?)
    }
}

/// The world outside: a task that books cakes, and a model.
fn perform(request: &Request, is_restarted: bool) -> Result<Reply, EffectErrorKind> {
    if let Request::Task(call) = request {
        println!("  {} books a cake", call.task);
        let patch = Patch { params: [("number".to_owned(), json!(1))].into_iter().collect(), ..Patch::default() };
        return Ok(Reply::Task(Box::new(TaskReply { patch, ..TaskReply::default() })));
    }
    let Request::Llm(call) = request else { return Err(EffectErrorKind::Unsupported) };
    println!("  a model reads: {}", call.system);
    if call.user_text.contains("power cut") && !is_restarted {
        process::exit(1);
    }
    Ok(Reply::Llm(LlmReply { text: "Your cake is booked.".to_owned(), ..LlmReply::default() }))
}

fn now() -> Result<i64> {
    Ok(i64::try_from(time::UNIX_EPOCH.elapsed()?.as_millis())?)
}
