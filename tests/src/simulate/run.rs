//! Runs one turn to its end, undisturbed or with a fault.

use std::sync::Arc;

use anyhow::{Context, Result, bail};
use convengine_core::config::Config;
use convengine_core::turn::{
    CancelReason, Completion, Effect, EffectErrorKind, EffectResult, Journal, Millis, Notice, Outcome, Request, SessionView, Slice, Turn,
    TurnInput,
};
use convengine_player::{Checkpoint, CorePlayer};

use super::fault::{self, Fault, LONGEST};

/// The number of effects after which a turn is considered endless.
const ENDLESS: usize = 1_000;

/// An effect with its answer.
#[derive(Debug, Clone)]
pub struct Answered {
    /// The effect.
    pub effect: Effect,
    /// The answer.
    pub answer: EffectResult,
    /// The time of the answer.
    pub at: Millis,
    /// The session at the beginning of the step that requested the effect; `None` for model calls, embeddings and sleeps.
    pub step: Option<SessionView>,
}

/// A turn that has ended.
#[derive(Debug, Clone)]
pub struct Run {
    /// The input of the turn.
    pub input: TurnInput,
    /// Its effects in order.
    pub answered: Vec<Answered>,
    /// The number of slices.
    pub slices: usize,
    /// All notices in order.
    pub notices: Vec<Notice>,
    /// The outcome.
    pub outcome: Outcome,
    /// The journal, which replays the turn.
    pub journal: Journal,
    /// After a crash: how the restored turn differs from the interrupted one.
    pub torn: Option<String>,
}

/// A turn in progress.
struct Going {
    config: Arc<Config>,
    turn: Turn,
    /// After a crash: the original turn, which is observed and continues beside the restored one; both must do the same.
    twin: Option<Turn>,
    open: Vec<Effect>,
    answered: Vec<Answered>,
    slices: usize,
    notices: Vec<Notice>,
    torn: Option<String>,
    end: Option<Outcome>,
}

impl Going {
    fn start(input: &TurnInput, config: &Arc<Config>) -> Result<Going> {
        let (turn, slice) = Turn::start_observed(input.clone(), Arc::clone(config))?;
        let config = Arc::clone(config);
        let (open, answered, notices) = (Vec::new(), Vec::new(), Vec::new());
        let mut going = Going { config, turn, twin: None, open, answered, slices: 0, notices, torn: None, end: None };
        going.take(slice);
        Ok(going)
    }

    fn take(&mut self, slice: Slice) {
        self.slices += 1;
        self.notices.extend(slice.notices);
        self.open.extend(slice.effects);
        self.end = slice.end.or(self.end.take());
    }

    /// Returns the next effect to answer; `None` if the turn has ended.
    fn next(&self) -> Result<Option<Effect>> {
        match self.open.first() {
            _ if self.end.is_some() => Ok(None),
            None => bail!("the turn waits although every effect was answered"),
            Some(_) if self.answered.len() >= ENDLESS => bail!("the turn has requested {ENDLESS} effects"),
            Some(effect) => Ok(Some(effect.clone())),
        }
    }

    fn answer(&mut self, answer: EffectResult, at: Millis) -> Result<()> {
        let effect = self.open.remove(0);
        let step = self.step_of(&effect);
        let completion = Completion { id: effect.id, at, outcome: answer.clone() };
        let slice = self.turn.resume(vec![completion.clone()])?;
        if let Some(twin) = &mut self.twin
            && twin.resume(vec![completion])? != slice
        {
            self.torn.get_or_insert_with(|| "a different course than without the crash".to_owned());
        }
        self.answered.push(Answered { effect, answer, at, step });
        self.take(slice);
        Ok(())
    }

    fn step_of(&self, effect: &Effect) -> Option<SessionView> {
        let has_no_step = matches!(effect.request, Request::Llm(_) | Request::Embed(_) | Request::Sleep(_));
        if has_no_step { None } else { self.twin.as_ref().unwrap_or(&self.turn).read_views(|it| it.last().cloned()) }
    }

    /// Cancels the turn; the results of its open effects remain unknown.
    fn abandon(&mut self, reason: CancelReason, at: Millis) -> Result<()> {
        for effect in std::mem::take(&mut self.open) {
            let (step, answer) = (self.step_of(&effect), fault::error(EffectErrorKind::Cancelled));
            self.answered.push(Answered { effect, answer, at, step });
        }
        let slice = self.turn.cancel(reason, at)?;
        self.take(slice);
        Ok(())
    }

