//! Reads commands: what the user says about the conversation itself (docs/spec/flows.md#5.6). `repair` handles them.

use std::cell::LazyCell;

use convengine_config::flow::IntentPhrases;
use convengine_config::flow::document::IntentDef;
use convengine_text::phrase::Phrase;
use convengine_values::{Command, read_command};

use super::state::FlowEvent;
use super::view::SessionView;

/// Maximum intents that are named to somebody who asks what can be done.
const MAX_NAMED_INTENTS: usize = 8;

impl SessionView<'_, '_> {
    /// The command that the message is, unless the document has turned it off.
    pub(super) fn read_command(&self) -> Option<Command> {
        let FlowEvent::Message { text, .. } = &self.event else { return None };
        self.command_of(text)
    }

    /// Whether the message asks for a person and for nothing else. Only an intent that is for that takes it.
    pub(super) fn asks_for_person(&self) -> bool {
        self.read_command() == Some(Command::Person)
    }

    /// Whether an intent is for those who ask for a person: one of its phrases says nothing else.
    pub(super) fn is_for_person(&self, intent: &IntentDef, phrases: &IntentPhrases) -> bool {
        let mut plain = intent.phrases.iter().zip(&phrases.marked).filter(|it| it.1.is_none());
        plain.any(|it| self.command_of(it.0) == Some(Command::Person))
    }

    fn command_of(&self, text: &str) -> Option<Command> {
        let rules = &self.flow.document.repair;
        let message = LazyCell::new(|| Phrase::new(text, &self.flow.document.default_locale));
        let rule = rules.commands.iter().find(|rule| {
            let phrases = rule.phrases_of(&self.state.locale);
            phrases.into_iter().any(|phrase| Phrase::new(phrase, &self.flow.document.default_locale) == *message)
        });
        let command = rule.map(|it| it.command).or_else(|| read_command(text, &self.state.locale))?;
        rules.is_enabled(command).then_some(command)
    }

    /// Whether a command means anything while nothing is awaited.
    pub(super) fn is_meaningful_when_idle(&self, command: Command) -> bool {
        match command {
            Command::Skip | Command::Back => false,
            Command::Help => !self.intent_names().is_empty(),
            Command::Repeat => self.last_bot_text().is_some(),
            Command::Cancel | Command::StartOver | Command::Person => true,
        }
    }

    /// The intents that are named to somebody who asks what can be done.
    pub(super) fn intent_names(&self) -> String {
        let named = self.flow.document.intents.iter().filter(|it| it.enabled && !it.is_fallback);
        named.take(MAX_NAMED_INTENTS).map(|it| self.name_intent(it)).collect::<Vec<_>>().join(", ")
    }

    /// The last message to the user.
    pub(super) fn last_bot_text(&self) -> Option<String> {
        self.state.history.iter().rev().find(|it| it.role == "bot").map(|it| it.text.clone())
    }
}
