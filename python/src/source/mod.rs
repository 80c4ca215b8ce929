//! Prepares a script: finds what it may not use, and rewrites what the interpreter lacks.
//!
//! An import of a module outside of the list becomes a statement that raises `ModuleNotFoundError`, so that `try` works around it as usual;
//! the modules that we supply become plain assignments; `del` of an item becomes `pop`. Lines keep their numbers.

mod names;

use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{Expr, ExprContext, Stmt, StmtDelete, StmtImport, StmtImportFrom};
use ruff_text_size::{Ranged, TextRange, TextSize};

use crate::modules::Supplied;

/// The modules that scripts may import and the interpreter provides.
const PROVIDED: [&str; 12] =
    ["base64", "collections", "datetime", "decimal", "functools", "hashlib", "itertools", "json", "math", "random", "re", "unicodedata"];

/// Builtins that run text as a program. They are refused wherever they are read, since no import in such a text could be checked.
const REFUSED: [&str; 2] = ["eval", "exec"];

/// A script that is ready to be run.
#[derive(Debug)]
pub struct Prepared {
    /// The rewritten source.
    pub code: String,
    /// The modules that we supply and the script imports.
    pub supplied: Vec<Supplied>,
    /// Refused names in order of their lines; such a script is not run.
    pub refused: Vec<Finding>,
    /// Imports of modules outside of the list, which raise when they are reached.
    pub imports: Vec<Finding>,
    /// Builtins that the interpreter lacks and the script does not define, which raise when they are reached.
    pub builtins: Vec<Finding>,
}

/// Something at a line of a script.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Finding {
    /// The line, from 1.
    pub line: u32,
    /// What is wrong, as the exception that it raises.
    pub message: String,
}

/// Parses and rewrites a script.
///
/// # Errors
/// The first syntax error.
pub fn prepare(code: &str) -> Result<Prepared, Finding> {
    if !monty::source_within_nesting_bound(code, 0) {
        return Err(Finding { line: 1, message: "SyntaxError: too many nested expressions".to_owned() });
    }
    let parsed = ruff_python_parser::parse_module(code)
        .map_err(|error| Finding { line: line_at(code, error.location.start()), message: format!("SyntaxError: {}", error.error) })?;
    let mut rewriter = Rewriter { code, ..Rewriter::default() };
    rewriter.visit_body(&parsed.syntax().body);
    if let Some(finding) = rewriter.misplaced.take() {
        return Err(finding);
    }
    rewriter.refused.sort_by_key(|it| it.line);
    Ok(Prepared {
        code: rewriter.apply_edits(),
        builtins: names::find_missing_builtins(code, &parsed.syntax().body),
        supplied: rewriter.supplied,
        refused: rewriter.refused,
        imports: rewriter.imports,
    })
}

#[derive(Default)]
struct Rewriter<'c> {
    code: &'c str,
    /// How many functions surround the statement.
    depth: usize,
    /// The first `return` outside of a function.
    misplaced: Option<Finding>,
    edits: Vec<(TextRange, String)>,
    supplied: Vec<Supplied>,
    refused: Vec<Finding>,
    imports: Vec<Finding>,
}

impl<'a> Visitor<'a> for Rewriter<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Import(import) => self.rewrite_import(import),
            Stmt::ImportFrom(import) => self.rewrite_import_from(import),
            Stmt::Delete(delete) => self.rewrite_delete(delete),
            Stmt::Return(statement) if self.depth == 0 && self.misplaced.is_none() => {
                let message = "SyntaxError: 'return' outside function".to_owned();
                self.misplaced = Some(Finding { line: line_at(self.code, statement.start()), message });
            }
            _ => {}
        }
        let nested = matches!(stmt, Stmt::FunctionDef(_));
        self.depth += usize::from(nested);
        walk_stmt(self, stmt);
        self.depth -= usize::from(nested);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Name(name) = expr
            && name.ctx == ExprContext::Load
            && REFUSED.contains(&name.id.as_str())
        {
            let message = format!("NameError: name '{}' is not defined", name.id);
            self.refused.push(Finding { line: line_at(self.code, name.start()), message });
        }
        walk_expr(self, expr);
    }
}

