//! Starts and restores turns: picks the program and closes it with an outcome.

use std::sync::Arc;

use serde_json::json;

use crate::audit::Stage;
use crate::config::Config;
use crate::extension;
use crate::fault::Fault;
#[cfg(feature = "flow")]
use crate::flow::{self, Walk};
use crate::pipeline;
use crate::session::Session;
use crate::turn::{
    Abandon, Door, Journal, Map, Mode, Outcome, Program, Rescued, SessionAfter, Slice, Turn, TurnError, TurnInput, Watch, Write,
};
use crate::turning::Turning;

impl Turn {
    /// Starts a turn and runs it up to its first wait.
    ///
    /// # Errors
    /// [`TurnError::Program`] when the configuration runs another program, [`TurnError::Stalled`] is a defect of the core.
    pub fn start(input: TurnInput, config: Arc<Config>) -> Result<(Turn, Slice), TurnError> {
        start(input, config, Mode { held: false, watch: Watch::Nothing })
    }

    /// Starts a turn that records the session at the edges of its steps and why it decides as it does; see [`Turn::views`] and
    /// [`Turn::whys`].
    ///
    /// # Errors
    /// As [`Turn::start`].
    pub fn start_watched(input: TurnInput, config: Arc<Config>) -> Result<(Turn, Slice), TurnError> {
        start(input, config, Mode { held: false, watch: Watch::Steps })
    }

    /// Runs a recorded turn again, up to where its journal ends; a turn that was abandoned is abandoned again. A slice without an end
    /// then asks for more than was recorded: of a finished turn's journal, that too is a difference.
    ///
    /// # Errors
    /// [`TurnError::Protocol`] and [`TurnError::Program`] for a journal of another protocol or program, [`TurnError::Diverged`] with the
    /// difference when the turn asks for something else than it did.
    pub fn restore(journal: Journal, config: Arc<Config>) -> Result<(Turn, Slice), TurnError> {
        fitting(Turn::rescue(&journal, config)?)
    }

    /// As [`Turn::restore`], with a record of its steps and decisions; see [`Turn::views`] and [`Turn::whys`].
    ///
    /// # Errors
    /// As there.
    pub fn restore_watched(journal: Journal, config: Arc<Config>) -> Result<(Turn, Slice), TurnError> {
        fitting(again(&journal, config, Watch::Steps)?)
    }

    /// Runs a recorded turn again for as long as its journal fits, so that a host can take up or close what a crash has left.
    ///
    /// A turn that does not fit stands where it would ask for something else, or would end. It does not end of itself any more: the
    /// host gives it up with [`Turn::abandon`]. Its journal is the recorded one, so that nothing that was paid for is forgotten. Run
    /// again, such a journal diverges at the same place: [`Turn::restore`] returns that as its error, this function beside the same
    /// notices and the same end.
    ///
    /// # Errors
    /// [`TurnError::Protocol`] and [`TurnError::Program`] for a journal of another protocol or program; [`TurnError::Stalled`] is a defect of the core.
    pub fn rescue(journal: &Journal, config: Arc<Config>) -> Result<Rescued, TurnError> {
        again(journal, config, Watch::Nothing)
    }

    /// As [`Turn::rescue`], with a record of the session at each audit; see [`Turn::metas`].
    ///
    /// # Errors
    /// As there.
    pub fn retrace(journal: &Journal, config: Arc<Config>) -> Result<Rescued, TurnError> {
        again(journal, config, Watch::Audits)
    }
}

fn fitting(rescued: Rescued) -> Result<(Turn, Slice), TurnError> {
    let Rescued { turn, slice, diverged } = rescued;
    diverged.map_or(Ok((turn, slice)), Err)
}

fn again(journal: &Journal, config: Arc<Config>, watch: Watch) -> Result<Rescued, TurnError> {
    journal.check()?;
    let held = !journal.entries.is_empty() || journal.abandoned.is_some();
    let (mut turn, mut slice) = start(journal.input.clone(), config, Mode { held, watch })?;
    let diverged = turn.rerun(journal, &mut slice)?;
    Ok(Rescued { turn, slice, diverged })
}

fn start(input: TurnInput, config: Arc<Config>, mode: Mode) -> Result<(Turn, Slice), TurnError> {
    // The settings decide, because tables are compiled for a profile. The input keeps it, so that a journal says what it ran.
    if input.program != config.program() {
        return Err(TurnError::Program { asked: input.program, runs: config.program() });
    }
    #[cfg(feature = "flow")]
    let program: fn(TurnInput, Door, Arc<Config>) -> Program = if config.flow.is_some() { flow_program } else { program };
    Turn::launch(input, config.hash().to_owned(), mode, |input, door| program(input, door, config))
}

#[cfg(feature = "flow")]
fn flow_program(input: TurnInput, door: Door, config: Arc<Config>) -> Program {
    Box::pin(async move {
        let Some(flow) = config.flow.as_deref() else { return Outcome::lost(&input.conversation) };
        let mut walk = Walk::open(input, flow, config.hash(), door.clone());
        match door.unless_abandoned(flow::run(&mut walk)).await {
            Ok(()) => walk.outcome(),
            Err(why) => walk.abandoned(why),
        }
    })
}

fn program(input: TurnInput, door: Door, config: Arc<Config>) -> Program {
    Box::pin(async move {
        let session = Session::open(input, config.settings.history_max_turns);
        let mut t = Turning { config: &config, session, door };
        let door = t.door.clone();
        match door.unless_abandoned(run(&mut t)).await {
            Ok(Ok(())) => succeeded(t.session),
            Ok(Err(fault)) => failed(t, &fault),
            Err(why) => abandoned(t, why),
        }
    })
}

async fn run(t: &mut Turning<'_>) -> Result<(), Fault> {
    pipeline::run(t).await?;
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
        flow: None,
        session: session.after(),
        writes: writes(session.kept),
    }
}

impl Outcome {
    /// The end of a turn that was left behind and of which nothing can be read any more.
    pub fn lost(conversation: &str) -> Outcome {
        let session = SessionAfter { intent: String::new(), state: String::new(), context: Map::new(), params: Map::new() };
        Outcome {
            conversation_id: conversation.to_owned(),
            intent: String::new(),
            state: String::new(),
            payload: None,
            context: None,
            // Whether it wrote is not known.
            fault: Some(Fault::abandoned(Abandon::Lost, true).report()),
            writes: Vec::new(),
            session,
            flow: None,
        }
    }
}

/// An abandoned turn has failed where it stands.
fn abandoned(t: Turning<'_>, why: Abandon) -> Outcome {
    t.audit(Stage::TurnCancelled, |_| json!({"reason": why.name(), "step": t.door.step(), "openEffects": t.door.open_effects()}));
    let fault = Fault::abandoned(why, t.door.wrote());
    failed(t, &fault)
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
        flow: None,
        session: t.session.after(),
        writes: writes(t.session.kept),
    }
}

/// Of several images of the conversation's row only the last is written, and first, because other rows refer to it.
fn writes(kept: Vec<Write>) -> Vec<Write> {
    let (mut rows, others): (Vec<Write>, Vec<Write>) = kept.into_iter().partition(|it| matches!(it, Write::Conversation(_)));
    rows.pop().into_iter().chain(others).collect()
}

#[cfg(test)]
mod whys;
