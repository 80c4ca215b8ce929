//! Texts, templates and conditions of a document. One that does not parse is kept as it is written: drafts may hold it.

use serde_json::Value;

use crate::text::braces::{Braces, Tree, Wrong as BadTemplate};
use crate::text::expr::{Expr, Wrong as BadExpr};

/// A template.
#[derive(Debug, Clone)]
pub struct Template {
    /// As it is written.
    pub source: String,
    /// Compiled, or what is wrong with it.
    pub compiled: Result<Braces, BadTemplate>,
}

/// An expression.
#[derive(Debug, Clone)]
pub struct Condition {
    /// As it is written.
    pub source: String,
    /// Compiled, or what is wrong with it.
    pub compiled: Result<Expr, BadExpr>,
}

/// An expression that makes a value.
#[derive(Debug, Clone)]
pub struct Formula(pub Condition);

/// A JSON value whose texts are templates.
#[derive(Debug, Clone)]
pub struct Filling {
    /// As it is written.
    pub source: Value,
    /// Compiled, or where something is wrong with it and what.
    pub compiled: Result<Tree, (String, BadTemplate)>,
}

/// A text in variants, for every locale and channel or for each its own.
#[derive(Debug, Clone, Default)]
pub struct LocalizedText {
    /// The keys with their variants; a plain text stands under `default`.
    pub of: Vec<(String, Vec<Template>)>,
}

impl LocalizedText {
    /// The variants for a channel and a locale: those of the channel, the locale, its language, the document's own locale, the default.
    pub fn variants(&self, channel: &str, locale: &str, default_locale: &str) -> &[Template] {
        let find = |wanted: &dyn Fn(&str) -> bool| self.of.iter().find(|it| wanted(&it.0)).map(|it| it.1.as_slice());
        let language = |it: &str| it.split(['-', '_']).next().unwrap_or_default().to_ascii_lowercase();
        find(&|it| it.strip_prefix("channel:") == Some(channel))
            .or_else(|| find(&|it| it.eq_ignore_ascii_case(locale)))
            .or_else(|| find(&|it| it.eq_ignore_ascii_case(&language(locale))))
            .or_else(|| find(&|it| it.eq_ignore_ascii_case(default_locale)))
            .or_else(|| find(&|it| it == "default"))
            .unwrap_or_default()
    }

    /// All templates in it.
    pub fn templates(&self) -> impl Iterator<Item = &Template> {
        self.of.iter().flat_map(|it| &it.1)
    }

    /// Whether nothing would be said.
    pub fn is_blank(&self) -> bool {
        self.templates().all(|it| it.source.trim().is_empty())
    }
}

impl Default for Template {
    fn default() -> Self {
        Template::from(String::new())
    }
}

impl Default for Filling {
    fn default() -> Self {
        Filling::from(Value::Null)
    }
}

impl From<String> for Template {
    fn from(source: String) -> Self {
        Template { compiled: Braces::parse(&source), source }
    }
}

impl From<&str> for Condition {
    fn from(source: &str) -> Self {
        Condition { compiled: Expr::parse(source), source: source.to_owned() }
    }
}

impl From<&str> for Formula {
    fn from(source: &str) -> Self {
        Formula(Condition { compiled: Expr::parse_value(source), source: source.to_owned() })
    }
}

impl From<Value> for Filling {
    fn from(source: Value) -> Self {
        Filling { compiled: Tree::parse(&source), source }
    }
}

impl From<&Value> for LocalizedText {
    fn from(value: &Value) -> Self {
        let variants = |value: &Value| {
            let texts = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
            texts.iter().filter_map(|it| Some(Template::from(it.as_str()?.to_owned()))).collect::<Vec<_>>()
        };
        match value.as_object() {
            Some(members) => LocalizedText { of: members.iter().map(|(key, value)| (key.clone(), variants(value))).collect() },
            None => LocalizedText { of: vec![("default".to_owned(), variants(value))] },
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
