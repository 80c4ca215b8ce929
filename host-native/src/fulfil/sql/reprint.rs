//! Prints a checked statement so that every database reads in it what was checked.

use std::ops::ControlFlow;

use sqlparser::ast::{Ident, Query, Select, SetExpr, Statement, Value, ValueWithSpan, VisitMut, VisitorMut};

use super::guard::Dialect;

/// Brings a statement to its plainest form: values by number, one form of quotes, no hints. Answers the names of the values.
///
/// # Errors
/// A value that is written in another way than `:name`.
pub fn settle(statement: &mut Statement, dialect: Dialect) -> Result<Vec<String>, String> {
    if let Statement::Query(query) = statement {
        unwrap(query);
    }
    let mut plain = Plain { dialect, params: Vec::new() };
    match statement.visit(&mut plain) {
        ControlFlow::Continue(()) => Ok(plain.params),
        ControlFlow::Break(reason) => Err(reason),
    }
}

/// Prints a settled statement.
pub fn print(statement: &Statement) -> String {
    let mut statement = statement.clone();
    let ControlFlow::Continue(()) = statement.visit(&mut Doubled);
    statement.to_string()
}

/// Takes off the parentheses around a whole query, which SQLite does not know.
fn unwrap(query: &mut Query) {
    while let SetExpr::Query(inner) = query.body.as_mut() {
        let bare = query.with.is_none() && query.order_by.is_none() && query.limit_clause.is_none() && query.fetch.is_none();
        if !bare {
            return;
        }
        *query = (**inner).clone();
    }
}

struct Plain {
    dialect: Dialect,
    params: Vec<String>,
}

impl Plain {
    /// The number of a value, the same for each use of its name.
    fn number(&mut self, name: &str) -> usize {
        let known = self.params.iter().position(|it| it == name);
        known.unwrap_or_else(|| {
            self.params.push(name.to_owned());
            self.params.len() - 1
        }) + 1
    }
}

impl VisitorMut for Plain {
    type Break = String;

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<String> {
        select.optimizer_hints.clear();
        ControlFlow::Continue(())
    }

    fn pre_visit_ident(&mut self, ident: &mut Ident) -> ControlFlow<String> {
        ident.quote_style = ident.quote_style.map(|it| match (it, self.dialect) {
            // SQLite takes an unknown name between double quotes for a text, and between these not.
            ('[' | '`', Dialect::Sqlite) => '`',
            _ => '"',
        });
        ControlFlow::Continue(())
    }

    fn pre_visit_value(&mut self, value: &mut ValueWithSpan) -> ControlFlow<String> {
        let text = match &value.value {
            Value::Placeholder(placeholder) => {
                let Some(name) = placeholder.strip_prefix(':').filter(|it| is_name(it)) else {
                    let reason = format!("the value '{placeholder}' has no name: write it as :name");
                    return ControlFlow::Break(reason);
                };
                let name = name.to_owned();
                value.value = Value::Placeholder(format!("${}", self.number(&name)));
                return ControlFlow::Continue(());
            }
            Value::DollarQuotedString(text) => text.value.clone(),
            Value::EscapedStringLiteral(text) | Value::UnicodeStringLiteral(text) | Value::NationalStringLiteral(text) => text.clone(),
            _ => return ControlFlow::Continue(()),
        };
        value.value = Value::SingleQuotedString(text);
        ControlFlow::Continue(())
    }
}

fn is_name(text: &str) -> bool {
    text.chars().all(|it| it.is_alphanumeric() || it == '_') && text.starts_with(|it: char| it.is_alphabetic() || it == '_')
}

/// Doubles the quotes in texts and names itself: the printer of the parser takes a quote after a backslash for one that is escaped
/// already, which in standard SQL ends the text, and what follows would be run.
struct Doubled;

impl VisitorMut for Doubled {
    type Break = std::convert::Infallible;

    fn pre_visit_ident(&mut self, ident: &mut Ident) -> ControlFlow<Self::Break> {
        if let Some(quote) = ident.quote_style {
            ident.value = doubled(&ident.value, quote);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_value(&mut self, value: &mut ValueWithSpan) -> ControlFlow<Self::Break> {
        if let Value::SingleQuotedString(text) = &mut value.value {
            *text = doubled(text, '\'');
        }
        ControlFlow::Continue(())
    }
}

fn doubled(text: &str, quote: char) -> String {
    text.replace(quote, &format!("{quote}{quote}"))
}
