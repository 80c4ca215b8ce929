//! Renders a checked statement as SQL that the database parses exactly as it was checked.

use std::ops::ControlFlow;

use convengine_core::turn::Map;
use serde_json::Value as Json;
use sqlparser::ast::{BinaryOperator, Expr, Ident, Query, Select, SetExpr, Statement, Value, ValueWithSpan, VisitMut, VisitorMut};
use sqlparser::dialect::SQLiteDialect;
use sqlparser::parser::{Parser, ParserError};

use super::guard::{Dialect, Param};

/// Normalizes a statement: numbered placeholders, uniform quotes, no hints. Returns its parameters in the order of their numbers.
///
/// # Errors
/// A message if a placeholder is not written as `:name`.
pub fn normalize(statement: &mut Statement, dialect: Dialect, values: &Map) -> Result<Vec<Param>, String> {
    if let Statement::Query(query) = statement {
        unwrap_parentheses(query);
    }
    let mut plain = Normalizer { dialect, values, params: Vec::new() };
    match statement.visit(&mut plain) {
        ControlFlow::Continue(()) => Ok(plain.params),
        ControlFlow::Break(reason) => Err(reason),
    }
}

/// Renders a normalized statement.
pub fn to_sql(statement: &Statement) -> String {
    let mut statement = statement.clone();
    let ControlFlow::Continue(()) = statement.visit(&mut QuoteEscaper);
    statement.to_string()
}

/// Removes the parentheses around a whole query, which SQLite does not support.
fn unwrap_parentheses(query: &mut Query) {
    while let SetExpr::Query(inner) = query.body.as_mut() {
        let bare = query.with.is_none() && query.order_by.is_none() && query.limit_clause.is_none() && query.fetch.is_none();
        if !bare {
            return;
        }
        *query = (**inner).clone();
    }
}

/// Suffix that marks a placeholder whose value may be a list; it cannot be part of a name.
const LIST_MARKER: &str = "[]";

struct Normalizer<'v> {
    dialect: Dialect,
    /// The values known so far.
    values: &'v Map,
    params: Vec<Param>,
}

impl Normalizer<'_> {
    /// Returns the number of a parameter, the same for each use of its name.
    fn placeholder_number(&mut self, param: Param) -> usize {
        let known = self.params.iter().position(|it| *it == param);
        known.unwrap_or_else(|| {
            self.params.push(param);
            self.params.len() - 1
        }) + 1
    }

    /// Returns whether a value must be written as a NULL literal: PostgreSQL could not infer the type of a bound null.
    fn is_null(&self, name: &str) -> bool {
        self.dialect == Dialect::Postgres && self.values.get(name).is_some_and(Json::is_null)
    }

    /// Rewrites an `IN` whose list is bound as one value; `None` if the expression is not one.
    fn rewrite_in_list(&self, expr: &Expr) -> Option<Result<Expr, ParserError>> {
        let Expr::InList { expr: left, list, negated } = expr else { return None };
        let number = single_placeholder(list)?.strip_prefix('$')?.parse::<usize>().ok()?;
        let negated = *negated;
        let of_sqlite = || {
            let items = format!("select value from json_each(${number})");
            let subquery = Parser::new(&SQLiteDialect {}).try_with_sql(&items)?.parse_query()?;
            Ok(Expr::InSubquery { expr: left.clone(), subquery, negated })
        };
        let of_postgres = || {
            let (left, right) = (left.clone(), Box::new(Expr::Value(Value::Placeholder(format!("${number}")).into())));
            let any = Expr::AnyOp { left: left.clone(), compare_op: BinaryOperator::Eq, right: right.clone(), is_some: false };
            let none = Expr::AllOp { left, compare_op: BinaryOperator::NotEq, right };
            Ok(Expr::Nested(Box::new(if negated { none } else { any })))
        };
        self.params.get(number.checked_sub(1)?)?.list.then(|| match self.dialect {
            Dialect::Sqlite => of_sqlite(),
            Dialect::Postgres => of_postgres(),
        })
    }
}

