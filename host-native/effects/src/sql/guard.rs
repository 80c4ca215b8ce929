//! The SQL guard: decides on the parsed statement whether a query may run. (docs/spec/tools.md#4.3, docs/spec/tools.md#6.4)
//!
//! The original text is never executed, only the parsed statement rendered again. So comments, quoting tricks and anything that the
//! database might parse differently never reach it.

use std::collections::BTreeSet;
use std::thread;

use convengine_core::turn::Map;
use convengine_storage::is_postgres;
use sqlparser::ast::Statement;
use sqlparser::dialect::{Dialect as Parsing, PostgreSqlDialect, SQLiteDialect};
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use super::{ast_policy, relations, render};

/// Maximum length of a statement in characters.
const MAX_CHARS: usize = 20_000;

/// Maximum number of operators and keywords, which bounds the depth of the syntax tree; SQLite's own depth limit is the same.
const MAX_OPERATORS: usize = 1_000;

/// Stack size in bytes, enough for a syntax tree of that depth.
const STACK_BYTES: usize = 32 << 20;

/// The SQL dialect of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// SQLite.
    Sqlite,
    /// PostgreSQL.
    Postgres,
}

impl Dialect {
    /// Returns the dialect of the database at `url`.
    pub fn from_url(url: &str) -> Dialect {
        if is_postgres(url) { Dialect::Postgres } else { Dialect::Sqlite }
    }
}

/// A statement that may be executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardedQuery {
    /// The rendered statement; its parameters are `$1`, `$2`, …
    pub sql: String,
    /// The parameters, in the order of their numbers.
    pub params: Vec<Param>,
    /// The tables, views and common table expressions that it names, in lower case without a schema.
    pub relations: BTreeSet<String>,
}

/// A parameter of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// Whether it is the only item after `in` and therefore bound as a list.
    pub list: bool,
}

/// What a query may do.
#[derive(Debug, Clone, Copy)]
pub struct Permissions<'q> {
    /// Whether it is restricted to functions known to be free of side effects.
    pub safe: bool,
    /// Whether it may read the engine's own tables.
    pub engine_tables: bool,
    /// The query that it was made from; it may read no other tables.
    pub repaired_from: Option<&'q str>,
}

impl Permissions<'_> {
    /// The permissions of a template.
    pub fn new(safe: bool, engine_tables: bool) -> Permissions<'static> {
        Permissions { safe, engine_tables, repaired_from: None }
    }
}

/// Accepts a single read-only query.
///
/// # Errors
/// The reason why the statement is refused.
pub fn guard(sql: &str, dialect: Dialect, permissions: Permissions<'_>) -> Result<GuardedQuery, String> {
    guard_with_values(sql, dialect, permissions, &Map::new())
}

/// Like [`guard`], for a query whose parameter values are known.
///
/// # Errors
/// The reason why the statement is refused.
pub fn guard_with_values(sql: &str, dialect: Dialect, permissions: Permissions<'_>, values: &Map) -> Result<GuardedQuery, String> {
    if sql.chars().count() > MAX_CHARS {
        return Err(format!("the SQL has more than {MAX_CHARS} characters: make it shorter"));
    }
    thread::scope(|scope| {
        let guarded =
            thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, || check_and_render(sql, dialect, permissions, values));
        let guarded = guarded.map_err(|error| format!("the SQL cannot be checked now: {error}"))?;
        guarded.join().unwrap_or_else(|_| Err("the SQL cannot be checked: write it more simply".to_owned()))
    })
}

fn check_and_render(sql: &str, dialect: Dialect, permissions: Permissions<'_>, values: &Map) -> Result<GuardedQuery, String> {
    let mut statement = parse_single(sql, dialect)?;
    ast_policy::check(&statement, dialect, permissions)?;
    if let Some(template) = permissions.repaired_from {
        relations::check_repair(&statement, &parse_single(template, dialect)?)?;
    }
    let relations = relations::names(&statement);
    let params = render::normalize(&mut statement, dialect, values)?;
    let sql = render::to_sql(&statement);
    // The rendered SQL must parse back to the checked statement.
    if sql.contains('\0') || parse_single(&sql, dialect).ok().as_ref() != Some(&statement) {
        return Err("the SQL cannot be printed again as it was read: write it more simply".to_owned());
    }
    Ok(GuardedQuery { sql, params, relations })
}

/// Returns the relations that a view reads.
///
/// # Errors
/// What is wrong with its definition.
pub(super) fn view_relations(definition: &str, dialect: Dialect) -> Result<BTreeSet<String>, String> {
    thread::scope(|scope| {
        let read = || parse_single(definition, dialect).map(|statement| relations::names(&statement));
        let reader = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, read).map_err(|error| error.to_string())?;
        reader.join().unwrap_or_else(|_| Err("the view cannot be read".to_owned()))
    })
}

fn parse_single(sql: &str, dialect: Dialect) -> Result<Statement, String> {
    let parsing: &dyn Parsing = match dialect {
        Dialect::Sqlite => &SQLiteDialect {},
        Dialect::Postgres => &PostgreSqlDialect {},
    };
    let unreadable = |it: String| format!("the SQL cannot be read: {it}");
    let tokens = Tokenizer::new(parsing, sql).tokenize_with_location().map_err(|error| unreadable(error.to_string()))?;
    if tokens.iter().filter(|it| is_operator(it)).count() > MAX_OPERATORS {
        return Err(format!("the SQL has more than {MAX_OPERATORS} operators and key words: make it shorter"));
    }
    let statements = Parser::new(parsing).with_tokens_with_locations(tokens).parse_statements();
    let mut statements = statements.map_err(|error| unreadable(error.to_string()))?;
    match (statements.pop(), statements.is_empty()) {
        (Some(statement), true) => Ok(statement),
        (None, _) => Err("missing statement: write one query".to_owned()),
        (Some(_), false) => Err("there is more than one statement: write one query".to_owned()),
    }
}

fn is_operator(token: &TokenWithSpan) -> bool {
    match &token.token {
        Token::Word(word) => word.quote_style.is_none() && word.keyword != Keyword::NoKeyword,
        Token::Number(..) | Token::SingleQuotedString(_) | Token::Whitespace(_) => false,
        Token::Comma | Token::Period | Token::LParen | Token::RParen => false,
        _ => true,
    }
}

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;
