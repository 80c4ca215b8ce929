//! Texts of the question that asks which of several pending actions the user wants. (docs/spec/pipeline.md#2.11)

use convengine_text::template::Template;

use super::built_in::{ComponentConfig, PromptPair};
use super::issue::Issue;
use super::tables::ConfigRows;

/// Texts of the disambiguation question.
#[derive(Debug, Clone, Default)]
pub struct DisambiguationQuestion {
    /// `QUESTION_TEMPLATE`.
    pub template: Template,
    /// `ENABLE_LLM`: whether a model phrases the question.
    pub uses_model: bool,
    /// `LLM_SYSTEM_PROMPT` and `LLM_USER_PROMPT`.
    pub prompts: PromptPair,
}

impl DisambiguationQuestion {
    pub(super) fn compile(rows: &ConfigRows, issues: &mut Vec<Issue>) -> DisambiguationQuestion {
        let mut step = ComponentConfig { rows, name: "DisambiguationStep", issues };
        DisambiguationQuestion {
            template: step.template("QUESTION_TEMPLATE", TEMPLATE),
            uses_model: step.boolean("ENABLE_LLM", false),
            prompts: step.prompt_pair("LLM_", SYSTEM, USER),
        }
    }
}

const TEMPLATE: &str = "There is more than one thing I could do now. Which one do you want: {{options}}?";

const SYSTEM: &str = "You write one short question of a service chat. The customer agreed to something, but several actions are waiting, and \
    the answer has to tell which one is meant. Name every action in everyday words and keep the order of the list. Do not recommend one, \
    do not carry anything out, and write the question alone, in the customer's language.";

const USER: &str = "The customer's message:\n{{user_input}}\n\nTopic and point of the conversation:\n{{intent}} / {{state}}\n\n\
    The {{candidate_count}} actions that wait:\n{{options}}";
