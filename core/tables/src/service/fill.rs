//! Fills the templates of a service call; values are encoded and cannot change the structure of the request.

use std::cell::OnceCell;

use convengine_config::ArgsTemplate;
use convengine_text::json::path::JsonPath;
use convengine_text::template::Template;
use convengine_text::url::{encode_form, is_unsafe_segment, percent_encode};
use convengine_turn::Map;
use serde_json::Value;

use crate::session::Session;

/// The scope of templates: their own values and the session.
pub struct TemplateScope<'f> {
    /// The session.
    pub session: &'f Session,
    /// Values that override those of the session.
    pub values: &'f Map,
}

impl TemplateScope<'_> {
    /// Renders a text.
    pub fn render_text(&self, template: &Template) -> String {
        self.session.render(template, || self.values.clone()).text
    }

    /// Renders arguments: texts are templates, other values are read from the scope.
    pub fn render_args(&self, args: &ArgsTemplate) -> Map {
        let document = OnceCell::new();
        let take = |path: &JsonPath| path.value(document.get_or_init(|| self.to_document()));
        args.render(&|it| self.render_text(it), &take)
    }

    /// The whole scope as one document.
    pub fn to_document(&self) -> Value {
        let mut document = self.session.context.clone();
        document.extend(self.session.safe_params());
        document.extend(self.session.view());
        document.insert("inputParams".to_owned(), Value::Object(self.session.safe_params()));
        document.extend(self.values.clone());
        Value::Object(document)
    }
}

/// Renders a URL path. A part that is blank or a dot segment is an error.
pub(super) fn render_path(parts: &[Template], filled: &TemplateScope<'_>) -> Result<String, String> {
    let mut path = String::new();
    for part in parts {
        path.push('/');
        match part.literal() {
            Some(text) => path.push_str(text),
            None => {
                let text = filled.render_text(part);
                if is_unsafe_segment(&text) {
                    return Err(format!("the path of the address has no value for '{}'", part.source()));
                }
                path.push_str(&percent_encode(&text));
            }
        }
    }
    Ok(path)
}

/// Encodes a query string with its question mark; empty without pairs.
pub(super) fn encode_query(pairs: &[(String, String)]) -> String {
    let mut query = String::new();
    for (name, value) in pairs {
        query.push(if query.is_empty() { '?' } else { '&' });
        query.push_str(&encode_form(name));
        query.push('=');
        query.push_str(&encode_form(value));
    }
    query
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_percent_encoded() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(encode_query(&[pair("id", "PX 77&x"), pair("ü", "a=b#c")]), "?id=PX+77%26x&%C3%BC=a%3Db%23c");
        assert_eq!(encode_query(&[]), "");
    }
}
