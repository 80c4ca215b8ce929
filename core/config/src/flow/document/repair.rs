//! How a document changes what happens when the user speaks about the conversation itself (docs/reference/repair.md).

use convengine_derive::Described;
use convengine_values::Command;
use serde_json::Value;

use super::super::shape::{Absent, Described, List, NON_EMPTY, Shape};

/// The commands by the names that documents give them.
const REPAIR_COMMANDS: [(&str, Command); 7] = [
    ("cancel", Command::Cancel),
    ("skip", Command::Skip),
    ("repeat", Command::Repeat),
    ("help", Command::Help),
    ("back", Command::Back),
    ("start_over", Command::StartOver),
    ("person", Command::Person),
];

/// The name of a command in documents and traces.
pub fn command_name(command: Command) -> &'static str {
    REPAIR_COMMANDS.iter().find(|it| it.1 == command).map_or("", |it| it.0)
}

/// Which patterns of repair a document uses.
#[derive(Debug, Clone)]
pub struct RepairRules {
    /// Whether filled slots are corrected.
    pub correction: bool,
    /// Announces the topic that the conversation returns to.
    pub digression: bool,
    /// Whether messages in a row that nothing answers are answered differently.
    pub no_understanding: bool,
    /// The commands that the document changes.
    pub commands: Vec<CommandRule>,
}

/// What a document says about a command.
#[derive(Debug, Clone)]
pub struct CommandRule {
    /// The command.
    pub command: Command,
    /// Whether it is obeyed.
    pub enabled: bool,
    /// Phrases that are this command beside those of the engine, by locale; `default` for all.
    pub phrases: Vec<(String, Vec<String>)>,
    /// The graph that runs instead of what the engine does.
    pub graph: Option<String>,
}

/// What a document changes when the user speaks about the conversation itself; see [repair](repair.md).
#[derive(Debug, Clone, Described)]
#[described(definition = "Repair", closed)]
pub(super) struct RepairDef {
    /// Corrections of filled slots.
    correction: PatternDef,
    /// Leaving what is being done.
    cancel: Option<CommandDef>,
    /// Leaving out a question.
    skip: Option<CommandDef>,
    /// Hearing a question again.
    repeat: Option<CommandDef>,
    /// Asking what a question means, or why it is asked.
    help: Option<CommandDef>,
    /// Returning to the question before.
    back: Option<CommandDef>,
    /// Beginning anew.
    start_over: Option<CommandDef>,
    /// Asking for a person.
    person: Option<CommandDef>,
    /// The return to a question after something else.
    digression: PatternDef,
    /// Consecutive unanswered messages.
    no_understanding: PatternDef,
}

/// A pattern of repair that a document turns on or off.
#[derive(Debug, Clone, Described)]
#[described(closed)]
struct PatternDef {
    /// Whether the pattern is used.
    #[member(default = true)]
    enabled: bool,
}

/// A command as a document changes it.
#[derive(Debug, Clone, Described)]
#[described(closed)]
struct CommandDef {
    /// Whether it is obeyed.
    #[member(default = true)]
    enabled: bool,
    /// What is said for it beside the words of the engine: a list, or lists by locale.
    phrases: CommandPhrases,
    /// The graph that runs instead of what the engine does.
    #[member(shape = ID, meaning = Names(Graph))]
    graph: Option<String>,
}

/// Phrases by locale; `default` for all.
#[derive(Debug, Clone, Default)]
struct CommandPhrases(Vec<(String, Vec<String>)>);

const PHRASES: Shape = Shape::List(&List::new(NON_EMPTY));

impl Described for CommandPhrases {
    const SHAPE: Shape = Shape::AnyOf(&[PHRASES, Shape::Map(&PHRASES)]);

    fn read(value: &Value) -> Option<CommandPhrases> {
        let of_all = || Vec::<String>::read(value).map(|phrases| vec![("default".to_owned(), phrases)]);
        of_all().or_else(|| Described::read(value)).map(CommandPhrases)
    }
}

impl Absent for CommandPhrases {
    fn absent() -> CommandPhrases {
        CommandPhrases::default()
    }
}

impl From<RepairDef> for RepairRules {
    fn from(definition: RepairDef) -> RepairRules {
        let RepairDef { cancel, skip, repeat, help, back, start_over, person, .. } = definition;
        let changed = [
            (Command::Cancel, cancel),
            (Command::Skip, skip),
            (Command::Repeat, repeat),
            (Command::Help, help),
            (Command::Back, back),
            (Command::StartOver, start_over),
            (Command::Person, person),
        ];
        let rule = |(command, changed): (Command, Option<CommandDef>)| {
            let CommandDef { enabled, phrases, graph } = changed?;
            Some(CommandRule { command, enabled, phrases: phrases.0, graph })
        };
        RepairRules {
            correction: definition.correction.enabled,
            digression: definition.digression.enabled,
            no_understanding: definition.no_understanding.enabled,
            commands: changed.into_iter().filter_map(rule).collect(),
        }
    }
}

impl RepairRules {
    /// Whether a command is obeyed.
    pub fn is_enabled(&self, command: Command) -> bool {
        self.commands.iter().find(|it| it.command == command).is_none_or(|it| it.enabled)
    }
}

impl CommandRule {
    /// The name of its command.
    pub fn name(&self) -> &'static str {
        command_name(self.command)
    }

    /// The phrases of a locale, of its language and of all.
    pub fn phrases_of(&self, locale: &str) -> impl Iterator<Item = &str> {
        let language = locale.split(['-', '_']).next().unwrap_or_default();
        let names = [locale, language, "default"];
        self.phrases.iter().filter(move |(name, _)| names.contains(&name.as_str())).flat_map(|it| &it.1).map(String::as_str)
    }
}
