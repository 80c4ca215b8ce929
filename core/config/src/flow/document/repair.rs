//! How a document changes what happens when the user speaks about the conversation itself (docs/reference/repair.md).

use convengine_values::Command;

use super::fields::Fields;

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
    /// Whether the user is told to what the conversation returns.
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

impl RepairRules {
    pub(super) fn read(fields: Fields<'_>) -> RepairRules {
        let is_enabled = |name: &str| fields.object_or_empty(name).flag("enabled", true);
        let rule = |(name, command): (&str, Command)| {
            let rule = fields.value(name).map(Fields)?;
            let phrases = match rule.value("phrases") {
                Some(list) if list.is_array() => vec![("default".to_owned(), rule.strings("phrases"))],
                _ => {
                    let of_locale = rule.object_or_empty("phrases");
                    rule.members("phrases").map(|(locale, _)| (locale.clone(), of_locale.strings(locale))).collect()
                }
            };
            Some(CommandRule { command, enabled: rule.flag("enabled", true), phrases, graph: rule.optional_string("graph") })
        };
        RepairRules {
            correction: is_enabled("correction"),
            digression: is_enabled("digression"),
            no_understanding: is_enabled("no_understanding"),
            commands: REPAIR_COMMANDS.into_iter().filter_map(rule).collect(),
        }
    }

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
        self.phrases.iter().filter(move |it| names.contains(&it.0.as_str())).flat_map(|it| &it.1).map(String::as_str)
    }
}
