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
    /// Compiles the texts of a value; the names of members stay as they are.
    ///
    /// # Errors
    /// What is wrong with the first that is, with the JSON pointer to it.
    pub fn parse(source: &Value) -> Result<Tree, (String, Wrong)> {
        node(source, &mut String::new()).map(Tree)
    }

    /// The value, filled.
    pub fn value(&self, names: &dyn Names) -> Rendered<Value> {
        let mut undefined = Vec::new();
        let said = self.0.value(names, &mut undefined);
        Rendered { said, undefined }
    }

    /// The JSON text of the filled value, in which secrets are named. What the host puts in their place has to be escaped as a part of
    /// a JSON text.
    pub fn sealed(&self, names: &dyn Names) -> Rendered<Sealed> {
        let mut made = Rendered::default();
        self.0.write(names, &mut made);
        made
    }

    /// The filled members of an object, or a text, as the body of a form, in which secrets are named. What the host puts in their place has to be
    /// percent-encoded.
    pub fn form(&self, names: &dyn Names) -> Rendered<Sealed> {
        let mut made = Rendered::<Sealed>::default();
        if let Node::Text(braces) = &self.0 {
            // Written out: only what fills its holes is encoded.
            return braces.sealed(names, Place::Url);
        }
        let Node::Object(members) = &self.0 else { return made };
        for (name, member) in members {
            let value = member.sealed(names, Place::Form);
            add(&mut made.undefined, value.undefined);
            let said = &mut made.said;
            if !said.text.is_empty() {
                said.text.push('&');
            }
            said.text.push_str(&form_encoded(name));
            said.text.push('=');
            let from = said.text.len();
            said.secrets.extend(value.said.secrets.into_iter().map(|(at, secret)| (from + at, secret)));
            said.text.push_str(&value.said.text);
        }
        made
    }

    /// A text, filled, in which secrets are named; nothing of another value, and of a text that is one hole alone, which has a type.
    pub fn text(&self, names: &dyn Names) -> Option<Rendered<Sealed>> {
        match &self.0 {
            Node::Text(braces) if !braces.is_hole() => Some(braces.sealed(names, Place::Text)),
            Node::Plain(Value::String(_)) => Some(self.0.sealed(names, Place::Text)),
            Node::Plain(_) | Node::Text(_) | Node::List(_) | Node::Object(_) => None,
        }
    }

    /// The filled members of an object as texts, in which secrets are named.
    pub fn members(&self, names: &dyn Names) -> Rendered<Vec<(&str, Sealed)>> {
        let mut made = Rendered::<Vec<(&str, Sealed)>>::default();
        let Node::Object(members) = &self.0 else { return made };
        for (name, member) in members {
            let value = member.sealed(names, Place::Text);
            add(&mut made.undefined, value.undefined);
            made.said.push((name, value.said));
        }
        made
    }

    /// The templates in it that have holes or name secrets.
    pub fn templates(&self) -> Vec<&Braces> {
        let mut found = Vec::new();
        self.0.templates(&mut found);
        found
    }
}

fn node(source: &Value, pointer: &mut String) -> Result<Node, (String, Wrong)> {
    let length = pointer.len();
    let made = match source {
        Value::String(text) => {
            let braces = Braces::parse(text).map_err(|wrong| (pointer.clone(), wrong))?;
            match braces.literal() {
                Some(text) => Node::Plain(Value::from(text)),
                None => Node::Text(braces),
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
    Ok(made)
}

impl Node {
    fn value(&self, names: &dyn Names, undefined: &mut Vec<String>) -> Value {
        match self {
            Node::Plain(value) => value.clone(),
            Node::Text(braces) => {
                let made = braces.value(names);
                add(undefined, made.undefined);
                made.said
            }
            Node::List(items) => Value::Array(items.iter().map(|it| it.value(names, undefined)).collect()),
            Node::Object(members) => {
                let filled = members.iter().map(|(name, it)| (name.clone(), it.value(names, undefined)));
                Value::Object(filled.collect::<Map<_, _>>())
            }
        }
    }

    /// As a text in a form, in which secrets are named.
    fn sealed(&self, names: &dyn Names, place: Place) -> Rendered<Sealed> {
        if let Node::Text(braces) = self {
            return braces.sealed(names, place);
        }
        let mut undefined = Vec::new();
        let text = printed(&self.value(names, &mut undefined));
        let text = if place == Place::Form { form_encoded(&text) } else { text };
        Rendered { said: Sealed { text, secrets: Vec::new() }, undefined }
    }

    fn write(&self, names: &dyn Names, made: &mut Rendered<Sealed>) {
        match self {
            Node::Plain(value) => made.said.text.push_str(&value.to_string()),
            Node::Text(braces) if braces.secrets().is_empty() => {
                let value = braces.value(names);
                add(&mut made.undefined, value.undefined);
                made.said.text.push_str(&value.said.to_string());
            }
            Node::Text(braces) => {
                let text = braces.sealed(names, Place::Text);
                add(&mut made.undefined, text.undefined);
                quote(text.said, &mut made.said);
            }
            Node::List(items) => {
                made.said.text.push('[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        made.said.text.push(',');
                    }
                    item.write(names, made);
                }
                made.said.text.push(']');
            }
            Node::Object(members) => {
                made.said.text.push('{');
                for (at, (name, member)) in members.iter().enumerate() {
                    if at > 0 {
                        made.said.text.push(',');
                    }
                    made.said.text.push_str(&Value::from(name.as_str()).to_string());
                    made.said.text.push(':');
                    member.write(names, made);
                }
                made.said.text.push('}');
            }
        }
    }

    fn templates<'t>(&'t self, found: &mut Vec<&'t Braces>) {
        match self {
            Node::Plain(_) => {}
            Node::Text(braces) => found.push(braces),
            Node::List(items) => items.iter().for_each(|it| it.templates(found)),
            Node::Object(members) => members.iter().for_each(|it| it.1.templates(found)),
        }
    }
}

/// Writes a text as a JSON text; its markers, which have nothing to escape, begin where they are noted.
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
