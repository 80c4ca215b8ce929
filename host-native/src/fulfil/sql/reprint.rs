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
pub fn settle(statement: &mut Statement, dialect: Dialect, values: &Map) -> Result<Vec<Param>, String> {
    if let Statement::Query(query) = statement {
        unwrap(query);
    }
    let mut plain = Plain { dialect, values, params: Vec::new() };
    match statement.visit(&mut plain) {
        ControlFlow::Continue(()) => Ok(plain.params),
        ControlFlow::Break(reason) => Err(reason),
    }
}

/// Renders a normalized statement.
pub fn print(statement: &Statement) -> String {
    let mut statement = statement.clone();
    let ControlFlow::Continue(()) = statement.visit(&mut Doubled);
    statement.to_string()
}

/// Removes the parentheses around a whole query, which SQLite does not support.
fn unwrap(query: &mut Query) {
    while let SetExpr::Query(inner) = query.body.as_mut() {
        let bare = query.with.is_none() && query.order_by.is_none() && query.limit_clause.is_none() && query.fetch.is_none();
        if !bare {
            return;
        }
        *query = (**inner).clone();
    }
}

/// Suffix that marks a placeholder whose value may be a list; it cannot be part of a name.
const LIST: &str = "[]";

struct Plain<'v> {
    dialect: Dialect,
    /// The values known so far.
    values: &'v Map,
    params: Vec<Param>,
}

impl Plain<'_> {
    /// Returns the number of a parameter, the same for each use of its name.
    fn number(&mut self, param: Param) -> usize {
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
    fn among(&self, expr: &Expr) -> Option<Result<Expr, ParserError>> {
        let Expr::InList { expr: left, list, negated } = expr else { return None };
        let number = lone(list)?.strip_prefix('$')?.parse::<usize>().ok()?;
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
fn lone(list: &[Expr]) -> Option<&str> {
    match list {
        [Expr::Value(ValueWithSpan { value: Value::Placeholder(placeholder), .. })] => Some(placeholder),
        _ => None,
    }
}

impl VisitorMut for Plain<'_> {
    type Break = String;

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<String> {
        select.optimizer_hints.clear();
        ControlFlow::Continue(())
    }

    fn pre_visit_ident(&mut self, ident: &mut Ident) -> ControlFlow<String> {
        ident.quote_style = ident.quote_style.map(|it| match (it, self.dialect) {
            // SQLite treats an unknown name in double quotes as a string, but not in brackets or backticks.
            ('[' | '`', Dialect::Sqlite) => '`',
            _ => '"',
        });
        ControlFlow::Continue(())
    }

    /// Marks a placeholder that is the only item of a list, because its value may be a list.
    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<String> {
        let Expr::InList { list, negated, .. } = expr else { return ControlFlow::Continue(()) };
        let Some(name) = lone(list).and_then(name_of) else { return ControlFlow::Continue(()) };
        if self.is_null(name) {
            return ControlFlow::Continue(());
        }
        if self.dialect == Dialect::Postgres && self.values.get(name).and_then(Json::as_array).is_some_and(Vec::is_empty) {
            // An empty list would need a type; nothing is in it.
            *expr = Expr::Value(Value::Boolean(*negated).into());
        } else if let [Expr::Value(ValueWithSpan { value: Value::Placeholder(placeholder), .. })] = list.as_mut_slice() {
            placeholder.push_str(LIST);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<String> {
        match self.among(expr) {
            Some(Ok(rewritten)) => *expr = rewritten,
            Some(Err(error)) => return ControlFlow::Break(error.to_string()),
            None => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_value(&mut self, value: &mut ValueWithSpan) -> ControlFlow<String> {
        let text = match &value.value {
            Value::Placeholder(placeholder) => {
                let (plain, list) = placeholder.strip_suffix(LIST).map_or((placeholder.as_str(), false), |it| (it, true));
                let Some(name) = name_of(plain) else {
                    let reason = format!("the value '{placeholder}' has no name: write it as :name");
                    return ControlFlow::Break(reason);
                };
                if self.is_null(name) {
                    value.value = Value::Null;
                    return ControlFlow::Continue(());
                }
                let param = Param { name: name.to_owned(), list };
                value.value = Value::Placeholder(format!("${}", self.number(param)));
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
fn name_of(placeholder: &str) -> Option<&str> {
    placeholder.strip_prefix(':').filter(|it| is_name(it))
}

fn is_name(text: &str) -> bool {
    text.chars().all(|it| it.is_alphanumeric() || it == '_') && text.starts_with(|it: char| it.is_alphabetic() || it == '_')
}

/// Doubles the quotes in strings and names. The parser's printer treats a quote after a backslash as already escaped; in standard SQL that
/// quote ends the string, and the rest would be executed.
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
