//! Starts and restores turns: picks the program and closes it with an outcome.

use std::sync::Arc;

use serde_json::json;

use crate::audit::Stage;
use crate::config::Config;
use crate::extension;
use crate::fault::Fault;
use crate::pipeline::{self, Profile};
use crate::session::Session;
use crate::turn::{Door, Journal, Outcome, Program, ProgramRef, Slice, Turn, TurnError, TurnInput, Write};
use crate::turning::Turning;

impl Turn {
    /// Starts a turn and runs it up to its first wait.
    ///
    /// # Errors
    /// [`TurnError::Stalled`] is a defect of the core.
    pub fn start(input: TurnInput, config: Arc<Config>) -> Result<(Turn, Slice), TurnError> {
        start(input, config, false)
    }

    /// Starts a turn that records the session at the edges of its steps; see [`Turn::views`].
    ///
    /// # Errors
    /// As [`Turn::start`].
    pub fn start_watched(input: TurnInput, config: Arc<Config>) -> Result<(Turn, Slice), TurnError> {
        start(input, config, true)
    }

    /// Runs a recorded turn again, up to where its journal ends. A slice without an end then asks for more than was recorded: of a
    /// finished turn's journal, that too is a difference.
    ///
    /// # Errors
    /// [`TurnError::Protocol`] for a journal of another protocol, [`TurnError::Diverged`] with the difference when the turn
    /// asks for something else than it did.
    pub fn restore(journal: Journal, config: Arc<Config>) -> Result<(Turn, Slice), TurnError> {
        journal.check()?;
        let (mut turn, slice) = start(journal.input.clone(), config, false)?;
        let slice = turn.rerun(&journal, slice)?;
        Ok((turn, slice))
    }
}

fn start(input: TurnInput, config: Arc<Config>, watch: bool) -> Result<(Turn, Slice), TurnError> {
    Turn::launch(input, config.hash().to_owned(), watch, |input, door| program(input, door, config))
}

fn program(input: TurnInput, door: Door, config: Arc<Config>) -> Program {
    Box::pin(async move {
        let profile = match input.program {
            ProgramRef::PipelineV2 => &pipeline::V2,
        };
        let session = Session::open(input, config.settings.history_max_turns);
        let mut t = Turning { config: &config, session, door };
        match run(&mut t, profile).await {
            Ok(()) => succeeded(t.session),
            Err(fault) => failed(t, &fault),
        }
    })
}

async fn run(t: &mut Turning<'_>, profile: &Profile) -> Result<(), Fault> {
    pipeline::run(t, profile).await?;
    extension::final_payload(t).await.map_err(|_| Fault::of_task())
}

fn succeeded(session: Session) -> Outcome {
    Outcome {
        conversation_id: session.conversation_id.clone(),
        intent: session.intent.clone(),
        state: session.state.clone(),
        payload: session.payload.clone(),
        context: Some(session.context.clone()),
        fault: None,
        session: session.after(),
        writes: writes(session.kept),
    }
}

/// A failed turn leaves the conversation as it was, but for what has been said to be kept.
fn failed(mut t: Turning<'_>, fault: &Fault) -> Outcome {
    if let Some(count) = t.session.kept_on_failure {
        let calls = t.session.kept.split_off(count).into_iter().filter(|it| matches!(it, Write::LlmCall(_)));
        t.session.kept.extend(calls.collect::<Vec<Write>>());
    }
    t.audit(
        Stage::EngineKnownFailure,
        |_| json!({"errorCode": fault.code.name(), "message": fault.message, "recoverable": fault.recoverable}),
    );
    Outcome {
        conversation_id: t.session.conversation_id.clone(),
        intent: t.session.intent.clone(),
        state: t.session.state.clone(),
        payload: None,
        context: None,
        fault: Some(fault.report()),
        session: t.session.after(),
        writes: writes(t.session.kept),
    }
}

/// Of several images of the conversation's row only the last is written, and first, because other rows refer to it.
fn writes(kept: Vec<Write>) -> Vec<Write> {
    let (mut rows, others): (Vec<Write>, Vec<Write>) = kept.into_iter().partition(|it| matches!(it, Write::Conversation(_)));
    rows.pop().into_iter().chain(others).collect()
}
