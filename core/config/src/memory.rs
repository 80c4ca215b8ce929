//! Prompts of the model that summarises a conversation. (docs/decisions/0008-memory.md)

use super::built_in::{ComponentConfig, PromptPair};
use super::issue::Issue;
use super::tables::ConfigRows;

/// Compiles the summary prompts; rows of `MemoryStep` override the built-in ones.
pub(super) fn compile_prompts(rows: &ConfigRows, issues: &mut Vec<Issue>) -> PromptPair {
    ComponentConfig { rows, name: "MemoryStep", issues }.prompt_pair("", SYSTEM, USER)
}

const SYSTEM: &str = "You keep the running summary of a service chat, so that somebody who has not read it can go on. You get the summary \
    so far and what was said since then. Write the new summary: what the customer wants, what has been settled or done, names, numbers and \
    dates that were given, and what is still open. Leave out greetings and wording, add nothing that was not said, and drop what no longer \
    holds. Reply with the summary alone, as plain text of at most {{summary_max_chars}} characters.";

const USER: &str = "Summary so far:\n{{memory_summary}}\n\nSaid since then, oldest first, as JSON:\n{{recent_turns}}\n\n\
    The customer's message:\n{{user_input}}\n\nThe answer to it:\n{{answer}}";
