//! Renders compiled templates.

use std::borrow::Cow;
use std::cell::Cell;

use serde_json::{Value, json};

use super::evaluate::{LocalVariable, TemplateEvaluator};
use super::expression::LocatedExpr;
use super::node::TemplateNode;
use super::value::{Val, null};
use crate::value::TEMPLATE;

/// The most characters that a rendering may print.
const MAX_CHARACTERS: usize = 1_000_000;
/// The most items that all loops of a rendering may have in total.
const MAX_ITEMS: usize = 10_000;

/// The output of a template.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RenderedTemplate {
    /// The text; an expression that failed printed nothing.
    pub text: String,
    /// The error of the first expression that failed, or the limit that was reached.
    pub error: Option<String>,
}

/// Renders the nodes of a template.
pub(super) fn render<'v>(nodes: &[TemplateNode], lookup: &dyn Fn(&str) -> Option<&'v Value>) -> RenderedTemplate {
    let mut renderer =
        Renderer { evaluator: TemplateEvaluator::new(lookup, &TEMPLATE), out: String::new(), characters: 0, items: 0, error: None };
    // A rendering that is full has recorded the error; the text printed so far is kept.
    let _ = renderer.render_nodes(nodes, Frame::default());
    RenderedTemplate { text: renderer.out, error: renderer.error }
}

/// The output limit is reached.
struct OutputFull;

/// The variables and the switch that are in scope of a block.
#[derive(Clone, Copy, Default)]
struct Frame<'s> {
    locals: Option<&'s LocalVariable<'s>>,
    switch: Option<&'s Switch<'s>>,
}

struct Switch<'s> {
    value: &'s Value,
    is_taken: Cell<bool>,
}

struct Renderer<'e, 'v> {
    evaluator: TemplateEvaluator<'e, 'v>,
    out: String,
    characters: usize,
    items: usize,
    error: Option<String>,
}

impl<'v> Renderer<'_, 'v> {
    fn render_nodes<'s>(&mut self, nodes: &'s [TemplateNode], frame: Frame<'s>) -> Result<(), OutputFull>
    where
        'v: 's,
    {
        for node in nodes {
            match node {
                TemplateNode::Text(text) => self.append(text)?,
                TemplateNode::Output { value, escape } => self.render_output(value, *escape, frame)?,
                TemplateNode::Each { item, state, list, body } => self.render_each([Some(item), state.as_ref()], list, body, frame)?,
                TemplateNode::If { condition, expected: wanted, body } => {
                    if self.evaluate(condition, frame).is_some_and(|value| TEMPLATE.is_true(Some(&*value)) == *wanted) {
                        self.render_nodes(body, frame)?;
                    }
                }
                TemplateNode::Switch { value, body } => {
                    if let Some(value) = self.evaluate(value, frame) {
                        let switch = Switch { value: &value, is_taken: Cell::new(false) };
                        self.render_nodes(body, Frame { switch: Some(&switch), ..frame })?;
                    }
                }
                TemplateNode::Case { value, body } => {
                    if self.matches_case(value.as_ref(), frame) {
                        self.render_nodes(body, frame)?;
                    }
                }
                TemplateNode::With { name, value, body } => {
                    let value = self.evaluate(value, frame).unwrap_or_else(null);
                    let local = LocalVariable { name, value: &value, outer: frame.locals };
                    self.render_nodes(body, Frame { locals: Some(&local), ..frame })?;
                }
            }
        }
        Ok(())
    }

    /// Evaluates an expression; records the error if it fails.
    fn evaluate<'s>(&mut self, expression: &'s LocatedExpr, frame: Frame<'s>) -> Option<Val<'s>>
    where
        'v: 's,
    {
        let value = self.evaluator.evaluate(&expression.root, frame.locals);
        value.map_err(|reason| self.record_error(expression.line, &reason)).ok()
    }

    fn record_error(&mut self, line: usize, reason: &str) {
        self.error.get_or_insert_with(|| format!("line {line}: {reason}"));
    }

    fn render_output<'s>(&mut self, value: &'s LocatedExpr, escape: bool, frame: Frame<'s>) -> Result<(), OutputFull>
    where
        'v: 's,
    {
        let Some(value) = self.evaluate(value, frame) else { return Ok(()) };
        let text = TEMPLATE.print(&value);
        if escape { self.append(&escape_html(&text)) } else { self.append(&text) }
    }

    fn matches_case<'s>(&mut self, value: Option<&'s LocatedExpr>, frame: Frame<'s>) -> bool
    where
        'v: 's,
    {
        let Some(switch) = frame.switch.filter(|it| !it.is_taken.get()) else { return false };
        let fits = match value {
            None => true,
            Some(value) => self.evaluate(value, frame).is_some_and(|it| TEMPLATE.are_equal(&it, switch.value)),
        };
        switch.is_taken.set(fits);
        fits
    }

    fn render_each<'s>(
        &mut self,
        names: [Option<&'s String>; 2],
        list: &'s LocatedExpr,
        body: &'s [TemplateNode],
        frame: Frame<'s>,
    ) -> Result<(), OutputFull>
    where
        'v: 's,
    {
        let Some(value) = self.evaluate(list, frame) else { return Ok(()) };
        let items = loop_items(&value);
        if items.len() > MAX_ITEMS - self.items {
            self.record_error(list.line, &format!("loops go over more than {MAX_ITEMS} items; shorten the list"));
            return Ok(());
        }
        self.items += items.len();
        let [item, state] = names;
        for (index, value) in items.iter().enumerate() {
            let local = item.map(|name| LocalVariable { name, value, outer: frame.locals });
            let state = state.map(|name| (name, loop_state(index, items.len(), value)));
            let state = state.as_ref().map(|(name, value)| LocalVariable { name, value, outer: local.as_ref() });
            self.render_nodes(body, Frame { locals: state.as_ref().or(local.as_ref()), ..frame })?;
        }
        Ok(())
    }

    fn append(&mut self, text: &str) -> Result<(), OutputFull> {
        let left = MAX_CHARACTERS - self.characters;
        let length = text.chars().count();
        if length > left {
            self.out.extend(text.chars().take(left));
            self.characters = MAX_CHARACTERS;
            self.error.get_or_insert_with(|| format!("the text is longer than {MAX_CHARACTERS} characters; print less"));
            return Err(OutputFull);
        }
        self.out.push_str(text);
        self.characters += length;
        Ok(())
    }
}

/// Returns the items of a loop: of a list, the entries of a map, or a single other value.
fn loop_items(value: &Value) -> Vec<Cow<'_, Value>> {
    match value {
        Value::Null => Vec::new(),
        Value::Array(items) => items.iter().map(Cow::Borrowed).collect(),
        Value::Object(map) => map.iter().map(|(key, value)| Cow::Owned(json!({"key": key, "value": value}))).collect(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => vec![Cow::Borrowed(value)],
    }
}

fn loop_state(index: usize, size: usize, current: &Value) -> Value {
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

fn escape_html(text: &str) -> Cow<'_, str> {
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
