//! Finds the templates, expressions and variable paths of a document.

use convengine_config::flow::document::ProgramKind;
use convengine_config::flow::shape::{Leaf, Meaning, TextUse};
use convengine_config::flow::{document_leaves, node_leaves, step_leaves};
use convengine_text::expr::{self, Expr};
use convengine_text::interpolation::{self, Interpolation};
use convengine_text::variable_path::{VariablePath, with_brackets};
use serde_json::Value;

/// A template, an expression or a path.
pub(super) struct SourceText<'g> {
    /// The JSON Pointer to it.
    pub path: String,
    /// The source text.
    pub source: &'g str,
    pub kind: TextKind,
    /// The parse result.
    pub parsed: ParsedText,
    /// Additional roots that are available here.
    pub extra_roots: &'static [&'static str],
    /// The name of its owner, outside of graphs.
    pub owner_name: Option<String>,
}

/// The purpose of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextKind {
    /// A message text, or a part of a JSON value.
    Text,
    /// The URL of a request.
    Url,
    /// A query parameter of a request.
    Query,
    /// A header of a request.
    Header,
    /// A text within a JSON request body.
    Body,
    /// A request body that is one text.
    TextBody,
    /// A condition.
    Condition,
    /// An expression that computes a value.
    Formula,
    /// The path of a variable.
    Path,
}

/// The parse result of a text.
pub(super) enum ParsedText {
    Interpolation(Result<Interpolation, interpolation::InterpolationError>),
    Expr(Result<Expr, expr::ExprError>),
    Path(Option<VariablePath>),
}

impl TextKind {
    /// Whether the host resolves secrets here.
    pub fn accepts_secrets(self) -> bool {
        matches!(self, TextKind::Url | TextKind::Query | TextKind::Header | TextKind::Body | TextKind::TextBody)
    }
}

impl<'g> SourceText<'g> {
    /// Parses a string of a document; `None` for one that is no template, expression or path that is read.
    fn from_leaf(leaf: Leaf<'g>) -> Option<SourceText<'g>> {
        let source = leaf.text;
        let (kind, parsed) = match leaf.meaning {
            Meaning::Template(place) => {
                let kind = match place {
                    TextUse::Text | TextUse::Prompt => TextKind::Text,
                    TextUse::Url => TextKind::Url,
                    TextUse::Query => TextKind::Query,
                    TextUse::Header => TextKind::Header,
                    TextUse::Body if leaf.is_whole => TextKind::TextBody,
                    TextUse::Body => TextKind::Body,
                };
                (kind, ParsedText::Interpolation(Interpolation::parse(source)))
            }
            Meaning::Condition => (TextKind::Condition, ParsedText::Expr(Expr::parse(source))),
            Meaning::WorkflowCondition => (TextKind::Condition, ParsedText::Expr(Expr::parse_workflow(source))),
            Meaning::Formula => (TextKind::Formula, ParsedText::Expr(Expr::parse_value(source))),
            Meaning::Reads => (TextKind::Path, ParsedText::Path(VariablePath::parse(source).ok())),
            Meaning::Plain
            | Meaning::Writes
            | Meaning::Secret
            | Meaning::Regex
            | Meaning::Pattern
            | Meaning::Script
            | Meaning::Names(_) => {
                return None;
            }
        };
        Some(SourceText { path: leaf.pointer, source, kind, parsed, extra_roots: leaf.roots, owner_name: None })
    }

    /// Parses the condition of an edge. In a workflow graph an empty one is the default.
    pub fn from_edge(path: String, source: &'g str, kind: ProgramKind) -> SourceText<'g> {
        let parsed = match kind {
            ProgramKind::Workflow => Expr::parse_workflow(if source.trim().is_empty() { "else" } else { source }),
            ProgramKind::Assistant | ProgramKind::Agent => Expr::parse(source),
        };
        SourceText { path, source, kind: TextKind::Condition, parsed: ParsedText::Expr(parsed), extra_roots: &[], owner_name: None }
    }

    /// Returns the template, if it is a valid one.
    pub fn interpolation(&self) -> Option<&Interpolation> {
        if let ParsedText::Interpolation(Ok(braces)) = &self.parsed { Some(braces) } else { None }
    }

    /// Returns the expression, if it is a valid one.
    pub fn expr(&self) -> Option<&Expr> {
        if let ParsedText::Expr(Ok(expr)) = &self.parsed { Some(expr) } else { None }
    }

    /// How to write a name with `-`, where a path that is not known is the beginning of one, or what follows the `-` in it.
    pub fn bracket_fix(&self, path: &VariablePath) -> Option<String> {
        let words = self.source.split(|character: char| !(character.is_ascii_alphanumeric() || "_.-".contains(character)));
        let (name, path) = (path.first_name(), path.to_string());
        let is_part =
            |word: &&str| word.strip_prefix(&path).is_some_and(|rest| rest.starts_with('-')) || word.contains(&format!("-{name}"));
        let written = words.filter(is_part).find_map(with_brackets)?;
        Some(format!("write {written} for a name with '-', or put spaces around the minus"))
    }

    /// Returns the paths that it reads.
    pub fn paths(&self) -> Vec<VariablePath> {
        match &self.parsed {
            ParsedText::Interpolation(Ok(braces)) => braces.paths(),
            ParsedText::Expr(Ok(expr)) => expr.paths(),
            ParsedText::Path(Some(path)) => vec![path.clone()],
            ParsedText::Interpolation(Err(_)) | ParsedText::Expr(Err(_)) | ParsedText::Path(None) => Vec::new(),
        }
    }
}

/// Returns the texts of a node, without those of its edges.
pub(super) fn node_texts<'g>(kind: ProgramKind, node: &'g Value, path: &str) -> Vec<SourceText<'g>> {
    node_leaves(kind, node, path).into_iter().filter_map(SourceText::from_leaf).collect()
}

/// Returns the texts outside of graphs.
pub(super) fn document_texts(kind: ProgramKind, document: &Value) -> Vec<SourceText<'_>> {
    let mut texts: Vec<_> = document_leaves(kind, document).into_iter().filter_map(SourceText::from_leaf).collect();
    for text in &mut texts {
        let of_tool = text.path.strip_prefix("/tools/").and_then(|it| it.split_once('/'));
        let name = of_tool.and_then(|(at, _)| document.pointer(&format!("/tools/{at}/name"))?.as_str());
        text.owner_name = name.map(str::to_owned);
    }
    texts
}

/// Returns the texts of a step of a chain.
pub(super) fn chain_step_texts<'g>(step: &'g Value, path: &str) -> Vec<SourceText<'g>> {
    step_leaves(step, path).into_iter().filter_map(SourceText::from_leaf).collect()
}
