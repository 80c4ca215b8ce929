//! JSON values whose strings are compiled, such as templates of requests.

use serde_json::Value;

/// A JSON value whose strings are compiled to something else.
#[derive(Debug, Clone, PartialEq)]
pub enum JsonTree<T> {
    /// A value that is not compiled.
    Plain(Value),
    /// A compiled string.
    Leaf(T),
    /// A list.
    List(Vec<JsonTree<T>>),
    /// An object.
    Object(Vec<(String, JsonTree<T>)>),
}

impl<T> JsonTree<T> {
    /// Compiles the strings of a value with `compile`; member names stay as they are.
    ///
    /// # Errors
    /// The first error of `compile`, with the JSON pointer to its string.
    pub fn compile<E>(source: &Value, compile: &dyn Fn(&str) -> Result<JsonTree<T>, E>) -> Result<JsonTree<T>, (String, E)> {
        let within = |key: &str, value: &Value| {
            JsonTree::compile(value, compile).map_err(|(pointer, error)| {
                let key = key.replace('~', "~0").replace('/', "~1");
                (format!("/{key}{pointer}"), error)
            })
        };
        match source {
            Value::String(text) => compile(text).map_err(|error| (String::new(), error)),
            Value::Array(items) => {
                let items = items.iter().enumerate().map(|(at, item)| within(&at.to_string(), item));
                items.collect::<Result<_, _>>().map(JsonTree::List)
            }
            Value::Object(members) => {
                let members = members.iter().map(|(name, member)| Ok((name.clone(), within(name, member)?)));
                members.collect::<Result<_, _>>().map(JsonTree::Object)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(JsonTree::Plain(source.clone())),
        }
    }

    /// Builds a value with what `render` makes of the compiled strings.
    pub fn render(&self, render: &mut dyn FnMut(&T) -> Value) -> Value {
        match self {
            JsonTree::Plain(value) => value.clone(),
            JsonTree::Leaf(leaf) => render(leaf),
            JsonTree::List(items) => Value::Array(items.iter().map(|item| item.render(render)).collect()),
            JsonTree::Object(members) => {
                Value::Object(members.iter().map(|(name, member)| (name.clone(), member.render(render))).collect())
            }
        }
    }

    /// Returns the compiled strings, in order.
    pub fn leaves(&self) -> Vec<&T> {
        match self {
            JsonTree::Plain(_) => Vec::new(),
            JsonTree::Leaf(leaf) => vec![leaf],
            JsonTree::List(items) => items.iter().flat_map(JsonTree::leaves).collect(),
            JsonTree::Object(members) => members.iter().flat_map(|(_, member)| member.leaves()).collect(),
        }
    }
}
