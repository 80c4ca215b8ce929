//! The tables that statements name: the engine's own ones, and those that a repaired query may read.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{ObjectName, Query, Statement, Visit, Visitor, visit_relations};

/// Prefixes of the engine's own tables.
const ENGINE_PREFIXES: [&str; 3] = ["ce_", "cv_", "cs_"];

/// Prefixes of the engine's tables that hold credentials, which no query reads.
const CREDENTIAL_PREFIXES: [&str; 4] = ["cs_secret", "cs_deployment", "cs_resume_token", "cv_api_key"];

/// The refusal of a relation, by its name; `None` when a query may read it.
pub(super) fn refusal(relation: &str, engine_tables: bool) -> Option<String> {
    let name = relation.to_lowercase();
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    if begins(&CREDENTIAL_PREFIXES) {
        return Some(format!("the table '{relation}' is not allowed: read the tables of the application"));
    }
    let own = begins(&ENGINE_PREFIXES) && !engine_tables;
    own.then(|| {
        format!("the table '{relation}' belongs to the engine; query other tables, or set \"engine_tables\": true in the spec of the tool")
    })
}

/// The names of the relations of a statement, in lower case without a schema.
pub(super) fn names(statement: &Statement) -> BTreeSet<String> {
    relations_of(statement).into_iter().map(|relation| relation.rsplit('\u{0}').next().unwrap_or_default().to_owned()).collect()
}

/// Checks that a repaired query reads only what its template reads.
///
/// # Errors
/// The refusal.
pub(super) fn check_repair(repaired: &Statement, template: &Statement) -> Result<(), String> {
    let mut expressions = ExpressionNames::default();
    let _ = template.visit(&mut expressions);
    let mut allowed = relations_of(template);
    allowed.retain(|it| !expressions.0.contains(it));
    let Statement::Query(query) = repaired else { return Err("only queries are allowed".to_owned()) };
    match tables_of(query).into_iter().find(|it| !allowed.contains(it)) {
        None => Ok(()),
        Some(other) => {
            let other = other.replace('\u{0}', ".");
            Err(format!("the repaired query reads '{other}', which its template does not: correct the template instead"))
        }
    }
}

/// The relations of a query without its common table expressions. A name counts as an expression only where that is certain: after its
/// definition, so that an expression cannot hide a table of its name.
fn tables_of(query: &Query) -> BTreeSet<String> {
    let mut defined = BTreeSet::new();
    let mut tables = BTreeSet::new();
    let recursive = query.with.as_ref().is_some_and(|it| it.recursive);
    for expression in query.with.iter().flat_map(|it| &it.cte_tables) {
        let name = fold(&expression.alias.name.value);
        if recursive {
            defined.insert(name.clone());
        }
        tables.extend(relations_of(&expression.query).into_iter().filter(|it| !defined.contains(it)));
        defined.insert(name);
    }
    let body = Query { with: None, ..query.clone() };
    tables.extend(relations_of(&body).into_iter().filter(|it| !defined.contains(it)));
    tables
}

/// The relations of a node: parts of the name in lower case, with NUL between them.
fn relations_of<N: Visit>(node: &N) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let _: ControlFlow<()> = visit_relations(node, |name: &ObjectName| {
        let parts: Vec<String> =
            name.0.iter().map(|part| part.as_ident().map_or_else(|| part.to_string(), |ident| ident.value.clone())).collect();
        found.insert(fold(&parts.join("\u{0}")));
        ControlFlow::Continue(())
    });
    found
}

fn fold(name: &str) -> String {
    name.to_lowercase()
}

/// The names of all common table expressions, at any depth.
#[derive(Default)]
struct ExpressionNames(BTreeSet<String>);

impl Visitor for ExpressionNames {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.0.extend(query.with.iter().flat_map(|it| &it.cte_tables).map(|it| fold(&it.alias.name.value)));
        ControlFlow::Continue(())
    }
}