impl Rewriter<'_> {
    fn rewrite_import(&mut self, import: &StmtImport) {
        let mut statements = Vec::new();
        for alias in &import.names {
            let name = alias.name.as_str();
            if let Some(module) = Supplied::find(name) {
                let bound = alias.asname.as_ref().map_or(name, |it| it.as_str());
                statements.push(format!("{bound} = {}", self.supply(module)));
            } else if PROVIDED.contains(&top_level(name)) {
                statements.push(format!("import {}", self.text(alias.range())));
            } else {
                statements.push(self.refuse_import(import.start(), top_level(name)));
            }
        }
        self.replace(import.range(), statements.join("; "));
    }

    fn rewrite_import_from(&mut self, import: &StmtImportFrom) {
        let Some(name) = import.module.as_ref().filter(|_| import.level == 0) else { return };
        if let Some(module) = Supplied::find(name) {
            let statements: Vec<String> = import.names.iter().map(|it| self.bind_member(module, &it.name, it.asname.as_deref())).collect();
            self.replace(import.range(), statements.join("; "));
        } else if !PROVIDED.contains(&top_level(name)) && name.as_str() != "__future__" {
            let statement = self.refuse_import(import.start(), top_level(name));
            self.replace(import.range(), statement);
        }
    }

    fn bind_member(&mut self, module: Supplied, member: &str, bound: Option<&str>) -> String {
        let variable = self.supply(module);
        if module.has_member(member) {
            format!("{} = {variable}.{member}", bound.unwrap_or(member))
        } else {
            format!("raise ImportError(\"cannot import name '{member}' from '{}'\")", module.name())
        }
    }

    fn supply(&mut self, module: Supplied) -> &'static str {
        if !self.supplied.contains(&module) {
            self.supplied.push(module);
        }
        module.variable()
    }

    fn refuse_import(&mut self, at: TextSize, module: &str) -> String {
        let message = format!("No module named '{module}'");
        self.imports.push(Finding { line: line_at(self.code, at), message: format!("ModuleNotFoundError: {message}") });
        format!("raise ModuleNotFoundError(\"{message}\")")
    }

    /// Rewrites `del`, unless a target is an attribute, which objects cannot lose here.
    fn rewrite_delete(&mut self, delete: &StmtDelete) {
        let mut statements = Vec::new();
        for target in flatten(&delete.targets) {
            match self.delete_target(target) {
                Some(statement) => statements.push(statement),
                None => return,
            }
        }
        self.replace(delete.range(), statements.join("; "));
    }

    fn delete_target(&self, target: &Expr) -> Option<String> {
        match target {
            Expr::Name(name) => Some(format!("{} = None", name.id)),
            Expr::Subscript(item) if item.slice.is_slice_expr() => Some(format!("{} = []", self.text(target.range()))),
            Expr::Subscript(item) => Some(format!("({}).pop(({}))", self.text(item.value.range()), self.text(item.slice.range()))),
            _ => None,
        }
    }

    fn text(&self, range: TextRange) -> &str {
        self.code.get(range.to_std_range()).unwrap_or_default()
    }

    /// Replaces a statement. Line continuations stand in for the line breaks that it loses, so that later lines keep their numbers.
    fn replace(&mut self, range: TextRange, mut statement: String) {
        let lost = count_lines(self.text(range)).saturating_sub(count_lines(&statement));
        statement.push_str(&" \\\n".repeat(lost));
        self.edits.push((range, statement));
    }

    fn apply_edits(&mut self) -> String {
        self.edits.sort_by_key(|it| it.0.start());
        let mut code = String::with_capacity(self.code.len() + 16);
        let mut end = 0;
        for (range, text) in &self.edits {
            let range = range.to_std_range();
            code.push_str(self.code.get(end..range.start).unwrap_or_default());
            code.push_str(text);
            end = range.end;
        }
        code.push_str(self.code.get(end..).unwrap_or_default());
        // A script may not end in a line continuation.
        code.push('\n');
        code
    }
}

/// Returns the targets of `del`, without the parentheses and brackets around them.
fn flatten(targets: &[Expr]) -> Vec<&Expr> {
    let mut flat = Vec::new();
    for target in targets {
        match target {
            Expr::Tuple(tuple) => flat.extend(flatten(&tuple.elts)),
            Expr::List(list) => flat.extend(flatten(&list.elts)),
            _ => flat.push(target),
        }
    }
    flat
}

fn top_level(module: &str) -> &str {
    module.split('.').next().unwrap_or_default()
}

fn count_lines(text: &str) -> usize {
    text.bytes().filter(|it| *it == b'\n').count()
}

/// Returns the line of a position, from 1.
pub fn line_at(code: &str, at: TextSize) -> u32 {
    let before = code.get(..at.to_usize()).unwrap_or(code);
    u32::try_from(count_lines(before)).unwrap_or(u32::MAX).saturating_add(1)
}
