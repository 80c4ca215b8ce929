//! One turn, played to its end: undisturbed, or with something done to it.

use std::sync::Arc;

use anyhow::{Context, Result, bail};
use convengine_core::config::Config;
use convengine_core::turn::{
    CancelReason, Completion, Effect, EffectErrorKind, EffectResult, Journal, Millis, Notice, Outcome, Request, SessionView, Slice, Turn,
    TurnInput,
};
use convengine_server::play::{Checkpoint, CorePlayer};

use super::fault::{self, Fault, LONGEST};

/// Effects after which a turn counts as endless.
const ENDLESS: usize = 1_000;

/// An effect with its answer.
#[derive(Debug, Clone)]
pub struct Answered {
    /// What was asked.
    pub effect: Effect,
    /// What came back.
    pub answer: EffectResult,
    /// When it came.
    pub at: Millis,
    /// The session at the beginning of the step that asked, for what does something or reads something.
    pub step: Option<SessionView>,
}

/// A turn that has ended.
#[derive(Debug, Clone)]
pub struct Run {
    /// What it started from.
    pub input: TurnInput,
    /// Its effects in order.
    pub answered: Vec<Answered>,
    /// How often the core returned.
    pub slices: usize,
    /// All notices in order.
    pub notices: Vec<Notice>,
    /// What it came to.
    pub outcome: Outcome,
    /// What replays it.
    pub journal: Journal,
    /// After a crash: how the turn that was taken up differs from the one that was left.
    pub torn: Option<String>,
}

/// A turn on its way.
struct Going {
    config: Arc<Config>,
    turn: Turn,
    /// After a crash: the turn as it would have gone on. It is watched, and the one that was taken up has to do the same.
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

    /// The effect that is answered next; nothing at the end.
    fn next(&self) -> Result<Option<Effect>> {
        match self.open.first() {
            _ if self.end.is_some() => Ok(None),
            None => bail!("the turn waits although everything was answered"),
            Some(_) if self.answered.len() >= ENDLESS => bail!("the turn has asked for {ENDLESS} effects"),
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
            self.torn.get_or_insert_with(|| "another course than one that goes on".to_owned());
        }
        self.answered.push(Answered { effect, answer, at, step });
        self.take(slice);
        Ok(())
    }

    fn step_of(&self, effect: &Effect) -> Option<SessionView> {
        let thinks = matches!(effect.request, Request::Llm(_) | Request::Embed(_) | Request::Sleep(_));
        if thinks { None } else { self.twin.as_ref().unwrap_or(&self.turn).read_views(|it| it.last().cloned()) }
    }

    /// Gives the turn up; nobody will know what became of what is open.
    fn abandon(&mut self, why: CancelReason, at: Millis) -> Result<()> {
        for effect in std::mem::take(&mut self.open) {
            let (step, answer) = (self.step_of(&effect), fault::error(EffectErrorKind::Cancelled));
            self.answered.push(Answered { effect, answer, at, step });
        }
        let slice = self.turn.cancel(why, at)?;
        self.take(slice);
        Ok(())
    }

    /// Ends the process and lets another one take the turn over from what was written down.
    fn crash(&mut self) -> Result<()> {
        let saved = serde_json::to_string(self.turn.journal())?;
        let (turn, slice) = Turn::restore(serde_json::from_str(&saved)?, Arc::clone(&self.config))?;
        let differs = [
            (slice.notices != self.notices, "other notices"),
            (slice.effects != self.open, "other open effects, or other keys of them"),
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

    /// Answers what is left as the pack does, or with a failure.
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

/// A turn to which nothing was done, with the points before each of its effects.
#[derive(Debug, Clone)]
pub struct Undisturbed {
    /// The turn.
    pub run: Run,
    /// Where the scripts stood when an effect was asked.
    pub before: Vec<Checkpoint>,
}

/// Plays a turn of the pack as it is meant.
///
/// # Errors
/// When it has no end.
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

/// Plays the turn again up to an effect, does something to it, and plays it to its end. The player then stands where the turn left it.
///
/// # Errors
/// When it has no end.
pub fn disturbed(player: &mut CorePlayer, meant: &Undisturbed, at: usize, fault: Fault) -> Result<Run> {
    let mut going = Going::start(&meant.run.input, &player.config)?;
    for it in meant.run.answered.iter().take(at) {
        going.answer(it.answer.clone(), it.at)?;
    }
    let (was, mark) = meant.run.answered.get(at).zip(meant.before.get(at)).context("the turn has no such effect")?;
    player.rewind(mark);
    // The script has given its answer, whatever became of it on the way.
    let _ = player.reply(&was.effect.request);
    let now = going.turn.now();
    let mut all = None;
    match fault {
        Fault::Error(kind) => going.answer(fault::error(kind), now)?,
        Fault::AllFrom(kind) => {
            going.answer(fault::error(kind), now)?;
            all = Some(kind);
        }
        Fault::Late => {
            let (passed, longest) = (now + Millis::from(was.effect.deadline_ms), meant.run.input.at + LONGEST);
            if passed > longest {
                going.abandon(CancelReason::Timeout, longest)?
            } else {
                going.answer(fault::late(&was.effect), passed)?
            }
        }
        Fault::Garbage(garbage) => going.answer(fault::garbage(&was.effect.request, garbage), was.at)?,
        Fault::Status(status) => going.answer(fault::status(status), was.at)?,
        Fault::Abandoned(why) => going.abandon(why, now)?,
        Fault::CrashBefore => {
            going.crash()?;
            let answer = if fault::repeatable(&was.effect) { was.answer.clone() } else { fault::error(EffectErrorKind::Interrupted) };
            going.answer(answer, was.at)?;
        }
        Fault::CrashAfter => {
            going.answer(was.answer.clone(), was.at)?;
            going.crash()?;
        }
    }
    going.rest(player, all)?;
    going.finish()
}
