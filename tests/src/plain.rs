//! Plays a pack's conversation in the core, for packs whose turns ask for no effect.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use convengine_core::config::Config;
use convengine_core::pack::{Conversations, Message, Pack};
use convengine_core::turn::{LoadedSession, Notice, Outcome, Turn, TurnInput};

/// A pack with its compiled configuration and its messages.
#[derive(Debug)]
pub struct Plain {
    config: Arc<Config>,
    messages: Vec<Message>,
}

/// A turn that has ended.
#[derive(Debug)]
pub struct Ended {
    /// The turn, for its journal.
    pub turn: Turn,
    /// What it came to.
    pub outcome: Outcome,
    /// All notices in order.
    pub notices: Vec<Notice>,
}

impl Plain {
    /// Reads a pack.
    ///
    /// # Errors
    /// When the file is no pack, or a turn of it is no plain message.
    pub fn open(path: &Path) -> Result<Plain> {
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        Plain::of(&Pack::parse(&text)?).with_context(|| path.display().to_string())
    }

    /// Compiles a pack.
    ///
    /// # Errors
    /// When the configuration has issues, or a turn is no plain message.
    pub fn of(pack: &Pack) -> Result<Plain> {
        let (config, issues) = pack.compile();
        if let Some(issue) = issues.first() {
            bail!("the configuration has {} issues, the first at {}: {}", issues.len(), issue.path, issue.reason);
        }
        let messages: Option<Vec<Message>> = (0..pack.turns.len()).map(|it| pack.message(it)).collect();
        let messages = messages.context("a turn of the pack is no plain message")?;
        Ok(Plain { config: Arc::new(config), messages })
    }

    /// The messages of the conversation.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Plays the conversation from its beginning and shows each turn that has ended.
    ///
    /// # Errors
    /// When a turn asks for an effect, or `seen` fails.
    pub fn play(&self, mut seen: impl FnMut(&Ended) -> Result<()>) -> Result<()> {
        self.play_to(self.messages.len(), &mut seen).map(|_| ())
    }

    /// Plays a turn of a long conversation again and again; the conversation repeats its messages until then.
    ///
    /// # Errors
    /// As [`Plain::play`].
    pub fn play_turn(&self, number: usize, times: usize, mut seen: impl FnMut(&Ended) -> Result<()>) -> Result<()> {
        let before = number.checked_sub(1).context("turns are numbered from 1")?;
        let session = self.play_to(before, &mut |_| Ok(()))?;
        let message = self.messages.iter().cycle().nth(before).context("the pack has no message")?;
        for _ in 0..times {
            seen(&self.next(message, session.clone())?)?;
        }
        Ok(())
    }

    /// Plays so many turns; returns what the next one loads.
    fn play_to(&self, turns: usize, seen: &mut dyn FnMut(&Ended) -> Result<()>) -> Result<LoadedSession> {
        let mut session = LoadedSession::default();
        for message in self.messages.iter().cycle().take(turns) {
            let ended = self.next(message, session)?;
            seen(&ended)?;
            session = ended.turn.journal().input.session.clone().with_writes(&ended.outcome.writes);
            // A host loads no more than the window.
            session.history.truncate(self.config.settings.history_max_turns);
        }
        Ok(session)
    }

    fn next(&self, message: &Message, session: LoadedSession) -> Result<Ended> {
        let mut input = message.clone().into_input(&Conversations::default(), self.config.program());
        input.session = session;
        self.one(input)
    }

    /// Plays one turn.
    ///
    /// # Errors
    /// When the turn asks for an effect.
    pub fn one(&self, input: TurnInput) -> Result<Ended> {
        let (turn, slice) = Turn::start(input, Arc::clone(&self.config))?;
        let outcome = slice.end.context("a turn of the pack asks for an effect")?;
        Ok(Ended { turn, outcome, notices: slice.notices })
    }
}
