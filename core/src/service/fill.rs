//! Fills the templates of a service call; values are encoded and cannot change the structure of the request.

use std::cell::OnceCell;

use serde_json::Value;

use crate::config::Args;
use crate::json::path::JsonPath;
use crate::session::Session;
use crate::text::template::Template;
use crate::turn::Map;

/// The scope of templates: their own values and the session.
pub struct Filled<'f> {
    /// The session.
    pub session: &'f Session,
    /// Values that override those of the session.
    pub values: &'f Map,
}

impl Filled<'_> {
    /// Renders a text.
    pub fn text(&self, template: &Template) -> String {
        self.session.render(template, || self.values.clone()).text
    }

    /// Renders arguments: texts are templates, other values are read from the scope.
    pub fn args(&self, args: &Args) -> Map {
        let document = OnceCell::new();
        let take = |it: &JsonPath| it.value(document.get_or_init(|| self.named()));
        args.render(&|it| self.text(it), &take)
    }

    /// The whole scope as one document.
    pub fn named(&self) -> Value {
        let mut document = self.session.context.clone();
        document.extend(self.session.safe_params());
        document.extend(self.session.view());
        document.insert("inputParams".to_owned(), Value::Object(self.session.safe_params()));
        document.extend(self.values.clone());
        Value::Object(document)
    }
}

/// Renders a URL path. A part that is blank or a dot segment is an error.
pub(super) fn path(parts: &[Template], filled: &Filled<'_>) -> Result<String, String> {
    let mut path = String::new();
    for part in parts {
        path.push('/');
        match part.literal() {
            Some(text) => path.push_str(text),
            None => {
                let text = filled.text(part);
                if text.trim().is_empty() || [".", ".."].contains(&text.trim()) {
                    return Err(format!("the path of the address has no value for '{}'", part.source()));
                }
                encode(&text, &mut path);
            }
        }
    }
    Ok(path)
}

/// Encodes a query string with its question mark; empty without pairs.
pub(super) fn query(pairs: &[(String, String)]) -> String {
    let mut query = String::new();
    for (name, value) in pairs {
        query.push(if query.is_empty() { '?' } else { '&' });
        form(name, &mut query);
        query.push('=');
        form(value, &mut query);
    }
    query
}

/// Encodes as HTML forms do: a space becomes a plus.
fn form(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(' ') {
        encode(before, out);
        out.push('+');
        rest = after;
    }
    encode(rest, out);
}

fn encode(text: &str, out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let digit = |it: u8| DIGITS.get(usize::from(it)).map_or('0', |it| char::from(*it));
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.extend(['%', digit(byte >> 4), digit(byte & 15)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_stays_a_value() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(query(&[pair("id", "PX 77&x"), pair("ü", "a=b#c")]), "?id=PX+77%26x&%C3%BC=a%3Db%23c");
        assert_eq!(query(&[]), "");
    }
}
