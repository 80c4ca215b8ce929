//! Renders compiled templates.

use std::borrow::Cow;
use std::cell::Cell;

use serde_json::{Value, json};

use super::Rendered;
use super::block::Node;
use super::evaluate::{Evaluator, Local};
use super::expression::Expression;
use super::value::{Numbers, Val, equal, holds, null, print};

/// The most characters that a rendering may print.
const MAX_CHARACTERS: usize = 1_000_000;
/// The most items that all loops of a rendering may have in total.
const MAX_ITEMS: usize = 10_000;

/// Renders the nodes of a template.
pub(super) fn render<'v>(nodes: &[Node], lookup: &dyn Fn(&str) -> Option<&'v Value>) -> Rendered {
    let mut renderer =
        Renderer { evaluator: Evaluator::new(lookup, Numbers::AsWritten), out: String::new(), characters: 0, items: 0, error: None };
    // A rendering that is full has recorded the error; the text printed so far is kept.
    let _ = renderer.nodes(nodes, Frame::default());
    Rendered { text: renderer.out, error: renderer.error }
}

/// The output limit is reached.
struct Full;

/// The variables and the switch that are in scope of a block.
#[derive(Clone, Copy, Default)]
struct Frame<'s> {
    locals: Option<&'s Local<'s>>,
    switch: Option<&'s Switch<'s>>,
}

struct Switch<'s> {
    value: &'s Value,
    taken: Cell<bool>,
}

struct Renderer<'e, 'v> {
    evaluator: Evaluator<'e, 'v>,
    out: String,
    characters: usize,
    items: usize,
    error: Option<String>,
}

impl<'v> Renderer<'_, 'v> {
    fn nodes<'s>(&mut self, nodes: &'s [Node], frame: Frame<'s>) -> Result<(), Full>
    where
        'v: 's,
    {
        for node in nodes {
            match node {
                Node::Text(text) => self.put(text)?,
                Node::Output { value, escape } => self.output(value, *escape, frame)?,
                Node::Each { item, state, list, body } => self.each([Some(item), state.as_ref()], list, body, frame)?,
                Node::If { condition, wanted, body } => {
                    if self.value(condition, frame).is_some_and(|it| holds(&it) == *wanted) {
                        self.nodes(body, frame)?;
                    }
                }
                Node::Switch { value, body } => {
                    if let Some(value) = self.value(value, frame) {
                        let switch = Switch { value: &value, taken: Cell::new(false) };
                        self.nodes(body, Frame { switch: Some(&switch), ..frame })?;
                    }
                }
                Node::Case { value, body } => {
                    if self.fits(value.as_ref(), frame) {
                        self.nodes(body, frame)?;
                    }
                }
                Node::With { name, value, body } => {
                    let value = self.value(value, frame).unwrap_or_else(null);
                    let local = Local { name, value: &value, outer: frame.locals };
                    self.nodes(body, Frame { locals: Some(&local), ..frame })?;
                }
            }
        }
        Ok(())
    }

    /// Evaluates an expression; records the error if it fails.
    fn value<'s>(&mut self, expression: &'s Expression, frame: Frame<'s>) -> Option<Val<'s>>
    where
        'v: 's,
    {
        let value = self.evaluator.value(&expression.root, frame.locals);
        value.map_err(|reason| self.note(expression.line, &reason)).ok()
    }

    fn note(&mut self, line: usize, reason: &str) {
        self.error.get_or_insert_with(|| format!("line {line}: {reason}"));
    }

    fn output<'s>(&mut self, value: &'s Expression, escape: bool, frame: Frame<'s>) -> Result<(), Full>
    where
        'v: 's,
    {
        let Some(value) = self.value(value, frame) else { return Ok(()) };
        let text = print(&value);
        if escape { self.put(&escaped(&text)) } else { self.put(&text) }
    }

    fn fits<'s>(&mut self, value: Option<&'s Expression>, frame: Frame<'s>) -> bool
    where
        'v: 's,
    {
        let Some(switch) = frame.switch.filter(|it| !it.taken.get()) else { return false };
        let fits = match value {
            None => true,
            Some(value) => self.value(value, frame).is_some_and(|it| equal(&it, switch.value)),
        };
        switch.taken.set(fits);
        fits
    }

    fn each<'s>(&mut self, names: [Option<&'s String>; 2], list: &'s Expression, body: &'s [Node], frame: Frame<'s>) -> Result<(), Full>
    where
        'v: 's,
    {
        let Some(value) = self.value(list, frame) else { return Ok(()) };
        let items = items(&value);
        if items.len() > MAX_ITEMS - self.items {
            self.note(list.line, &format!("loops go over more than {MAX_ITEMS} items; shorten the list"));
            return Ok(());
        }
        self.items += items.len();
        let [item, state] = names;
        for (index, value) in items.iter().enumerate() {
            let local = item.map(|name| Local { name, value, outer: frame.locals });
            let state = state.map(|name| (name, state_of(index, items.len(), value)));
            let state = state.as_ref().map(|(name, value)| Local { name, value, outer: local.as_ref() });
            self.nodes(body, Frame { locals: state.as_ref().or(local.as_ref()), ..frame })?;
        }
        Ok(())
    }

    fn put(&mut self, text: &str) -> Result<(), Full> {
        let left = MAX_CHARACTERS - self.characters;
        let length = text.chars().count();
        if length > left {
            self.out.extend(text.chars().take(left));
            self.characters = MAX_CHARACTERS;
            self.error.get_or_insert_with(|| format!("the text is longer than {MAX_CHARACTERS} characters; print less"));
            return Err(Full);
        }
        self.out.push_str(text);
        self.characters += length;
        Ok(())
    }
}

/// Returns the items of a loop: of a list, the entries of a map, or a single other value.
fn items(value: &Value) -> Vec<Cow<'_, Value>> {
    match value {
        Value::Null => Vec::new(),
        Value::Array(items) => items.iter().map(Cow::Borrowed).collect(),
        Value::Object(map) => map.iter().map(|(key, value)| Cow::Owned(json!({"key": key, "value": value}))).collect(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => vec![Cow::Borrowed(value)],
    }
}

fn state_of(index: usize, size: usize, current: &Value) -> Value {
    let count = index + 1;
    json!({
        "index": index,
        "count": count,
        "size": size,
        "current": current,
        "even": count.is_multiple_of(2),
        "odd": !count.is_multiple_of(2),
        "first": index == 0,
        "last": count == size,
    })
}

fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(['<', '>', '&', '"', '\'']) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    Cow::Owned(out)
}
