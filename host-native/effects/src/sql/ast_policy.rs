//! The policy for syntax trees: allow lists of what a statement may contain, so that new parser features are refused until reviewed.

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, DataType, Expr, Function, FunctionArguments, LimitClause, ObjectName, ObjectNamePart, Query, Select, SelectFlavor,
    SelectItem, SetExpr, Statement, TableFactor, Value, ValueWithSpan, Visit, Visitor, WildcardAdditionalOptions,
};

use super::functions;
use super::guard::{Dialect, Permissions};
use super::relations;

/// Checks a statement with all its subqueries.
///
/// # Errors
/// The reason why the statement is refused.
pub fn check(statement: &Statement, dialect: Dialect, permissions: Permissions<'_>) -> Result<(), String> {
    let Permissions { safe, engine_tables, repaired_from: _ } = permissions;
    match statement.visit(&mut AstPolicy { dialect, safe, engine_tables }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(reason) => Err(reason),
    }
}

struct AstPolicy {
    dialect: Dialect,
    safe: bool,
    engine_tables: bool,
}

impl Visitor for AstPolicy {
    type Break = String;

    fn pre_visit_statement(&mut self, statement: &Statement) -> ControlFlow<String> {
        refuse_if(!matches!(statement, Statement::Query(_)), "only queries are allowed: write one that begins with select, values or with")
    }

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<String> {
        refuse_if(!query.locks.is_empty(), "a query that locks rows is not allowed: leave out 'for update' and 'for share'")?;
        let foreign = query.for_clause.is_some()
            || query.settings.is_some()
            || query.format_clause.is_some()
            || !query.pipe_operators.is_empty()
            || matches!(&query.limit_clause, Some(LimitClause::LimitOffset { limit_by, .. }) if !limit_by.is_empty());
        refuse_if(foreign, "the query has a clause that is not allowed: keep to standard SQL")?;
        check_body(&query.body)
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<String> {
        refuse_if(select.into.is_some(), "'select … into' writes and is not allowed: leave out 'into'")?;
        let foreign = select.top.is_some()
            || select.select_modifiers.is_some()
            || select.exclude.is_some()
            || !select.lateral_views.is_empty()
            || select.prewhere.is_some()
            || !select.connect_by.is_empty()
            || !select.cluster_by.is_empty()
            || !select.distribute_by.is_empty()
            || !select.sort_by.is_empty()
            || select.qualify.is_some()
            || select.value_table_mode.is_some()
            || select.flavor != SelectFlavor::Standard
            || !select.projection.iter().all(is_plain);
        refuse_if(foreign, "the select has a clause that is not allowed: keep to standard SQL")
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<String> {
        to_control_flow(check_table(relation, self.dialect, self.engine_tables))
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<String> {
        match factor {
            TableFactor::Table {
                name,
                args,
                with_hints,
                version,
                with_ordinality: _,
                partitions,
                json_path,
                sample,
                index_hints,
                alias: _,
            } => {
                let foreign = !with_hints.is_empty()
                    || version.is_some()
                    || !partitions.is_empty()
                    || json_path.is_some()
                    || sample.is_some()
                    || !index_hints.is_empty()
                    || args.as_ref().is_some_and(|it| it.settings.is_some());
                refuse_if(foreign, "a table has a clause that is not allowed: keep to standard SQL")?;
                if args.is_some() { to_control_flow(functions::check(&name_parts(name), self.safe)) } else { ControlFlow::Continue(()) }
            }
            TableFactor::Function { name, .. } => to_control_flow(functions::check(&name_parts(name), self.safe)),
            TableFactor::Derived { sample, .. } => refuse_if(sample.is_some(), "sampling is not allowed: leave it out"),
            TableFactor::NestedJoin { .. } => ControlFlow::Continue(()),
            TableFactor::UNNEST { with_offset, .. } => refuse_if(*with_offset, "'with offset' is not allowed: leave it out"),
            _ => refuse_if(true, "a source of rows is not allowed: read tables, subqueries and table functions"),
        }
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<String> {
        to_control_flow(check_expression(expr, self.safe))
    }

    fn pre_visit_value(&mut self, value: &ValueWithSpan) -> ControlFlow<String> {
        let fine = match &value.value {
            Value::Number(_, long) => !long,
            Value::SingleQuotedString(_) | Value::DollarQuotedString(_) | Value::EscapedStringLiteral(_) => true,
            Value::UnicodeStringLiteral(_) | Value::NationalStringLiteral(_) => true,
            Value::HexStringLiteral(digits) | Value::SingleQuotedByteStringLiteral(digits) => {
                digits.chars().all(|it| it.is_ascii_hexdigit())
            }
            Value::Boolean(_) | Value::Null | Value::Placeholder(_) => true,
            _ => false,
        };
        refuse_if(!fine, "a literal has a form that is not allowed: write numbers, and strings as 'string'")
    }
}

/// Checks the body of a query, including both sides of a set operation.
fn check_body(expr: &SetExpr) -> ControlFlow<String> {
    match expr {
        SetExpr::Select(_) | SetExpr::Query(_) | SetExpr::Values(_) => ControlFlow::Continue(()),
        SetExpr::SetOperation { left, right, .. } => {
            check_body(left)?;
            check_body(right)
        }
        // The printer does not quote this table name.
        SetExpr::Table(_) => refuse_if(true, "'table NAME' is not allowed: write select * from NAME"),
        SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => {
            refuse_if(true, "a query that changes rows is not allowed: only read")
        }
    }
}

fn is_plain(item: &SelectItem) -> bool {
    let plain = |options: &WildcardAdditionalOptions| {
        options.opt_ilike.is_none()
            && options.opt_exclude.is_none()
            && options.opt_except.is_none()
            && options.opt_replace.is_none()
            && options.opt_rename.is_none()
            && options.opt_alias.is_none()
    };
    match item {
        SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. } => true,
        SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options) => plain(options),
        SelectItem::ExprWithAliases { .. } => false,
    }
}

/// Refuses system tables, tables of other databases, temporary tables, and the engine's own.
fn check_table(name: &ObjectName, dialect: Dialect, engine_tables: bool) -> Result<(), String> {
    let parts = name_parts(name);
    let folded: Vec<String> = parts.iter().flatten().map(|it| it.to_lowercase()).collect();
    let (schema, table) = match folded.as_slice() {
        [table] if parts.len() == 1 => (None, table),
        [schema, table] if parts.len() == 2 => (Some(schema.as_str()), table),
        _ => return Err(format!("the table '{name}' is not allowed: name at most a schema before it")),
    };
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| table.starts_with(prefix));
    let fine = match dialect {
        Dialect::Sqlite => {
            schema.is_none_or(|it| it == "main")
                && !begins(&["sqlite_", "pragma_"])
                && !["dbstat", "bytecode", "tables_used"].contains(&table.as_str())
        }
        Dialect::Postgres => schema.is_none_or(|schema| !schema.starts_with("pg_") && schema != "information_schema") && !begins(&["pg_"]),
    };
    if !fine {
        return Err(format!("the table '{name}' is not allowed: read the tables of the application"));
    }
    relations::refusal(table, engine_tables).map_or(Ok(()), Err)
}

/// The parts of a name; `None` for a computed part.
fn name_parts(name: &ObjectName) -> Vec<Option<String>> {
    let part = |part: &ObjectNamePart| part.as_ident().map(|ident| ident.value.clone());
    name.0.iter().map(part).collect()
}

fn check_expression(expr: &Expr, safe: bool) -> Result<(), String> {
    match expr {
        Expr::Function(function) => check_call(function, safe),
        Expr::BinaryOp { op, .. } | Expr::AnyOp { compare_op: op, .. } | Expr::AllOp { compare_op: op, .. } => check_operator(op),
        Expr::Cast { data_type, format, .. } if format.is_none() => check_data_type(data_type),
        Expr::TypedString(typed) => check_data_type(&typed.data_type),
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::CompoundFieldAccess { .. } | Expr::Value(_) => Ok(()),
        Expr::IsFalse(_) | Expr::IsNotFalse(_) | Expr::IsTrue(_) | Expr::IsNotTrue(_) | Expr::IsNull(_) | Expr::IsNotNull(_) => Ok(()),
        Expr::IsUnknown(_) | Expr::IsNotUnknown(_) | Expr::IsDistinctFrom(..) | Expr::IsNotDistinctFrom(..) => Ok(()),
        Expr::IsJson { .. } | Expr::IsNormalized { .. } => Ok(()),
        Expr::InList { .. } | Expr::InSubquery { .. } | Expr::Between { .. } | Expr::Exists { .. } | Expr::Subquery(_) => Ok(()),
        Expr::Like { .. } | Expr::ILike { .. } | Expr::SimilarTo { .. } | Expr::UnaryOp { .. } => Ok(()),
        Expr::Extract { .. } | Expr::Ceil { .. } | Expr::Floor { .. } | Expr::Position { .. } | Expr::Substring { .. } => Ok(()),
        Expr::Trim { .. } | Expr::Overlay { .. } | Expr::AtTimeZone { .. } | Expr::Interval(_) | Expr::Collate { .. } => Ok(()),
        Expr::Nested(_) | Expr::Tuple(_) | Expr::Array(_) | Expr::Case { .. } => Ok(()),
        Expr::GroupingSets(_) | Expr::Cube(_) | Expr::Rollup(_) | Expr::Wildcard(_) | Expr::QualifiedWildcard(..) => Ok(()),
        other => Err(format!("the expression '{}' is not allowed: keep to standard SQL", truncate(&other.to_string()))),
    }
}

fn check_call(function: &Function, safe: bool) -> Result<(), String> {
    if function.uses_odbc_syntax || function.parameters != FunctionArguments::None {
        return Err(format!("the call of '{}' has a form that is not allowed: keep to standard SQL", function.name));
    }
    functions::check(&name_parts(&function.name), safe)
}

/// Refuses user-defined operators, because they run functions.
fn check_operator(op: &BinaryOperator) -> Result<(), String> {
    match op {
        BinaryOperator::Custom(_) | BinaryOperator::PGCustomBinaryOperator(_) | BinaryOperator::Assignment => {
            Err(format!("the operator '{op}' is not allowed: use a standard one"))
        }
        _ => Ok(()),
    }
}

/// Checks the text of a type, because the parser keeps parts of it unparsed.
fn check_data_type(data_type: &DataType) -> Result<(), String> {
    let text = data_type.to_string();
    let fine = text.chars().all(|letter| letter.is_ascii_alphanumeric() || "_ ,()[].".contains(letter));
    if fine { Ok(()) } else { Err(format!("the type '{}' is not allowed: use a standard one", truncate(&text))) }
}

fn truncate(text: &str) -> String {
    text.chars().take(60).collect()
}

fn refuse_if(refused: bool, reason: &str) -> ControlFlow<String> {
    if refused { ControlFlow::Break(reason.to_owned()) } else { ControlFlow::Continue(()) }
}

fn to_control_flow(result: Result<(), String>) -> ControlFlow<String> {
    match result {
        Ok(()) => ControlFlow::Continue(()),
        Err(reason) => ControlFlow::Break(reason),
    }
}
