//! Texts, templates and expressions of a document. Invalid ones are kept with their error, because drafts may contain them.

use convengine_text::expr::{Expr, ExprError as BadExpr};
use convengine_text::interpolation::{Interpolation, InterpolationError as BadTemplate, JsonTemplate};
use serde_json::Value;

/// A template.
#[derive(Debug, Clone)]
pub struct FlowTemplate {
    /// As written.
    pub source: String,
    /// The compiled template, or its error.
    pub compiled: Result<Interpolation, BadTemplate>,
}

/// A boolean expression.
#[derive(Debug, Clone)]
pub struct FlowCondition {
    /// As written.
    pub source: String,
    /// The compiled expression, or its error.
    pub compiled: Result<Expr, BadExpr>,
}

/// An expression that computes a value.
#[derive(Debug, Clone)]
pub struct FlowFormula(pub FlowCondition);

/// A JSON value whose strings are templates.
#[derive(Debug, Clone)]
pub struct ValueTemplate {
    /// As written.
    pub source: Value,
    /// The compiled value, or the location and error of an invalid template.
    pub compiled: Result<JsonTemplate, (String, BadTemplate)>,
}

/// A text with variants, optionally by locale or channel.
#[derive(Debug, Clone, Default)]
pub struct LocalizedText {
    /// Keys (locale, `channel:NAME` or `default`) with their variants; a plain text has the key `default`.
    pub variants_by_key: Vec<(String, Vec<FlowTemplate>)>,
}

impl LocalizedText {
    /// Returns the variants of the first match: the channel, the locale, its language, the default locale, `default`.
    pub fn variants(&self, channel: &str, locale: &str, default_locale: &str) -> &[FlowTemplate] {
        let find = |matches: &dyn Fn(&str) -> bool| {
            self.variants_by_key.iter().find(|(key, _)| matches(key)).map(|(_, variants)| variants.as_slice())
        };
        let language = |locale: &str| locale.split(['-', '_']).next().unwrap_or_default().to_ascii_lowercase();
        find(&|key| key.strip_prefix("channel:") == Some(channel))
            .or_else(|| find(&|key| key.eq_ignore_ascii_case(locale)))
            .or_else(|| find(&|key| key.eq_ignore_ascii_case(&language(locale))))
            .or_else(|| find(&|key| key.eq_ignore_ascii_case(default_locale)))
            .or_else(|| find(&|key| key == "default"))
            .unwrap_or_default()
    }

    /// Returns the variants of the first match: the channel, the locale, its language, `default`.
    pub fn variants_of_locale(&self, channel: &str, locale: &str) -> &[FlowTemplate] {
        self.variants(channel, locale, "default")
    }

    /// Iterates over all its templates.
    pub fn templates(&self) -> impl Iterator<Item = &FlowTemplate> {
        self.variants_by_key.iter().flat_map(|it| &it.1)
    }

    /// Whether all its variants are blank.
    pub fn is_blank(&self) -> bool {
        self.templates().all(|template| template.source.trim().is_empty())
    }
}

impl Default for FlowTemplate {
    fn default() -> Self {
        FlowTemplate::from(String::new())
    }
}

impl Default for ValueTemplate {
    fn default() -> Self {
        ValueTemplate::from(Value::Null)
    }
}

impl From<String> for FlowTemplate {
    fn from(source: String) -> Self {
        FlowTemplate { compiled: Interpolation::parse(&source), source }
    }
}

impl From<&str> for FlowCondition {
    fn from(source: &str) -> Self {
        FlowCondition { compiled: Expr::parse(source), source: source.to_owned() }
    }
}

impl From<&str> for FlowFormula {
    fn from(source: &str) -> Self {
        FlowFormula(FlowCondition { compiled: Expr::parse_value(source), source: source.to_owned() })
    }
}

impl From<Value> for ValueTemplate {
    fn from(source: Value) -> Self {
        ValueTemplate { compiled: JsonTemplate::parse(&source), source }
    }
}

impl From<&Value> for LocalizedText {
    fn from(value: &Value) -> Self {
        let variants = |value: &Value| {
            let texts = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
            texts.iter().filter_map(|text| Some(FlowTemplate::from(text.as_str()?.to_owned()))).collect::<Vec<_>>()
        };
        match value.as_object() {
            Some(members) => LocalizedText { variants_by_key: members.iter().map(|(key, value)| (key.clone(), variants(value))).collect() },
            None => LocalizedText { variants_by_key: vec![("default".to_owned(), variants(value))] },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_text_is_looked_up_by_channel_then_locale_then_language() {
        let text = LocalizedText::from(&json!({"default": "d", "de": "de", "de-AT": ["at1", "at2"], "channel:sms": "sms", "fr-FR": "fr"}));
        let first = |channel: &str, locale: &str, own: &str| text.variants(channel, locale, own)[0].source.clone();
        assert_eq!(first("sms", "de-AT", "en"), "sms");
        assert_eq!(first("web", "de-at", "en"), "at1");
        assert_eq!(first("web", "de-CH", "en"), "de");
        assert_eq!(first("web", "it", "fr-FR"), "fr");
        assert_eq!(first("web", "it", "en"), "d");
        assert_eq!(text.variants("web", "de-AT", "en").len(), 2);
    }
}