/// Returns the placeholder if it is the only item of a list.
fn single_placeholder(list: &[Expr]) -> Option<&str> {
    match list {
        [Expr::Value(ValueWithSpan { value: Value::Placeholder(placeholder), .. })] => Some(placeholder),
        _ => None,
    }
}

impl VisitorMut for Normalizer<'_> {
    type Break = String;

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<String> {
        select.optimizer_hints.clear();
        ControlFlow::Continue(())
    }

    fn pre_visit_ident(&mut self, ident: &mut Ident) -> ControlFlow<String> {
        ident.quote_style = ident.quote_style.map(|quote| match (quote, self.dialect) {
            // SQLite treats an unknown name in double quotes as a string, but not in brackets or backticks.
            ('[' | '`', Dialect::Sqlite) => '`',
            _ => '"',
        });
        ControlFlow::Continue(())
    }

    /// Marks a placeholder that is the only item of a list, because its value may be a list.
    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<String> {
        let Expr::InList { list, negated, .. } = expr else { return ControlFlow::Continue(()) };
        let Some(name) = single_placeholder(list).and_then(placeholder_name) else { return ControlFlow::Continue(()) };
        if self.is_null(name) {
            return ControlFlow::Continue(());
        }
        if self.dialect == Dialect::Postgres && self.values.get(name).and_then(Json::as_array).is_some_and(Vec::is_empty) {
            // An empty list would need a type; nothing is in it.
            *expr = Expr::Value(Value::Boolean(*negated).into());
        } else if let [Expr::Value(ValueWithSpan { value: Value::Placeholder(placeholder), .. })] = list.as_mut_slice() {
            placeholder.push_str(LIST_MARKER);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<String> {
        match self.rewrite_in_list(expr) {
            Some(Ok(rewritten)) => *expr = rewritten,
            Some(Err(error)) => return ControlFlow::Break(error.to_string()),
            None => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_value(&mut self, value: &mut ValueWithSpan) -> ControlFlow<String> {
        let text = match &value.value {
            Value::Placeholder(placeholder) => {
                let (plain, list) = placeholder.strip_suffix(LIST_MARKER).map_or((placeholder.as_str(), false), |it| (it, true));
                let Some(name) = placeholder_name(plain) else {
                    let reason = format!("the value '{placeholder}' has no name: write it as :name");
                    return ControlFlow::Break(reason);
                };
                if self.is_null(name) {
                    value.value = Value::Null;
                    return ControlFlow::Continue(());
                }
                let param = Param { name: name.to_owned(), list };
                value.value = Value::Placeholder(format!("${}", self.placeholder_number(param)));
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

/// Returns the name of a placeholder written as `:name`.
fn placeholder_name(placeholder: &str) -> Option<&str> {
    placeholder.strip_prefix(':').filter(|it| is_name(it))
}

fn is_name(text: &str) -> bool {
    text.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
        && text.starts_with(|letter: char| letter.is_alphabetic() || letter == '_')
}

/// Doubles the quotes in strings and names. The parser's printer treats a quote after a backslash as already escaped; in standard SQL that
/// quote ends the string, and the rest would be executed.
struct QuoteEscaper;

impl VisitorMut for QuoteEscaper {
    type Break = std::convert::Infallible;

    fn pre_visit_ident(&mut self, ident: &mut Ident) -> ControlFlow<Self::Break> {
        if let Some(quote) = ident.quote_style {
            ident.value = double_quotes(&ident.value, quote);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_value(&mut self, value: &mut ValueWithSpan) -> ControlFlow<Self::Break> {
        if let Value::SingleQuotedString(text) = &mut value.value {
            *text = double_quotes(text, '\'');
        }
        ControlFlow::Continue(())
    }
}

fn double_quotes(text: &str, quote: char) -> String {
    text.replace(quote, &format!("{quote}{quote}"))
}
