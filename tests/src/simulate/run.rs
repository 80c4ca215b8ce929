//! Runs one turn to its end, undisturbed or with a fault.

use std::sync::Arc;

use anyhow::{Context, Result, bail};
use convengine_core::config::Config;
use convengine_core::turn::{
    CancelReason, Completion, Effect, EffectErrorKind, EffectResult, Journal, Millis, Notice, Outcome, Request, SessionView, Slice, Turn,
    TurnInput,
};
use convengine_player::{Checkpoint, CorePlayer};

use super::fault::{self, Fault, TURN_TIMEOUT_MS};

/// The number of effects after which a turn is considered endless.
const MAX_EFFECTS: usize = 1_000;

/// An effect with its answer.
#[derive(Debug, Clone)]
pub struct AnsweredEffect {
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
pub struct TurnRun {
    /// The input of the turn.
    pub input: TurnInput,
    /// Its effects in order.
    pub answered: Vec<AnsweredEffect>,
    /// The number of slices.
    pub slices: usize,
    /// All notices in order.
    pub notices: Vec<Notice>,
    /// The outcome.
    pub outcome: Outcome,
    /// The journal, which replays the turn.
    pub journal: Journal,
    /// After a crash: how the restored turn differs from the interrupted one.
    pub crash_difference: Option<String>,
}

/// A turn in progress.
struct TurnInProgress {
    config: Arc<Config>,
    turn: Turn,
    /// After a crash: the original turn, which is observed and continues beside the restored one; both must do the same.
    original: Option<Turn>,
    open_effects: Vec<Effect>,
    answered: Vec<AnsweredEffect>,
    slices: usize,
    notices: Vec<Notice>,
    crash_difference: Option<String>,
    end: Option<Outcome>,
}

impl TurnInProgress {
    fn start(input: &TurnInput, config: &Arc<Config>) -> Result<TurnInProgress> {
        let (turn, slice) = Turn::start_observed(input.clone(), Arc::clone(config))?;
        let config = Arc::clone(config);
        let (open, answered, notices) = (Vec::new(), Vec::new(), Vec::new());
        let mut going = TurnInProgress {
            config,
            turn,
            original: None,
            open_effects: open,
            answered,
            slices: 0,
            notices,
            crash_difference: None,
            end: None,
        };
        going.add_slice(slice);
        Ok(going)
    }

    fn add_slice(&mut self, slice: Slice) {
        self.slices += 1;
        self.notices.extend(slice.notices);
        self.open_effects.extend(slice.effects);
        self.end = slice.end.or(self.end.take());
    }

    /// Returns the next effect to answer; `None` if the turn has ended.
    fn next_effect(&self) -> Result<Option<Effect>> {
        match self.open_effects.first() {
            _ if self.end.is_some() => Ok(None),
            None => bail!("the turn waits although every effect was answered"),
            Some(_) if self.answered.len() >= MAX_EFFECTS => bail!("the turn has requested {MAX_EFFECTS} effects"),
            Some(effect) => Ok(Some(effect.clone())),
        }
    }

    fn answer(&mut self, answer: EffectResult, at: Millis) -> Result<()> {
        let effect = self.open_effects.remove(0);
        let step = self.step_session(&effect);
        let completion = Completion { id: effect.id, at, outcome: answer.clone() };
        let slice = self.turn.resume(vec![completion.clone()])?;
        if let Some(twin) = &mut self.original
            && twin.resume(vec![completion])? != slice
        {
            self.crash_difference.get_or_insert_with(|| "a different course than without the crash".to_owned());
        }
        self.answered.push(AnsweredEffect { effect, answer, at, step });
        self.add_slice(slice);
        Ok(())
    }

    fn step_session(&self, effect: &Effect) -> Option<SessionView> {
        let has_no_step = matches!(effect.request, Request::Llm(_) | Request::Embed(_) | Request::Sleep(_));
        if has_no_step { None } else { self.original.as_ref().unwrap_or(&self.turn).read_views(|views| views.last().cloned()) }
    }

    /// Cancels the turn; the results of its open effects remain unknown.
    fn cancel(&mut self, reason: CancelReason, at: Millis) -> Result<()> {
        for effect in std::mem::take(&mut self.open_effects) {
            let (step, answer) = (self.step_session(&effect), fault::error_result(EffectErrorKind::Cancelled));
            self.answered.push(AnsweredEffect { effect, answer, at, step });
        }
        let slice = self.turn.cancel(reason, at)?;
        self.add_slice(slice);
        Ok(())
    }

