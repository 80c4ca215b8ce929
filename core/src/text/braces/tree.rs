//! JSON values whose texts are templates.

use serde_json::{Map, Value};

use super::render::{form_encoded, printed};
use super::{Braces, Place, Rendered, Sealed, Wrong};
use crate::text::names::Names;

/// A JSON value whose texts are templates.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree(Node);

#[derive(Debug, Clone, PartialEq)]
enum Node {
    Plain(Value),
    Text(Braces),
    List(Vec<Node>),
    Object(Vec<(String, Node)>),
}

impl Tree {
    /// Compiles the texts of a JSON value; member names are not templates.
    ///
    /// # Errors
    /// The first invalid template, with the JSON pointer to it.
    pub fn parse(source: &Value) -> Result<Tree, (String, Wrong)> {
        node(source, &mut String::new()).map(Tree)
    }

    /// Renders the value.
    pub fn value(&self, names: &dyn Names) -> Rendered<Value> {
        let mut undefined = Vec::new();
        let value = self.0.value(names, &mut undefined);
        Rendered { said: value, undefined }
    }

    /// Renders the value as JSON text with markers for secrets. The host must JSON-escape the secrets that it inserts.
    pub fn sealed(&self, names: &dyn Names) -> Rendered<Sealed> {
        let mut rendered = Rendered::default();
        self.0.write(names, &mut rendered);
        rendered
    }

    /// Renders the members of an object, or a text, as a form body with markers for secrets. The host must percent-encode the secrets
    /// that it inserts.
    pub fn form(&self, names: &dyn Names) -> Rendered<Sealed> {
        let mut rendered = Rendered::<Sealed>::default();
        if let Node::Text(template) = &self.0 {
            // The body is written out: only the values of its placeholders are encoded.
            return template.sealed(names, Place::Url);
        }
        let Node::Object(members) = &self.0 else { return rendered };
        for (name, member) in members {
            let value = member.sealed(names, Place::Form);
            add(&mut rendered.undefined, value.undefined);
            let body = &mut rendered.said;
            if !body.text.is_empty() {
                body.text.push('&');
            }
            body.text.push_str(&form_encoded(name));
            body.text.push('=');
            let from = body.text.len();
            body.secrets.extend(value.said.secrets.into_iter().map(|(at, secret)| (from + at, secret)));
            body.text.push_str(&value.said.text);
        }
        rendered
    }

    /// Renders a text with markers for secrets. Returns `None` for other values and for a single placeholder, whose value has a type.
    pub fn text(&self, names: &dyn Names) -> Option<Rendered<Sealed>> {
        match &self.0 {
            Node::Text(template) if !template.is_hole() => Some(template.sealed(names, Place::Text)),
            Node::Plain(Value::String(_)) => Some(self.0.sealed(names, Place::Text)),
            Node::Plain(_) | Node::Text(_) | Node::List(_) | Node::Object(_) => None,
        }
    }

    /// Renders the members of an object as texts with markers for secrets.
    pub fn members(&self, names: &dyn Names) -> Rendered<Vec<(&str, Sealed)>> {
        let mut rendered = Rendered::<Vec<(&str, Sealed)>>::default();
        let Node::Object(members) = &self.0 else { return rendered };
        for (name, member) in members {
            let value = member.sealed(names, Place::Text);
            add(&mut rendered.undefined, value.undefined);
            rendered.said.push((name, value.said));
        }
        rendered
    }

    /// Returns the templates that have placeholders or secrets.
    pub fn templates(&self) -> Vec<&Braces> {
        let mut found = Vec::new();
        self.0.templates(&mut found);
        found
    }
}

