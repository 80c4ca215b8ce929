//! Expressions of flow documents: conditions and computed values. (docs/spec/flows.md#2.5)

mod compare;
mod eval;
mod functions;
mod imply;
mod parse;
#[cfg(test)]
mod tests;
mod tree;

use serde_json::Value;

use super::names::Names;
use super::path::Path;
use super::scan::{Scan, name_character};
use eval::Evaluator;
use tree::Node;

/// A compiled expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Expr(Form);

/// The syntactic forms of a condition.
#[derive(Debug, Clone, PartialEq)]
enum Form {
    /// `default` or `else`.
    Default,
    Node(Node),
    /// The text that the user's last message must contain, in lower case.
    Said(String),
    /// `var.path == some words`
    Words(Path, Value),
}

/// A syntax error in an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// `E001`, `E002` or `E003`.
    pub code: &'static str,
    /// What is wrong and at which character.
    pub message: String,
}

/// The error of an evaluation that produced no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoValue(pub String);

impl Expr {
    /// Compiles a condition of an assistant's graph.
    ///
    /// # Errors
    /// [`Wrong`] when the source is not a condition.
    pub fn parse(source: &str) -> Result<Expr, Wrong> {
        let whole = source;
        let source = whole.trim();
        let is = |word: &str| source.eq_ignore_ascii_case(word);
        if is("default") || is("else") {
            return Ok(Expr(Form::Default));
        }
        if is("true") || source == "*" {
            return Ok(Expr(Form::Node(Node::Literal(Value::Bool(true)))));
        }
        if let Some((_, text)) = source.split_at_checked(9).filter(|it| it.0.eq_ignore_ascii_case("contains:")) {
            let text = text.trim();
            return if text.is_empty() {
                Err(parse::bad("missing text after 'contains:' at character 10".to_owned()))
            } else {
                Ok(said(text))
            };
        }
        let read = parse::expression(whole);
        if let Some(words) = words(source, read.is_ok()) {
            return Ok(Expr(words));
        }
        let node = read?;
        if let Node::Path(path) = &node
            && path.parts().len() == 1
        {
            return Err(lone(path.first(), whole.chars().take_while(|it| it.is_whitespace()).count() + 1));
        }
        Ok(Expr(Form::Node(node)))
    }

    /// Compiles an expression for its value: the other forms of conditions are not allowed, and it may be a bare variable.
    ///
    /// # Errors
    /// [`Wrong`] when the source is not an expression.
    pub fn parse_value(source: &str) -> Result<Expr, Wrong> {
        parse::expression(source).map(|it| Expr(Form::Node(it)))
    }

    /// Compiles a condition of a workflow's graph, where any other text is searched for in the user's last message.
    ///
    /// # Errors
    /// [`Wrong`] when the source is blank.
    pub fn parse_workflow(source: &str) -> Result<Expr, Wrong> {
        let read = Expr::parse(source);
        let text = source.trim();
        if read.is_err() && !text.is_empty() { Ok(said(text)) } else { read }
    }

    /// Evaluates the expression; `None` when a name is not defined.
    ///
    /// # Errors
    /// [`NoValue`] when the evaluation fails.
    pub fn value(&self, names: &dyn Names) -> Result<Option<Value>, NoValue> {
        if let Form::Node(node) = &self.0 {
            return Evaluator::new(names).value(node).map(|it| it.map(std::borrow::Cow::into_owned));
        }
        self.holds(names).map(|it| Some(Value::Bool(it)))
    }

    /// Returns whether the condition is true.
    ///
    /// # Errors
    /// [`NoValue`] when the evaluation fails.
    pub fn holds(&self, names: &dyn Names) -> Result<bool, NoValue> {
        match &self.0 {
            Form::Default => Ok(true),
            Form::Node(node) => Evaluator::new(names).holds(node),
            Form::Said(text) => Ok(names.said().to_lowercase().contains(text)),
            Form::Words(path, value) => Ok(compare::equal(names.value(path).as_deref(), Some(value), true)),
        }
    }

    /// Returns whether the condition is `default` or `else`.
    pub fn is_default(&self) -> bool {
        self.0 == Form::Default
    }

    /// Returns the paths that the expression reads, sorted.
    pub fn reads(&self) -> Vec<Path> {
        let mut paths = Vec::new();
        match &self.0 {
            Form::Default | Form::Said(_) => {}
            Form::Words(path, _) => paths.push(path.clone()),
            Form::Node(node) => node.each(&mut |it| {
                if let Node::Path(path) = it {
                    paths.push(path.clone());
                }
            }),
        }
        paths.sort();
        paths.dedup();
        paths
    }

    /// Returns the truth value that the condition always has, or `None` when it depends on names.
    pub fn constant(&self) -> Option<bool> {
        match &self.0 {
            Form::Default => Some(true),
            Form::Node(node) => imply::constant(node),
            Form::Said(_) | Form::Words(..) => None,
        }
    }

    /// Returns whether `other` is certainly true whenever this condition is.
    pub fn implies(&self, other: &Expr) -> bool {
        match (&self.0, &other.0) {
            (Form::Node(first), Form::Node(second)) => imply::implies(first, second),
            (Form::Said(whole), Form::Said(part)) => whole.contains(part),
            (first, second) => first == second || other.constant() == Some(true),
        }
    }

    /// Returns the paths that are compared with literals by `==`, `!=` or an ordering, and the literals.
    pub fn comparisons(&self) -> Vec<(Path, Value)> {
        match &self.0 {
            Form::Default | Form::Said(_) => Vec::new(),
            Form::Words(path, value) => vec![(path.clone(), value.clone())],
            Form::Node(node) => imply::comparisons(node),
        }
    }
}

/// Returns whether a text consists of words without operators; workflows search the user's last message for such texts.
pub fn is_words(source: &str) -> bool {
    let mut words = source.split_whitespace().peekable();
    let is_word = |it: &str| it.chars().all(|it| it.is_alphanumeric() || it == '-') && it.contains(char::is_alphabetic);
    words.peek().is_some() && words.all(|it| is_word(it) && !parse::WORDS.contains(&it))
}

/// Builds the error for a bare word, which is not a condition.
fn lone(name: &str, at: usize) -> Wrong {
    parse::bad(format!(
        "'{name}' at character {at} is a bare word; write '{name} is set' or '{name} == true' to test a variable, or \
         'event.text contains \"{name}\"' to search the message"
    ))
}

fn said(text: &str) -> Expr {
    Expr(Form::Said(text.to_lowercase()))
}

/// Parses `var.path == some words`, unless the words are an expression; a single word is a string, not a variable.
fn words(source: &str, is_expression: bool) -> Option<Form> {
    let mut scan = Scan::new(source.strip_prefix("var.")?);
    let path = scan.path().ok()?;
    scan.space();
    if !scan.eat("==") {
        return None;
    }
    scan.space();
    let text = scan.rest;
    if let Ok(Some(value)) = scan.literal()
        && scan.rest.is_empty()
    {
        return Some(Form::Words(path, value));
    }
    let single = text.chars().all(|it| name_character(it) || it == '-' || !it.is_ascii());
    let words = !text.is_empty() && !text.starts_with('\'') && !text.contains(['"', '(', ')', '[', ']', '{', '}', '&', '|', '=', '<', '>']);
    (words && (single || !is_expression)).then(|| Form::Words(path, Value::from(text)))
}
