//! Collects the variables that a template reads.

use std::collections::BTreeSet;

use serde_json::Value;

use super::block::Node;
use super::expression::{Expr, Part, Path, Root};

/// Returns the dotted paths that a template reads, without the variables of its own blocks.
pub(super) fn names(nodes: &[Node]) -> Vec<String> {
    let mut reader = Reader::default();
    reader.nodes(nodes);
    reader.found.into_iter().collect()
}

/// Returns whether any expression reads a variable or a part of it.
pub(super) fn mentions(nodes: &[Node], name: &str) -> bool {
    let first = |path: &String| path.split('.').next() == Some(name);
    names(nodes).iter().any(first)
}

#[derive(Default)]
struct Reader<'n> {
    locals: Vec<&'n str>,
    found: BTreeSet<String>,
}

impl<'n> Reader<'n> {
    fn nodes(&mut self, nodes: &'n [Node]) {
        for node in nodes {
            match node {
                Node::Text(_) => {}
                Node::Output { value, .. } => self.expr(&value.root),
                Node::If { condition: value, body, .. } | Node::Switch { value, body } => {
                    self.expr(&value.root);
                    self.nodes(body);
                }
                Node::Case { value, body } => {
                    self.exprs(value.iter().map(|it| &it.root));
                    self.nodes(body);
                }
                Node::With { name, value, body } => {
                    self.expr(&value.root);
                    self.within([Some(name), None], body);
                }
                Node::Each { item, state, list, body } => {
                    self.expr(&list.root);
                    self.within([Some(item), state.as_ref()], body);
                }
            }
        }
    }

    fn within(&mut self, locals: [Option<&'n String>; 2], body: &'n [Node]) {
        let outer = self.locals.len();
        self.locals.extend(locals.into_iter().flatten().map(String::as_str));
        self.nodes(body);
        self.locals.truncate(outer);
    }

    fn exprs(&mut self, exprs: impl IntoIterator<Item = &'n Expr>) {
        exprs.into_iter().for_each(|it| self.expr(it));
    }

    fn expr(&mut self, expr: &'n Expr) {
        match expr {
            Expr::Literal(_) => {}
            Expr::Path(path) => self.path(path),
            Expr::Utility(_, arguments) => self.exprs(arguments),
            Expr::Join(pieces) => self.exprs(pieces),
            Expr::Not(value) | Expr::Negative(value) | Expr::Truth(value) => self.expr(value),
            Expr::Choice(it) => self.exprs([&it.condition, &it.yes, &it.no]),
            Expr::Fallback(it) => self.exprs([&it.value, &it.instead]),
            Expr::Chain(chain) => {
                self.expr(&chain.first);
                self.exprs(chain.rest.iter().map(|it| &it.1));
            }
        }
    }

    fn path(&mut self, path: &'n Path) {
        match &path.root {
            Root::Value(value) => self.expr(value),
            Root::Name(name) if self.locals.contains(&name.as_str()) => {}
            Root::Name(name) => {
                let plain = path.parts.iter().map_while(member);
                let dotted = plain.fold(name.clone(), |path, part| format!("{path}.{part}"));
                self.found.insert(dotted);
            }
        }
        for part in &path.parts {
            match part {
                Part::Member(_) => {}
                // A bare name in brackets is usually the key itself.
                Part::Index(key) if key.bare_name().is_some_and(|it| !self.locals.contains(&it)) => {}
                Part::Index(key) => self.expr(key),
                Part::Call { arguments, .. } => self.exprs(arguments),
            }
        }
    }
}

fn member(part: &Part) -> Option<&str> {
    match part {
        Part::Member(name) => Some(name),
        Part::Index(Expr::Literal(Value::String(name))) if !name.contains('.') => Some(name),
        Part::Index(_) | Part::Call { .. } => None,
    }
}
