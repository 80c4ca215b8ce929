//! Plays a pack's conversation in the core, for packs whose turns ask for no effect.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use convengine_core::config::Config;
use convengine_core::pack::{Conversations, Message, Pack};
use convengine_core::turn::{Loaded, Notice, Outcome, Turn, TurnInput};

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
        let pack = Pack::parse(&text)?;
        let (config, issues) = Config::compile(&pack.tables, &pack.settings);
        ensure!(issues.is_empty(), "the pack has issues, type: convengine lint {}", path.display());
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
        let mut session = Loaded::default();
        for message in &self.messages {
            let mut input = message.clone().input(&Conversations::default());
            input.session = session;
            let ended = self.one(input)?;
            seen(&ended)?;
            session = ended.turn.journal().input.session.clone().after(&ended.outcome.writes);
        }
        Ok(())
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
