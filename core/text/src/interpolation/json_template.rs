//! JSON values whose texts are templates.

use serde_json::{Map, Value};

use super::error::InterpolationError;
use super::output::{Interpolated, OutputContext, TextWithSecrets};
use super::template::Interpolation;
use crate::names::NameResolver;
use crate::url::encode_form;
use crate::value::EXPRESSION;

/// A JSON value whose texts are templates.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonTemplate(JsonNode);

#[derive(Debug, Clone, PartialEq)]
enum JsonNode {
    Plain(Value),
    Text(Interpolation),
    List(Vec<JsonNode>),
    Object(Vec<(String, JsonNode)>),
}

impl JsonTemplate {
    /// Compiles the texts of a JSON value; member names are not templates.
    ///
    /// # Errors
    /// The first invalid template, with the JSON pointer to it.
    pub fn parse(source: &Value) -> Result<JsonTemplate, (String, InterpolationError)> {
        parse_node(source, &mut String::new()).map(JsonTemplate)
    }

    /// Renders the value.
    pub fn render(&self, names: &dyn NameResolver) -> Interpolated<Value> {
        let mut undefined = Vec::new();
        let value = self.0.render(names, &mut undefined);
        Interpolated { output: value, undefined }
    }

    /// Renders the value as JSON text with markers for secrets. The host must JSON-escape the secrets that it inserts.
    pub fn render_with_secrets(&self, names: &dyn NameResolver) -> Interpolated<TextWithSecrets> {
        let mut rendered = Interpolated::default();
        self.0.write_json(names, &mut rendered);
        rendered
    }

    /// Renders the members of an object, or a text, as a form body with markers for secrets. The host must percent-encode the secrets
    /// that it inserts.
    pub fn render_form(&self, names: &dyn NameResolver) -> Interpolated<TextWithSecrets> {
        let mut rendered = Interpolated::<TextWithSecrets>::default();
        if let JsonNode::Text(template) = &self.0 {
            // The body is written out: only the values of its placeholders are encoded.
            return template.render_with_secrets(names, OutputContext::Url);
        }
        let JsonNode::Object(members) = &self.0 else { return rendered };
        for (name, member) in members {
            let value = member.render_with_secrets(names, OutputContext::Form);
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
            JsonNode::Text(template) if !template.is_single_placeholder() => Some(template.render_with_secrets(names, OutputContext::Text)),
            JsonNode::Plain(Value::String(_)) => Some(self.0.render_with_secrets(names, OutputContext::Text)),
            JsonNode::Plain(_) | JsonNode::Text(_) | JsonNode::List(_) | JsonNode::Object(_) => None,
        }
    }

    /// Renders the members of an object as texts with markers for secrets.
    pub fn render_members(&self, names: &dyn NameResolver) -> Interpolated<Vec<(&str, TextWithSecrets)>> {
        let mut rendered = Interpolated::<Vec<(&str, TextWithSecrets)>>::default();
        let JsonNode::Object(members) = &self.0 else { return rendered };
        for (name, member) in members {
            let value = member.render_with_secrets(names, OutputContext::Text);
            merge_paths(&mut rendered.undefined, value.undefined);
            rendered.output.push((name, value.output));
        }
        rendered
    }

    /// Returns the templates that have placeholders or secrets.
    pub fn interpolations(&self) -> Vec<&Interpolation> {
        let mut found = Vec::new();
        self.0.collect_interpolations(&mut found);
        found
    }
}

fn parse_node(source: &Value, pointer: &mut String) -> Result<JsonNode, (String, InterpolationError)> {
    let length = pointer.len();
    let node = match source {
        Value::String(text) => {
            let template = Interpolation::parse(text).map_err(|error| (pointer.clone(), error))?;
            match template.literal() {
                Some(text) => JsonNode::Plain(Value::from(text)),
                None => JsonNode::Text(template),
            }
        }
        Value::Array(items) => {
            let mut list = Vec::new();
            for (at, item) in items.iter().enumerate() {
                pointer.push('/');
                pointer.push_str(&at.to_string());
                list.push(parse_node(item, pointer)?);
                pointer.truncate(length);
            }
            JsonNode::List(list)
        }
        Value::Object(members) => {
            let mut object = Vec::new();
            for (name, member) in members {
                pointer.push('/');
                pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
                object.push((name.clone(), parse_node(member, pointer)?));
                pointer.truncate(length);
            }
            JsonNode::Object(object)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => JsonNode::Plain(source.clone()),
    };
    Ok(node)
}

impl JsonNode {
    fn render(&self, names: &dyn NameResolver, undefined: &mut Vec<String>) -> Value {
        match self {
            JsonNode::Plain(value) => value.clone(),
            JsonNode::Text(template) => {
                let rendered = template.render_value(names);
                merge_paths(undefined, rendered.undefined);
                rendered.output
            }
            JsonNode::List(items) => Value::Array(items.iter().map(|it| it.render(names, undefined)).collect()),
            JsonNode::Object(members) => {
                let rendered = members.iter().map(|(name, it)| (name.clone(), it.render(names, undefined)));
                Value::Object(rendered.collect::<Map<_, _>>())
            }
        }
    }

    /// Renders the node as text with markers for secrets.
    fn render_with_secrets(&self, names: &dyn NameResolver, place: OutputContext) -> Interpolated<TextWithSecrets> {
        if let JsonNode::Text(template) = self {
            return template.render_with_secrets(names, place);
        }
        let mut undefined = Vec::new();
        let text = EXPRESSION.print(&self.render(names, &mut undefined)).into_owned();
        let text = if place == OutputContext::Form { encode_form(&text) } else { text };
        Interpolated { output: TextWithSecrets { text, secrets: Vec::new() }, undefined }
    }

    fn write_json(&self, names: &dyn NameResolver, rendered: &mut Interpolated<TextWithSecrets>) {
        match self {
            JsonNode::Plain(value) => rendered.output.text.push_str(&value.to_string()),
            JsonNode::Text(template) if template.secret_names().is_empty() => {
                let value = template.render_value(names);
                merge_paths(&mut rendered.undefined, value.undefined);
                rendered.output.text.push_str(&value.output.to_string());
            }
            JsonNode::Text(template) => {
                let text = template.render_with_secrets(names, OutputContext::Text);
                merge_paths(&mut rendered.undefined, text.undefined);
                push_quoted(text.output, &mut rendered.output);
            }
            JsonNode::List(items) => {
                rendered.output.text.push('[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        rendered.output.text.push(',');
                    }
                    item.write_json(names, rendered);
                }
                rendered.output.text.push(']');
            }
            JsonNode::Object(members) => {
                rendered.output.text.push('{');
                for (at, (name, member)) in members.iter().enumerate() {
                    if at > 0 {
                        rendered.output.text.push(',');
                    }
                    rendered.output.text.push_str(&Value::from(name.as_str()).to_string());
                    rendered.output.text.push(':');
                    member.write_json(names, rendered);
                }
                rendered.output.text.push('}');
            }
        }
    }

    fn collect_interpolations<'t>(&'t self, found: &mut Vec<&'t Interpolation>) {
        match self {
            JsonNode::Plain(_) => {}
            JsonNode::Text(template) => found.push(template),
            JsonNode::List(items) => items.iter().for_each(|it| it.collect_interpolations(found)),
            JsonNode::Object(members) => members.iter().for_each(|it| it.1.collect_interpolations(found)),
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
