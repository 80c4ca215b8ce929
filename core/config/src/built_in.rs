//! Built-in prompts and numbers that rows of `ce_config` may override. (docs/spec/data-and-api.md#2.1)

use convengine_text::template::Template;
use serde_json::Value;

use super::issue::Issue;
use super::settings;
use super::tables::ConfigRows;

/// A system and a user prompt.
#[derive(Debug, Clone, Default)]
pub struct PromptPair {
    /// System prompt.
    pub system: Template,
    /// User prompt.
    pub user: Template,
}

/// Reads the `ce_config` rows of one component.
pub(super) struct ComponentConfig<'r> {
    /// All rows.
    pub rows: &'r ConfigRows,
    /// `config_type` of the component.
    pub name: &'static str,
    /// Receives an issue for each invalid row.
    pub issues: &'r mut Vec<Issue>,
}

impl ComponentConfig<'_> {
    /// Returns the text of a key; the built-in one when no row has it.
    pub fn text(&self, key: &str, default: &str) -> String {
        self.rows.value(self.name, key).unwrap_or(default).to_owned()
    }

    /// Returns the template of a key; the built-in one when no row has it or the row's does not compile.
    pub fn template(&mut self, key: &str, default: &str) -> Template {
        if let Some(source) = self.rows.value(self.name, key) {
            match Template::compile(source) {
                Ok(template) => return template,
                Err(reason) => self.report_invalid(key, reason),
            }
        }
        Template::compile(default).unwrap_or_default()
    }

    /// Returns a prompt pair; the keys are `prefix` followed by `SYSTEM_PROMPT` and `USER_PROMPT`.
    pub fn prompt_pair(&mut self, prefix: &str, system: &str, user: &str) -> PromptPair {
        PromptPair {
            system: self.template(&format!("{prefix}SYSTEM_PROMPT"), system),
            user: self.template(&format!("{prefix}USER_PROMPT"), user),
        }
    }

    /// Returns a number from 0 to 1.
    pub fn fraction(&mut self, key: &str, default: f64) -> f64 {
        self.optional_fraction(key).unwrap_or(default)
    }

    /// Returns a number from 0 to 1, if there is one.
    pub fn optional_fraction(&mut self, key: &str) -> Option<f64> {
        let text = self.rows.value(self.name, key)?;
        let number = text.trim().parse::<f64>().ok().filter(|it| (0.0..=1.0).contains(it));
        if number.is_none() {
            self.report_invalid(key, format!("'{text}' is not a number from 0 to 1"));
        }
        number
    }

    /// Returns a boolean.
    pub fn boolean(&mut self, key: &str, default: bool) -> bool {
        let Some(text) = self.rows.value(self.name, key).map(|text| text.trim().to_ascii_lowercase()) else { return default };
        settings::parse_bool(&Value::from(text.as_str())).unwrap_or_else(|| {
            self.report_invalid(key, format!("'{text}' is not true or false"));
            default
        })
    }

    /// Reports an invalid row.
    pub fn report_invalid(&mut self, key: &str, reason: String) {
        let path = format!("ce_config[{}/{key}].config_value", self.name);
        self.issues.push(Issue::error(path, reason, "the built-in value is used until it is corrected"));
    }
}