fn node(source: &Value, pointer: &mut String) -> Result<Node, (String, Wrong)> {
    let length = pointer.len();
    let node = match source {
        Value::String(text) => {
            let template = Braces::parse(text).map_err(|error| (pointer.clone(), error))?;
            match template.literal() {
                Some(text) => Node::Plain(Value::from(text)),
                None => Node::Text(template),
            }
        }
        Value::Array(items) => {
            let mut list = Vec::new();
            for (at, item) in items.iter().enumerate() {
                pointer.push('/');
                pointer.push_str(&at.to_string());
                list.push(node(item, pointer)?);
                pointer.truncate(length);
            }
            Node::List(list)
        }
        Value::Object(members) => {
            let mut object = Vec::new();
            for (name, member) in members {
                pointer.push('/');
                pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
                object.push((name.clone(), node(member, pointer)?));
                pointer.truncate(length);
            }
            Node::Object(object)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Node::Plain(source.clone()),
    };
    Ok(node)
}

impl Node {
    fn value(&self, names: &dyn Names, undefined: &mut Vec<String>) -> Value {
        match self {
            Node::Plain(value) => value.clone(),
            Node::Text(template) => {
                let rendered = template.value(names);
                add(undefined, rendered.undefined);
                rendered.said
            }
            Node::List(items) => Value::Array(items.iter().map(|it| it.value(names, undefined)).collect()),
            Node::Object(members) => {
                let rendered = members.iter().map(|(name, it)| (name.clone(), it.value(names, undefined)));
                Value::Object(rendered.collect::<Map<_, _>>())
            }
        }
    }

    /// Renders the node as text with markers for secrets.
    fn sealed(&self, names: &dyn Names, place: Place) -> Rendered<Sealed> {
        if let Node::Text(template) = self {
            return template.sealed(names, place);
        }
        let mut undefined = Vec::new();
        let text = printed(&self.value(names, &mut undefined));
        let text = if place == Place::Form { form_encoded(&text) } else { text };
        Rendered { said: Sealed { text, secrets: Vec::new() }, undefined }
    }

    fn write(&self, names: &dyn Names, rendered: &mut Rendered<Sealed>) {
        match self {
            Node::Plain(value) => rendered.said.text.push_str(&value.to_string()),
            Node::Text(template) if template.secrets().is_empty() => {
                let value = template.value(names);
                add(&mut rendered.undefined, value.undefined);
                rendered.said.text.push_str(&value.said.to_string());
            }
            Node::Text(template) => {
                let text = template.sealed(names, Place::Text);
                add(&mut rendered.undefined, text.undefined);
                quote(text.said, &mut rendered.said);
            }
            Node::List(items) => {
                rendered.said.text.push('[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        rendered.said.text.push(',');
                    }
                    item.write(names, rendered);
                }
                rendered.said.text.push(']');
            }
            Node::Object(members) => {
                rendered.said.text.push('{');
                for (at, (name, member)) in members.iter().enumerate() {
                    if at > 0 {
                        rendered.said.text.push(',');
                    }
                    rendered.said.text.push_str(&Value::from(name.as_str()).to_string());
                    rendered.said.text.push(':');
                    member.write(names, rendered);
                }
                rendered.said.text.push('}');
            }
        }
    }

    fn templates<'t>(&'t self, found: &mut Vec<&'t Braces>) {
        match self {
            Node::Plain(_) => {}
            Node::Text(template) => found.push(template),
            Node::List(items) => items.iter().for_each(|it| it.templates(found)),
            Node::Object(members) => members.iter().for_each(|it| it.1.templates(found)),
        }
    }
}

/// Appends a text as a JSON string and records the new offsets of its markers, which need no escaping.
fn quote(text: Sealed, out: &mut Sealed) {
    out.text.push('"');
    let mut read = 0;
    for (at, name) in text.secrets {
        escape(text.text.get(read..at), &mut out.text);
        out.secrets.push((out.text.len(), name));
        read = at;
    }
    escape(text.text.get(read..), &mut out.text);
    out.text.push('"');
}

fn escape(text: Option<&str>, out: &mut String) {
    let quoted = Value::from(text.unwrap_or_default()).to_string();
    out.push_str(quoted.get(1..quoted.len() - 1).unwrap_or_default());
}

fn add(all: &mut Vec<String>, more: Vec<String>) {
    for path in more {
        if !all.contains(&path) {
            all.push(path);
        }
    }
}
