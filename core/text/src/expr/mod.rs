//! Expressions of flow documents: conditions and computed values. (docs/spec/flows.md#2.5)
//!
//! ```
//! use std::borrow::Cow;
//! use convengine_text::expr::Expr;
//! use convengine_text::names::NameResolver;
//! use convengine_text::variable_path::VariablePath;
//! use serde_json::{Value, json};
//!
//! /// The variables of a session, and what else expressions read.
//! struct Session(serde_json::Map<String, Value>);
//!
//! impl NameResolver for Session {
//!     fn value(&self, path: &VariablePath) -> Option<Cow<'_, Value>> {
//!         path.find(&self.0).map(Cow::Borrowed)
//!     }
//!     fn user_message(&self) -> &str {
//!         "I want my refund"
//!     }
//!     fn now(&self) -> i64 {
//!         1_767_258_000_000
//!     }
//!     fn locale(&self) -> &str {
//!         "en-US"
//!     }
//!     fn time_zone(&self) -> &str {
//!         "UTC"
//!     }
//! }
//!
//! let session = Session(json!({"total": 120, "items": ["a", "b"]}).as_object().cloned().unwrap_or_default());
//! assert_eq!(Expr::parse("total >= 100 && items[0] == 'a'")?.is_true(&session), Ok(true));
//! assert_eq!(Expr::parse("contains: refund")?.is_true(&session), Ok(true), "the user's message");
//! assert_eq!(Expr::parse_value("total * 2")?.evaluate(&session), Ok(Some(json!(240))));
//! assert_eq!(Expr::parse_value("unknown")?.evaluate(&session), Ok(None));
//! assert!(Expr::parse("total >=").is_err());
//! # Ok::<(), convengine_text::expr::ExprError>(())
//! ```

mod call;
mod compare;
mod error;
mod eval;
mod functions;
mod implication;
mod parse;
#[cfg(test)]
mod tests;
mod tree;

use serde_json::Value;

use super::names::NameResolver;
use super::scanner::{CharScanner, is_name_character};
use super::variable_path::VariablePath;
use crate::value::WORDS;
use eval::Evaluator;
use tree::ExprNode;

pub use error::{EvalError, ExprError};

/// A compiled expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Expr(ConditionForm);

/// The syntactic forms of a condition.
#[derive(Debug, Clone, PartialEq)]
enum ConditionForm {
    /// `default` or `else`.
    Default,
    Node(ExprNode),
    /// The text that the user's last message must contain, in lower case.
    MessageContains(String),
    /// `var.path == some words`
    EqualsWords(VariablePath, Value),
}

impl Expr {
    /// Compiles a condition of an assistant's graph.
    ///
    /// # Errors
    /// [`ExprError`] when the source is not a condition.
    pub fn parse(source: &str) -> Result<Expr, ExprError> {
        let whole = source;
        let source = whole.trim();
        let is = |word: &str| source.eq_ignore_ascii_case(word);
        if is("default") || is("else") {
            return Ok(Expr(ConditionForm::Default));
        }
        if is("true") || source == "*" {
            return Ok(Expr(ConditionForm::Node(ExprNode::Literal(Value::Bool(true)))));
        }
        if let Some((_, text)) = source.split_at_checked(9).filter(|it| it.0.eq_ignore_ascii_case("contains:")) {
            let text = text.trim();
            return if text.is_empty() {
                Err(parse::syntax_error("missing text after 'contains:' at character 10".to_owned()))
            } else {
                Ok(message_contains(text))
            };
        }
        let read = parse::parse_expression(whole);
        if let Some(words) = parse_words_comparison(source, read.is_ok()) {
            return Ok(Expr(words));
        }
        let node = read?;
        if let ExprNode::Path(path) = &node
            && path.parts().len() == 1
        {
            return Err(bare_word_error(path.first_name(), whole.chars().take_while(|it| it.is_whitespace()).count() + 1));
        }
        Ok(Expr(ConditionForm::Node(node)))
    }

    /// Compiles an expression for its value: the other forms of conditions are not allowed, and it may be a bare variable.
    ///
    /// # Errors
    /// [`ExprError`] when the source is not an expression.
    pub fn parse_value(source: &str) -> Result<Expr, ExprError> {
        parse::parse_expression(source).map(|node| Expr(ConditionForm::Node(node)))
    }

    /// Compiles a condition of a workflow's graph, where any other text is searched for in the user's last message.
    ///
    /// # Errors
    /// [`ExprError`] when the source is blank.
    pub fn parse_workflow(source: &str) -> Result<Expr, ExprError> {
        let read = Expr::parse(source);
        let text = source.trim();
        if read.is_err() && !text.is_empty() { Ok(message_contains(text)) } else { read }
    }

    /// Evaluates the expression; `None` when a name is not defined.
    ///
    /// # Errors
    /// [`EvalError`] when the evaluation fails.
    pub fn evaluate(&self, names: &dyn NameResolver) -> Result<Option<Value>, EvalError> {
        if let ConditionForm::Node(node) = &self.0 {
            return Evaluator::new(names).evaluate(node).map(|it| it.map(std::borrow::Cow::into_owned));
        }
        self.is_true(names).map(|holds| Some(Value::Bool(holds)))
    }

