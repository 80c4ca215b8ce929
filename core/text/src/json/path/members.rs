//! Collects the members of a document that a path reads, so that only these have to be built.

use super::select::Selector;
use super::tree::{CompiledPath, PathFilter, PathOperand, PathPattern, PathSegment};

/// The members of a document that a path reads.
#[derive(Debug, Clone)]
pub(super) struct ReadMembers {
    /// Their names.
    pub names: Vec<String>,
    /// Whether the path finds the document itself, with all of its members.
    pub finds_document: bool,
}

/// Returns the members of the document that decide whether the path matches; `None` when any of them may.
pub(super) fn collect_members(path: &CompiledPath) -> Option<ReadMembers> {
    let mut names = Vec::new();
    let finds_document = visit_path(path, true, &mut names)?;
    Some(ReadMembers { names, finds_document })
}

/// Adds the members that a path reads and returns whether it ends at the document itself. `at_document` tells whether `@` is the
/// document.
fn visit_path(path: &CompiledPath, at_document: bool, members: &mut Vec<String>) -> Option<bool> {
    let mut at_document = path.from_document || at_document;
    for segment in &path.segments {
        match segment {
            PathSegment::Filter(filter) => visit_filter(filter, at_document, members)?,
            PathSegment::Name(name) if at_document => members.push(name.clone()),
            PathSegment::Names(names) if at_document => members.extend(names.iter().cloned()),
            PathSegment::Select(_) if at_document => return None,
            PathSegment::Select(selection) => {
                for selector in &selection.selectors {
                    if let Selector::Filter(filter) = selector {
                        visit_filter(filter, false, members)?;
                    }
                }
            }
            PathSegment::Name(_) | PathSegment::Names(_) => {}
        }
        at_document &= matches!(segment, PathSegment::Filter(_));
    }
    Some(at_document)
}

fn visit_filter(filter: &PathFilter, at_document: bool, members: &mut Vec<String>) -> Option<()> {
    match filter {
        PathFilter::Any(filters) | PathFilter::All(filters) => filters.iter().try_for_each(|it| visit_filter(it, at_document, members)),
        PathFilter::Not(inner) => visit_filter(inner, at_document, members),
        PathFilter::Exists(path) => visit_path(path, at_document, members).map(|_| ()),
        PathFilter::Compare(a, _, b) => [a, b].into_iter().try_for_each(|it| visit_operand(it, at_document, members)),
        PathFilter::Matches(operand, pattern) => {
            visit_operand(operand, at_document, members)?;
            match pattern {
                PathPattern::Literal(_) => Some(()),
                PathPattern::Dynamic(pattern, _) => visit_operand(pattern, at_document, members),
            }
        }
    }
}

fn visit_operand(operand: &PathOperand, at_document: bool, members: &mut Vec<String>) -> Option<()> {
    match operand {
        // The document itself is compared.
        PathOperand::Path(path) | PathOperand::Count(path) | PathOperand::Only(path) => {
            visit_path(path, at_document, members).filter(|ends_at_document| !ends_at_document).map(|_| ())
        }
        PathOperand::Length(of) => visit_operand(of, at_document, members),
        PathOperand::Literal(_) => Some(()),
    }
}
