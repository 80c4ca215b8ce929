//! Finds the builtins that a script uses and the interpreter lacks.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::visitor::{Visitor, walk_alias, walk_expr, walk_parameter, walk_stmt};
use ruff_python_ast::{Alias, Expr, ExprContext, Parameter, Stmt};
use ruff_text_size::{Ranged, TextSize};

use super::{Finding, line_at};

/// Builtins of Python that the interpreter lacks, or that have no meaning here.
const MISSING: [&str; 25] = [
    "__import__",
    "aiter",
    "anext",
    "ascii",
    "breakpoint",
    "bytearray",
    "callable",
    "classmethod",
    "compile",
    "delattr",
    "dir",
    "exit",
    "globals",
    "help",
    "input",
    "issubclass",
    "memoryview",
    "open",
    "property",
    "quit",
    "staticmethod",
    "super",
    "vars",
    "ExceptionGroup",
    "BaseExceptionGroup",
];

/// Returns the missing builtins that a script reads without binding the name anywhere, in order of their names.
pub fn find_missing_builtins(code: &str, body: &[Stmt]) -> Vec<Finding> {
    let mut names = Names::default();
    names.visit_body(body);
    let missing = names.read.iter().filter(|(name, _)| MISSING.contains(name) && !names.bound.contains(*name));
    missing.map(|(name, at)| Finding { line: line_at(code, *at), message: format!("NameError: name '{name}' is not defined") }).collect()
}

/// The names that a script reads, where it first does so, and those that it binds.
#[derive(Default)]
struct Names<'a> {
    read: BTreeMap<&'a str, TextSize>,
    bound: BTreeSet<&'a str>,
}

impl<'a> Visitor<'a> for Names<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(function) => self.bound.insert(function.name.as_str()),
            Stmt::ClassDef(class) => self.bound.insert(class.name.as_str()),
            _ => false,
        };
        walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Name(name) = expr {
            if name.ctx == ExprContext::Load {
                self.read.entry(name.id.as_str()).or_insert_with(|| name.start());
            } else {
                self.bound.insert(name.id.as_str());
            }
        }
        walk_expr(self, expr);
    }

    fn visit_parameter(&mut self, parameter: &'a Parameter) {
        self.bound.insert(parameter.name.as_str());
        walk_parameter(self, parameter);
    }

    fn visit_alias(&mut self, alias: &'a Alias) {
        self.bound.insert(alias.asname.as_ref().unwrap_or(&alias.name).as_str());
        walk_alias(self, alias);
    }
}
