//! Collects the variables that a template reads.

use std::collections::BTreeSet;

use serde_json::Value;

use super::expression::{PathExpr, PathRoot, PathStep, TemplateExpr};
use super::node::TemplateNode;

/// Returns the dotted paths that a template reads, without the variables of its own blocks.
pub(super) fn collect_variables(nodes: &[TemplateNode]) -> Vec<String> {
    let mut reader = VariableCollector::default();
    reader.visit_nodes(nodes);
    reader.found.into_iter().collect()
}

/// Returns the dotted paths that an expression reads.
pub(super) fn collect_expression_variables(expr: &TemplateExpr) -> Vec<String> {
    let mut reader = VariableCollector::default();
    reader.visit_expr(expr);
    reader.found.into_iter().collect()
}

/// Returns whether any expression reads a variable or a part of it.
pub(super) fn is_variable_read(nodes: &[TemplateNode], name: &str) -> bool {
    let first = |path: &String| path.split('.').next() == Some(name);
    collect_variables(nodes).iter().any(first)
}

#[derive(Default)]
struct VariableCollector<'n> {
    locals: Vec<&'n str>,
    found: BTreeSet<String>,
}

impl<'n> VariableCollector<'n> {
    fn visit_nodes(&mut self, nodes: &'n [TemplateNode]) {
        for node in nodes {
            match node {
                TemplateNode::Text(_) => {}
                TemplateNode::Output { value, .. } => self.visit_expr(&value.root),
                TemplateNode::If { condition: value, body, .. } | TemplateNode::Switch { value, body } => {
                    self.visit_expr(&value.root);
                    self.visit_nodes(body);
                }
                TemplateNode::Case { value, body } => {
                    self.visit_exprs(value.iter().map(|it| &it.root));
                    self.visit_nodes(body);
                }
                TemplateNode::With { name, value, body } => {
                    self.visit_expr(&value.root);
                    self.visit_within([Some(name), None], body);
                }
                TemplateNode::Each { item, state, list, body } => {
                    self.visit_expr(&list.root);
                    self.visit_within([Some(item), state.as_ref()], body);
                }
            }
        }
    }

    fn visit_within(&mut self, locals: [Option<&'n String>; 2], body: &'n [TemplateNode]) {
        let outer = self.locals.len();
        self.locals.extend(locals.into_iter().flatten().map(String::as_str));
        self.visit_nodes(body);
        self.locals.truncate(outer);
    }

    fn visit_exprs(&mut self, exprs: impl IntoIterator<Item = &'n TemplateExpr>) {
        exprs.into_iter().for_each(|it| self.visit_expr(it));
    }

    fn visit_expr(&mut self, expr: &'n TemplateExpr) {
        match expr {
            TemplateExpr::Literal(_) => {}
            TemplateExpr::Path(path) => self.visit_path(path),
            TemplateExpr::Utility(_, arguments) => self.visit_exprs(arguments),
            TemplateExpr::Join(pieces) => self.visit_exprs(pieces),
            TemplateExpr::Not(value) | TemplateExpr::Negative(value) | TemplateExpr::Truth(value) => self.visit_expr(value),
            TemplateExpr::Choice(it) => self.visit_exprs([&it.condition, &it.yes, &it.no]),
            TemplateExpr::Fallback(it) => self.visit_exprs([&it.value, &it.fallback]),
            TemplateExpr::Chain(chain) => {
                self.visit_expr(&chain.first);
                self.visit_exprs(chain.rest.iter().map(|it| &it.1));
            }
        }
    }

    fn visit_path(&mut self, path: &'n PathExpr) {
        match &path.root {
            PathRoot::Value(value) => self.visit_expr(value),
            PathRoot::Name(name) if self.locals.contains(&name.as_str()) => {}
            PathRoot::Name(name) => {
                let plain = path.steps.iter().map_while(member_name);
                let dotted = plain.fold(name.clone(), |path, part| format!("{path}.{part}"));
                self.found.insert(dotted);
            }
        }
        for part in &path.steps {
            match part {
                PathStep::Member(_) => {}
                // A bare name in brackets is usually the key itself.
                PathStep::Index(key) if key.bare_name().is_some_and(|it| !self.locals.contains(&it)) => {}
                PathStep::Index(key) => self.visit_expr(key),
                PathStep::Call { arguments, .. } => self.visit_exprs(arguments),
            }
        }
    }
}

fn member_name(part: &PathStep) -> Option<&str> {
    match part {
        PathStep::Member(name) => Some(name),
        PathStep::Index(TemplateExpr::Literal(Value::String(name))) if !name.contains('.') => Some(name),
        PathStep::Index(_) | PathStep::Call { .. } => None,
    }
}
