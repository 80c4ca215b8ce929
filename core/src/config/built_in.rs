//! Prompts and numbers that the engine brings along and that `ce_config` may replace. (`spec/data-and-api.md` 2.1)

use serde_json::Value;

use super::issue::Issue;
use super::settings;
use super::tables::ConfigRows;
use crate::text::template::Template;

/// A pair of prompts.
#[derive(Debug, Clone, Default)]
pub struct PromptPair {
    /// System prompt.
    pub system: Template,
    /// User prompt.
    pub user: Template,
}

/// Rows of `ce_config` for one component.
pub(super) struct Component<'r> {
    /// All rows.
    pub rows: &'r ConfigRows,
    /// `config_type` of the component.
    pub name: &'static str,
    /// What is wrong.
    pub issues: &'r mut Vec<Issue>,
}

impl Component<'_> {
    /// The text of a key; the component's own when no row has it.
    pub fn text(&self, key: &str, default: &str) -> String {
        self.rows.value(self.name, key).unwrap_or(default).to_owned()
    }

    /// The template of a key; the component's own when no row has it or the row's cannot be compiled.
    pub fn template(&mut self, key: &str, default: &str) -> Template {
        if let Some(source) = self.rows.value(self.name, key) {
            match Template::compile(source) {
                Ok(template) => return template,
                Err(reason) => self.left_out(key, reason),
            }
        }
        Template::compile(default).unwrap_or_default()
    }

    /// A pair of prompts; `prefix` stands before `SYSTEM_PROMPT` and `USER_PROMPT`.
    pub fn pair(&mut self, prefix: &str, system: &str, user: &str) -> PromptPair {
        PromptPair {
            system: self.template(&format!("{prefix}SYSTEM_PROMPT"), system),
            user: self.template(&format!("{prefix}USER_PROMPT"), user),
        }
    }

    /// A number between 0 and 1.
    pub fn share(&mut self, key: &str, default: f64) -> f64 {
        let Some(text) = self.rows.value(self.name, key) else { return default };
        if let Some(number) = text.trim().parse::<f64>().ok().filter(|it| (0.0..=1.0).contains(it)) {
            return number;
        }
        self.left_out(key, format!("'{text}' is not a number from 0 to 1"));
        default
    }

    /// True or false.
    pub fn boolean(&mut self, key: &str, default: bool) -> bool {
        let Some(text) = self.rows.value(self.name, key).map(|it| it.trim().to_ascii_lowercase()) else { return default };
        settings::boolean(&Value::from(text.as_str())).unwrap_or_else(|| {
            self.left_out(key, format!("'{text}' is not true or false"));
            default
        })
    }

    /// Reports a row that cannot be used.
    pub fn left_out(&mut self, key: &str, reason: String) {
        let path = format!("ce_config[{}/{key}].config_value", self.name);
        self.issues.push(Issue::error(path, reason, "the built-in value is used until it is corrected"));
    }
}
