//! JSON values whose texts are templates.

use serde_json::Value;

use super::error::InterpolationError;
use super::output::{Interpolated, OutputContext, TextWithSecrets};
use super::template::Interpolation;
use crate::json::JsonTree;
use crate::names::NameResolver;
use crate::url::encode_form;
use crate::value::EXPRESSION;

/// A JSON value whose texts are templates.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonTemplate(JsonTree<Interpolation>);

impl JsonTemplate {
    /// Compiles the texts of a JSON value; member names are not templates.
    ///
    /// # Errors
    /// The first invalid template, with the JSON pointer to it.
    pub fn parse(source: &Value) -> Result<JsonTemplate, (String, InterpolationError)> {
        let compile = |text: &str| {
            let template = Interpolation::parse(text)?;
            Ok::<_, InterpolationError>(match template.literal() {
                Some(text) => JsonTree::Plain(Value::from(text)),
                None => JsonTree::Leaf(template),
            })
        };
        JsonTree::compile(source, &compile).map(JsonTemplate)
    }

    /// Renders the value.
    pub fn render(&self, names: &dyn NameResolver) -> Interpolated<Value> {
        render(&self.0, names)
    }

    /// Renders the value as JSON text with markers for secrets. The host must JSON-escape the secrets that it inserts.
    pub fn render_with_secrets(&self, names: &dyn NameResolver) -> Interpolated<TextWithSecrets> {
        let mut rendered = Interpolated::default();
        write_json(&self.0, names, &mut rendered);
        rendered
    }

    /// Renders the members of an object, or a text, as a form body with markers for secrets. The host must percent-encode the secrets
    /// that it inserts.
    pub fn render_form(&self, names: &dyn NameResolver) -> Interpolated<TextWithSecrets> {
        let mut rendered = Interpolated::<TextWithSecrets>::default();
        if let JsonTree::Leaf(template) = &self.0 {
            // The body is written out: only the values of its placeholders are encoded.
            return template.render_with_secrets(names, OutputContext::Url);
        }
        let JsonTree::Object(members) = &self.0 else { return rendered };
        for (name, member) in members {
            let value = render_with_secrets(member, names, OutputContext::Form);
            merge_paths(&mut rendered.undefined, value.undefined);
            let body = &mut rendered.output;
            if !body.text.is_empty() {
                body.text.push('&');
            }
            body.text.push_str(&encode_form(name));
            body.text.push('=');
            let from = body.text.len();
            body.secrets.extend(value.output.secrets.into_iter().map(|(at, secret)| (from + at, secret)));
            body.text.push_str(&value.output.text);
        }
        rendered
    }

    /// Renders a text with markers for secrets. Returns `None` for other values and for a single placeholder, whose value has a type.
    pub fn render_text(&self, names: &dyn NameResolver) -> Option<Interpolated<TextWithSecrets>> {
        match &self.0 {
            JsonTree::Leaf(template) if !template.is_single_placeholder() => Some(template.render_with_secrets(names, OutputContext::Text)),
            JsonTree::Plain(Value::String(_)) => Some(render_with_secrets(&self.0, names, OutputContext::Text)),
            JsonTree::Plain(_) | JsonTree::Leaf(_) | JsonTree::List(_) | JsonTree::Object(_) => None,
        }
    }

    /// Renders the members of an object as texts with markers for secrets.
    pub fn render_members(&self, names: &dyn NameResolver) -> Interpolated<Vec<(&str, TextWithSecrets)>> {
        let mut rendered = Interpolated::<Vec<(&str, TextWithSecrets)>>::default();
        let JsonTree::Object(members) = &self.0 else { return rendered };
        for (name, member) in members {
            let value = render_with_secrets(member, names, OutputContext::Text);
            merge_paths(&mut rendered.undefined, value.undefined);
            rendered.output.push((name, value.output));
        }
        rendered
    }

    /// Returns the templates that have placeholders or secrets.
    pub fn interpolations(&self) -> Vec<&Interpolation> {
        self.0.leaves()
    }
}

fn render(tree: &JsonTree<Interpolation>, names: &dyn NameResolver) -> Interpolated<Value> {
    let mut undefined = Vec::new();
    let output = tree.render(&mut |template| {
        let rendered = template.render_value(names);
        merge_paths(&mut undefined, rendered.undefined);
        rendered.output
    });
    Interpolated { output, undefined }
}

/// Renders a tree as text with markers for secrets.
fn render_with_secrets(tree: &JsonTree<Interpolation>, names: &dyn NameResolver, place: OutputContext) -> Interpolated<TextWithSecrets> {
    if let JsonTree::Leaf(template) = tree {
        return template.render_with_secrets(names, place);
    }
    let Interpolated { output, undefined } = render(tree, names);
    let text = EXPRESSION.print(&output);
    let text = if place == OutputContext::Form { encode_form(&text) } else { text.into_owned() };
    Interpolated { output: TextWithSecrets { text, secrets: Vec::new() }, undefined }
}

fn write_json(tree: &JsonTree<Interpolation>, names: &dyn NameResolver, rendered: &mut Interpolated<TextWithSecrets>) {
    match tree {
        JsonTree::Plain(value) => rendered.output.text.push_str(&value.to_string()),
        JsonTree::Leaf(template) if template.secret_names().is_empty() => {
            let value = template.render_value(names);
            merge_paths(&mut rendered.undefined, value.undefined);
            rendered.output.text.push_str(&value.output.to_string());
        }
        JsonTree::Leaf(template) => {
            let text = template.render_with_secrets(names, OutputContext::Text);
            merge_paths(&mut rendered.undefined, text.undefined);
            push_quoted(text.output, &mut rendered.output);
        }
        JsonTree::List(items) => {
            rendered.output.text.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    rendered.output.text.push(',');
                }
                write_json(item, names, rendered);
            }
            rendered.output.text.push(']');
        }
        JsonTree::Object(members) => {
            rendered.output.text.push('{');
            for (at, (name, member)) in members.iter().enumerate() {
                if at > 0 {
                    rendered.output.text.push(',');
                }
                rendered.output.text.push_str(&Value::from(name.as_str()).to_string());
                rendered.output.text.push(':');
                write_json(member, names, rendered);
            }
            rendered.output.text.push('}');
        }
    }
}

/// Appends a text as a JSON string and records the new offsets of its markers, which need no escaping.
fn push_quoted(text: TextWithSecrets, out: &mut TextWithSecrets) {
    out.text.push('"');
    let mut read = 0;
    for (at, name) in text.secrets {
        push_escaped(text.text.get(read..at), &mut out.text);
        out.secrets.push((out.text.len(), name));
        read = at;
    }
    push_escaped(text.text.get(read..), &mut out.text);
    out.text.push('"');
}

fn push_escaped(text: Option<&str>, out: &mut String) {
    let quoted = Value::from(text.unwrap_or_default()).to_string();
    out.push_str(quoted.get(1..quoted.len() - 1).unwrap_or_default());
}

fn merge_paths(all: &mut Vec<String>, more: Vec<String>) {
    for path in more {
        if !all.contains(&path) {
            all.push(path);
        }
    }
}
