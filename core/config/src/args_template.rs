//! Arguments as a template: a JSON object whose strings contain placeholders.
//!
//! `"to {{context.city}}"` fills a string; `{{context.amount}}` outside a string keeps the type of the value. Values are inserted
//! into the parsed object, so no value can add or change another argument.

use convengine_text::json::path::JsonPath;
use convengine_text::json::{JsonTree, into_members};
use convengine_text::template::Template;
use convengine_turn::Map;
use serde_json::Value;

/// Prefixes the path of a value that keeps its type.
const PATH_MARKER: char = '\u{1}';

/// Delimiters of placeholders outside a string.
const PLACEHOLDERS: [(&str, &str); 5] = [("{{", "}}"), ("[[${", "}]]"), ("[(${", "})]"), ("[${", "}]"), ("#{", "}")];

/// Compiled arguments.
#[derive(Debug, Clone, Default)]
pub struct ArgsTemplate(Option<JsonTree<Placeholder>>);

/// A string of arguments.
#[derive(Debug, Clone)]
enum Placeholder {
    Text(Template),
    Path(JsonPath),
}

impl ArgsTemplate {
    /// Compiles arguments; a blank source has none.
    ///
    /// # Errors
    /// Why the source is not a JSON object, or the invalid template in it.
    pub fn compile(source: &str) -> Result<ArgsTemplate, String> {
        if source.trim().is_empty() {
            return Ok(ArgsTemplate::default());
        }
        let value: Value = serde_json::from_str(&quote_placeholders(source)?).map_err(|error| format!("is not a JSON object: {error}"))?;
        if !value.is_object() {
            return Err("is not a JSON object".to_owned());
        }
        JsonTree::compile(&value, &compile_text).map(|tree| ArgsTemplate(Some(tree))).map_err(|(_, reason)| reason)
    }

    /// Returns the arguments, with strings rendered by `fill` and typed values looked up by `take`.
    pub fn render(&self, fill: &dyn Fn(&Template) -> String, take: &dyn Fn(&JsonPath) -> Option<Value>) -> Map {
        let mut render = |placeholder: &Placeholder| match placeholder {
            Placeholder::Text(template) => Value::String(fill(template)),
            Placeholder::Path(path) => take(path).unwrap_or_default(),
        };
        self.0.as_ref().map(|tree| into_members(tree.render(&mut render))).unwrap_or_default()
    }
}

/// Turns each placeholder outside a string into a marked string, so that the whole is JSON.
fn quote_placeholders(source: &str) -> Result<String, String> {
    let mut out = String::with_capacity(source.len());
    let (mut rest, mut in_text) = (source, false);
    while let Some(c) = rest.chars().next() {
        let placeholder = PLACEHOLDERS.iter().find(|(open, _)| !in_text && rest.starts_with(open));
        if let Some((open, close)) = placeholder {
            let (inner, after) = rest.split_at(open.len()).1.split_once(close).ok_or_else(|| format!("has '{open}' without '{close}'"))?;
            out.push_str(&Value::from(format!("{PATH_MARKER}{}", inner.trim())).to_string());
            rest = after;
            continue;
        }
        // In a string, the character after a backslash never ends it.
        let taken = if in_text && c == '\\' { rest.chars().take(2).map(char::len_utf8).sum() } else { c.len_utf8() };
        in_text ^= c == '"';
        let (head, tail) = rest.split_at(taken);
        out.push_str(head);
        rest = tail;
    }
    Ok(out)
}

fn compile_text(text: &str) -> Result<JsonTree<Placeholder>, String> {
    let compiled = match text.strip_prefix(PATH_MARKER) {
        Some(path) => Placeholder::Path(JsonPath::compile(path)?),
        None => Placeholder::Text(Template::compile(text)?),
    };
    Ok(JsonTree::Leaf(compiled))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn render(source: &str) -> Value {
        let document = json!({"city": "Li\"on\", \"admin\": true, \"x\": \"", "amount": 12.5, "list": [1, {"a": null}]});
        let args = ArgsTemplate::compile(source).unwrap();
        let fill = |template: &Template| template.render(|name| document.get(name)).text;
        Value::Object(args.render(&fill, &|it| it.first(&document)))
    }

    #[test]
    fn values_fill_only_their_own_placeholder() {
        let expected =
            json!({"to": "in Li\"on\", \"admin\": true, \"x\": \"!", "n": 12.5, "all": [[1, {"a": null}], "12.5"], "gone": null});
        assert_eq!(render(r#"{"to": "in {{city}}!", "n": {{ amount }}, "all": [{{list}}, "{{amount}}"], "gone": [[${nope}]]}"#), expected);
        assert_eq!(render(r#"{"city": {{city}}, "deep": {"\"{": [[1]]}}"#)["deep"], json!({"\"{": [[1]]}));
        assert_eq!(render("  "), json!({}));
    }

    #[test]
    fn anything_but_an_object_is_rejected() {
        for (source, expected) in [
            ("[1]", "is not a JSON object"),
            ("{\"a\": {{b}", "without '}}'"),
            ("{a}", "is not a JSON object"),
            ("{\"a\": {{b c(}}}", "at character"),
        ] {
            let error = ArgsTemplate::compile(source).unwrap_err();
            assert!(error.contains(expected), "{source}: {error}");
        }
    }
}