    /// Simulates a crash: restores the turn from the text of its journal.
    fn crash_and_restore(&mut self) -> Result<()> {
        let saved = serde_json::to_string(self.turn.journal())?;
        let (turn, slice) = Turn::restore(serde_json::from_str(&saved)?, Arc::clone(&self.config))?;
        let differs = [
            (slice.notices != self.notices, "other notices"),
            (slice.effects != self.open_effects, "other open effects or keys"),
            (slice.end != self.end, "another end"),
        ];
        self.crash_difference = differs.into_iter().find(|it| it.0).map(|it| it.1.to_owned());
        self.original = Some(std::mem::replace(&mut self.turn, turn));
        Ok(())
    }

    fn finish(self) -> Result<TurnRun> {
        Ok(TurnRun {
            input: self.turn.journal().input.clone(),
            answered: self.answered,
            slices: self.slices,
            notices: self.notices,
            outcome: self.end.context("the turn has no end")?,
            journal: self.turn.journal().clone(),
            crash_difference: self.crash_difference,
        })
    }

    /// Answers the remaining effects from the pack's script, or with an error of kind `all`.
    fn answer_remaining(&mut self, player: &mut CorePlayer, all: Option<EffectErrorKind>) -> Result<()> {
        while let Some(effect) = self.next_effect()? {
            let now = self.turn.now();
            match all {
                Some(kind) => self.answer(fault::error_result(kind), now)?,
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
pub struct Baseline {
    /// The turn.
    pub run: TurnRun,
    /// The checkpoints of the script, one per effect.
    pub checkpoints: Vec<Checkpoint>,
}

/// Runs a turn of the pack without a fault.
///
/// # Errors
/// If the turn does not end.
pub fn run_baseline(player: &mut CorePlayer, index: usize) -> Result<Baseline> {
    let input = player.begin_turn(index)?;
    let mut going = TurnInProgress::start(&input, &player.config)?;
    let mut before = Vec::new();
    while let Some(effect) = going.next_effect()? {
        before.push(player.checkpoint());
        let now = going.turn.now();
        let (answer, delay) = player.reply(&effect.request);
        going.answer(answer, now + Millis::try_from(delay).unwrap_or_default())?;
    }
    Ok(Baseline { run: going.finish()?, checkpoints: before })
}

/// Runs the turn again up to effect `at`, injects the fault there, and runs the turn to its end. The player keeps the script's
/// position at the end of the turn.
///
/// # Errors
/// If the turn does not end.
pub fn run_with_fault(player: &mut CorePlayer, baseline: &Baseline, at: usize, fault: Fault) -> Result<TurnRun> {
    let mut going = TurnInProgress::start(&baseline.run.input, &player.config)?;
    for answered in baseline.run.answered.iter().take(at) {
        going.answer(answered.answer.clone(), answered.at)?;
    }
    let (original, checkpoint) = baseline.run.answered.get(at).zip(baseline.checkpoints.get(at)).context("the turn has no such effect")?;
    player.rewind(checkpoint);
    // The script consumes its answer even if the fault replaces it.
    let _ = player.reply(&original.effect.request);
    let now = going.turn.now();
    let mut all = None;
    match fault {
        Fault::Error(kind) => going.answer(fault::error_result(kind), now)?,
        Fault::AllFrom(kind) => {
            going.answer(fault::error_result(kind), now)?;
            all = Some(kind);
        }
        Fault::Late => {
            let (expired, timeout) = (now + Millis::from(original.effect.deadline_ms), baseline.run.input.at + TURN_TIMEOUT_MS);
            if expired > timeout {
                going.cancel(CancelReason::Timeout, timeout)?
            } else {
                going.answer(fault::timeout_result(&original.effect), expired)?
            }
        }
        Fault::Garbage(garbage) => going.answer(fault::garbage_result(&original.effect.request, garbage), original.at)?,
        Fault::Status(status) => going.answer(fault::status_result(status), original.at)?,
        Fault::Canceled(reason) => going.cancel(reason, now)?,
        Fault::CrashBefore => {
            going.crash_and_restore()?;
            let answer = if fault::is_repeatable(&original.effect) {
                original.answer.clone()
            } else {
                fault::error_result(EffectErrorKind::Interrupted)
            };
            going.answer(answer, original.at)?;
        }
        Fault::CrashAfter => {
            going.answer(original.answer.clone(), original.at)?;
            going.crash_and_restore()?;
        }
    }
    going.answer_remaining(player, all)?;
    going.finish()
}
