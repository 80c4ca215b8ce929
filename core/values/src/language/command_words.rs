//! Words with which people speak about the conversation itself.

use crate::phrases::Phrases;

/// What is said about the conversation in a language, as data (alternatives are separated by `|`) or compiled.
pub(crate) struct CommandWords<List = &'static str> {
    /// Short forms and what they stand for: `u=you`.
    pub abbreviations: &'static str,
    pub cancel: List,
    pub skip: List,
    pub repeat: List,
    pub help: List,
    pub back: List,
    pub start_over: List,
    pub person: List,
    /// Phrases beside a command that change nothing: `please`, `can we`.
    pub fillers: List,
    /// Phrases behind which stands what is meant, and that also begin other answers: `no wait`.
    pub corrections: List,
    /// Phrases behind which stands what is meant instead of something else: `I meant`.
    pub retractions: List,
    /// Phrases at the end of a message that replaces an earlier one: `instead`.
    pub endings: List,
    /// Phrases before what somebody does not want: `don't want to`.
    pub refusals: List,
    /// Such phrases where a clause begins.
    pub first_refusals: List,
    /// Phrases behind what somebody does not want.
    pub last_refusals: List,
    /// Phrases before what is not meant: `not`.
    pub denials_before: List,
    /// Words between alternatives.
    pub or: List,
    /// Phrases behind what is not meant.
    pub denials_behind: List,
    /// Short words that may stand between a phrase before it and what is not meant: `the`, `to`.
    pub links: List,
    /// Such words before a phrase behind it.
    pub links_behind: List,
    /// Phrases before what is added to what was said: `also`.
    pub additions: List,
    /// Such phrases at the end.
    pub last_additions: List,
}

impl CommandWords {
    /// Compiles the lists.
    pub fn compile(&self) -> CommandWords<Phrases> {
        CommandWords {
            abbreviations: self.abbreviations,
            cancel: Phrases::new(self.cancel),
            skip: Phrases::new(self.skip),
            repeat: Phrases::new(self.repeat),
            help: Phrases::new(self.help),
            back: Phrases::new(self.back),
            start_over: Phrases::new(self.start_over),
            person: Phrases::new(self.person),
            fillers: Phrases::new(self.fillers),
            corrections: Phrases::new(self.corrections),
            retractions: Phrases::new(self.retractions),
            endings: Phrases::new(self.endings),
            refusals: Phrases::new(self.refusals),
            first_refusals: Phrases::new(self.first_refusals),
            last_refusals: Phrases::new(self.last_refusals),
            denials_before: Phrases::new(self.denials_before),
            or: Phrases::new(self.or),
            denials_behind: Phrases::new(self.denials_behind),
            links: Phrases::new(self.links),
            links_behind: Phrases::new(self.links_behind),
            additions: Phrases::new(self.additions),
            last_additions: Phrases::new(self.last_additions),
        }
    }
}