    /// Simulates a crash: restores the turn from the text of its journal.
    fn crash(&mut self) -> Result<()> {
        let saved = serde_json::to_string(self.turn.journal())?;
        let (turn, slice) = Turn::restore(serde_json::from_str(&saved)?, Arc::clone(&self.config))?;
        let differs = [
            (slice.notices != self.notices, "other notices"),
            (slice.effects != self.open, "other open effects or keys"),
            (slice.end != self.end, "another end"),
        ];
        self.torn = differs.into_iter().find(|it| it.0).map(|it| it.1.to_owned());
        self.twin = Some(std::mem::replace(&mut self.turn, turn));
        Ok(())
    }

    fn finish(self) -> Result<Run> {
        Ok(Run {
            input: self.turn.journal().input.clone(),
            answered: self.answered,
            slices: self.slices,
            notices: self.notices,
            outcome: self.end.context("the turn has no end")?,
            journal: self.turn.journal().clone(),
            torn: self.torn,
        })
    }

    /// Answers the remaining effects from the pack's script, or with an error of kind `all`.
    fn rest(&mut self, player: &mut CorePlayer, all: Option<EffectErrorKind>) -> Result<()> {
        while let Some(effect) = self.next()? {
            let now = self.turn.now();
            match all {
                Some(kind) => self.answer(fault::error(kind), now)?,
                None => {
                    let (answer, delay) = player.reply(&effect.request);
                    self.answer(answer, now + Millis::try_from(delay).unwrap_or_default())?;
                }
            }
        }
        Ok(())
    }
}

/// An undisturbed turn, with a checkpoint of the script before each of its effects.
#[derive(Debug, Clone)]
pub struct Undisturbed {
    /// The turn.
    pub run: Run,
    /// The checkpoints of the script, one per effect.
    pub before: Vec<Checkpoint>,
}

/// Runs a turn of the pack without a fault.
///
/// # Errors
/// If the turn does not end.
pub fn undisturbed(player: &mut CorePlayer, index: usize) -> Result<Undisturbed> {
    let input = player.begin_turn(index)?;
    let mut going = Going::start(&input, &player.config)?;
    let mut before = Vec::new();
    while let Some(effect) = going.next()? {
        before.push(player.checkpoint());
        let now = going.turn.now();
        let (answer, delay) = player.reply(&effect.request);
        going.answer(answer, now + Millis::try_from(delay).unwrap_or_default())?;
    }
    Ok(Undisturbed { run: going.finish()?, before })
}

/// Runs the turn again up to effect `at`, injects the fault there, and runs the turn to its end. The player keeps the script's
/// position at the end of the turn.
///
/// # Errors
/// If the turn does not end.
pub fn disturbed(player: &mut CorePlayer, baseline: &Undisturbed, at: usize, fault: Fault) -> Result<Run> {
    let mut going = Going::start(&baseline.run.input, &player.config)?;
    for it in baseline.run.answered.iter().take(at) {
        going.answer(it.answer.clone(), it.at)?;
    }
    let (original, checkpoint) = baseline.run.answered.get(at).zip(baseline.before.get(at)).context("the turn has no such effect")?;
    player.rewind(checkpoint);
    // The script consumes its answer even if the fault replaces it.
    let _ = player.reply(&original.effect.request);
    let now = going.turn.now();
    let mut all = None;
    match fault {
        Fault::Error(kind) => going.answer(fault::error(kind), now)?,
        Fault::AllFrom(kind) => {
            going.answer(fault::error(kind), now)?;
            all = Some(kind);
        }
        Fault::Late => {
            let (expired, timeout) = (now + Millis::from(original.effect.deadline_ms), baseline.run.input.at + LONGEST);
            if expired > timeout {
                going.abandon(CancelReason::Timeout, timeout)?
            } else {
                going.answer(fault::late(&original.effect), expired)?
            }
        }
        Fault::Garbage(garbage) => going.answer(fault::garbage(&original.effect.request, garbage), original.at)?,
        Fault::Status(status) => going.answer(fault::status(status), original.at)?,
        Fault::Abandoned(reason) => going.abandon(reason, now)?,
        Fault::CrashBefore => {
            going.crash()?;
            let answer =
                if fault::repeatable(&original.effect) { original.answer.clone() } else { fault::error(EffectErrorKind::Interrupted) };
            going.answer(answer, original.at)?;
        }
        Fault::CrashAfter => {
            going.answer(original.answer.clone(), original.at)?;
            going.crash()?;
        }
    }
    going.rest(player, all)?;
    going.finish()
}