    /// Returns whether the condition is true.
    ///
    /// # Errors
    /// [`EvalError`] when the evaluation fails.
    pub fn is_true(&self, names: &dyn NameResolver) -> Result<bool, EvalError> {
        match &self.0 {
            ConditionForm::Default => Ok(true),
            ConditionForm::Node(node) => Evaluator::new(names).is_true(node),
            ConditionForm::MessageContains(text) => Ok(names.user_message().to_lowercase().contains(text)),
            ConditionForm::EqualsWords(path, value) => Ok(WORDS.is_equal(names.value(path).as_deref(), Some(value))),
        }
    }

    /// Returns the text that the user's last message must contain, if that is the condition.
    pub fn searched_text(&self) -> Option<&str> {
        if let ConditionForm::MessageContains(text) = &self.0 { Some(text) } else { None }
    }

    /// Returns whether the condition is `default` or `else`.
    pub fn is_default(&self) -> bool {
        self.0 == ConditionForm::Default
    }

    /// Returns whether the condition and another one are never true together.
    pub fn excludes(&self, other: &Expr) -> bool {
        match (&self.0, &other.0) {
            (ConditionForm::Node(one), ConditionForm::Node(other)) => implication::are_exclusive_nodes(one, other),
            _ => false,
        }
    }

    /// Returns the paths that the expression reads, sorted.
    pub fn paths(&self) -> Vec<VariablePath> {
        let mut paths = Vec::new();
        match &self.0 {
            ConditionForm::Default | ConditionForm::MessageContains(_) => {}
            ConditionForm::EqualsWords(path, _) => paths.push(path.clone()),
            ConditionForm::Node(node) => node.for_each(&mut |node| {
                if let ExprNode::Path(path) = node {
                    paths.push(path.clone());
                }
            }),
        }
        paths.sort();
        paths.dedup();
        paths
    }

    /// Returns the truth value that the condition always has, or `None` when it depends on names.
    pub fn constant_value(&self) -> Option<bool> {
        match &self.0 {
            ConditionForm::Default => Some(true),
            ConditionForm::Node(node) => implication::constant_value(node),
            ConditionForm::MessageContains(_) | ConditionForm::EqualsWords(..) => None,
        }
    }

    /// Returns whether `other` is certainly true whenever this condition is.
    pub fn implies(&self, other: &Expr) -> bool {
        match (&self.0, &other.0) {
            (ConditionForm::Node(first), ConditionForm::Node(second)) => implication::implies(first, second),
            (ConditionForm::MessageContains(whole), ConditionForm::MessageContains(part)) => whole.contains(part),
            (first, second) => first == second || other.constant_value() == Some(true),
        }
    }

    /// Returns the paths that are compared with literals by `==`, `!=` or an ordering, and the literals.
    pub fn comparisons(&self) -> Vec<(VariablePath, Value)> {
        match &self.0 {
            ConditionForm::Default | ConditionForm::MessageContains(_) => Vec::new(),
            ConditionForm::EqualsWords(path, value) => vec![(path.clone(), value.clone())],
            ConditionForm::Node(node) => implication::comparisons(node),
        }
    }
}

/// Returns the names of the built-in functions, for the documentation.
pub fn function_names() -> Vec<&'static str> {
    functions::Function::names().to_vec()
}

/// Returns whether a text consists of words without operators; workflows search the user's last message for such texts.
pub fn is_plain_words(source: &str) -> bool {
    let mut words = source.split_whitespace().peekable();
    let is_word = |word: &str| word.chars().all(|c| c.is_alphanumeric() || c == '-') && word.contains(char::is_alphabetic);
    words.peek().is_some() && words.all(|word| is_word(word) && !parse::OPERATOR_WORDS.contains(&word))
}

/// Builds the error for a bare word, which is not a condition.
fn bare_word_error(name: &str, at: usize) -> ExprError {
    parse::syntax_error(format!(
        "'{name}' at character {at} is a bare word; write '{name} is set' or '{name} == true' to test a variable, or \
         'event.text contains \"{name}\"' to search the message"
    ))
}

fn message_contains(text: &str) -> Expr {
    Expr(ConditionForm::MessageContains(text.to_lowercase()))
}

/// Parses `var.path == some words`, unless the words are an expression; a single word is a string, not a variable.
fn parse_words_comparison(source: &str, is_expression: bool) -> Option<ConditionForm> {
    let mut scan = CharScanner::new(source.strip_prefix("var.")?);
    let path = scan.take_path().ok()?;
    scan.skip_space();
    if !scan.eat("==") {
        return None;
    }
    scan.skip_space();
    let text = scan.rest;
    if let Ok(Some(value)) = scan.take_literal()
        && scan.rest.is_empty()
    {
        return Some(ConditionForm::EqualsWords(path, value));
    }
    let single = text.chars().all(|c| is_name_character(c) || c == '-' || !c.is_ascii());
    let words = !text.is_empty() && !text.starts_with('\'') && !text.contains(['"', '(', ')', '[', ']', '{', '}', '&', '|', '=', '<', '>']);
    (words && (single || !is_expression)).then(|| ConditionForm::EqualsWords(path, Value::from(text)))
}
