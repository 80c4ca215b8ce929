//! Runs a pack's conversation in the core, for packs whose turns request no effects.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use convengine_core::config::Config;
use convengine_core::pack::{Conversations, Message, Pack};
use convengine_core::turn::{LoadedSession, Notice, Outcome, Turn, TurnInput};

/// A pack whose turns request no effects: its compiled configuration and its messages.
#[derive(Debug)]
pub struct EffectFreePack {
    config: Arc<Config>,
    messages: Vec<Message>,
}

/// A turn that has ended.
#[derive(Debug)]
pub struct EndedTurn {
    /// The turn, for its journal.
    pub turn: Turn,
    /// The outcome of the turn.
    pub outcome: Outcome,
    /// All notices in order.
    pub notices: Vec<Notice>,
}

impl EffectFreePack {
    /// Reads a pack.
    ///
    /// # Errors
    /// If the file is not a pack, its configuration has issues, or one of its turns is not a message.
    pub fn open(path: &Path) -> Result<EffectFreePack> {
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        EffectFreePack::from_pack(&Pack::parse(&text)?).with_context(|| path.display().to_string())
    }

    /// Compiles a pack.
    ///
    /// # Errors
    /// If the configuration has issues, or a turn is not a message.
    pub fn from_pack(pack: &Pack) -> Result<EffectFreePack> {
        let (config, issues) = pack.compile();
        if let Some(issue) = issues.first() {
            bail!("invalid configuration: {} at {} ({} issues in total)", issue.reason, issue.path, issues.len());
        }
        let messages: Option<Vec<Message>> = (0..pack.turns.len()).map(|it| pack.message(it)).collect();
        let messages = messages.context("a turn of the pack is not a message")?;
        Ok(EffectFreePack { config: Arc::new(config), messages })
    }

    /// The messages of the conversation.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Runs the conversation from its beginning and passes each ended turn to `visit`.
    ///
    /// # Errors
    /// If a turn requests an effect, or `visit` fails.
    pub fn play(&self, mut visit: impl FnMut(&EndedTurn) -> Result<()>) -> Result<()> {
        self.play_to(self.messages.len(), &mut visit).map(|_| ())
    }

    /// Runs turn `number` (from 1) of a long conversation `times` times; the pack's messages repeat until that turn is reached.
    ///
    /// # Errors
    /// If a turn requests an effect, or `visit` fails.
    pub fn play_turn(&self, number: usize, times: usize, mut visit: impl FnMut(&EndedTurn) -> Result<()>) -> Result<()> {
        let before = number.checked_sub(1).context("turns are numbered from 1")?;
        let session = self.play_to(before, &mut |_| Ok(()))?;
        let message = self.messages.iter().cycle().nth(before).context("the pack has no message")?;
        for _ in 0..times {
            visit(&self.play_message(message, session.clone())?)?;
        }
        Ok(())
    }

    /// Runs the first `turns` turns; returns the session that the next turn loads.
    fn play_to(&self, turns: usize, visit: &mut dyn FnMut(&EndedTurn) -> Result<()>) -> Result<LoadedSession> {
        let mut session = LoadedSession::default();
        for message in self.messages.iter().cycle().take(turns) {
            let ended = self.play_message(message, session)?;
            visit(&ended)?;
            session = ended.turn.journal().input.session.clone().with_writes(&ended.outcome.writes);
            // A host loads no more than this window.
            session.history.truncate(self.config.settings.history_max_turns);
        }
        Ok(session)
    }

    fn play_message(&self, message: &Message, session: LoadedSession) -> Result<EndedTurn> {
        let mut input = message.clone().into_input(&Conversations::default(), self.config.program());
        input.session = session;
        self.play_input(input)
    }

    /// Runs one turn.
    ///
    /// # Errors
    /// If the turn requests an effect.
    pub fn play_input(&self, input: TurnInput) -> Result<EndedTurn> {
        let (turn, slice) = Turn::start(input, Arc::clone(&self.config))?;
        let outcome = slice.end.context("a turn of the pack requests an effect")?;
        Ok(EndedTurn { turn, outcome, notices: slice.notices })
    }
}
