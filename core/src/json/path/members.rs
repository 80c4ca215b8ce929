//! Collects the members of a document that a path reads, so that only these have to be built.

use super::filter::{Filter, Operand};
use super::query::{Path, Segment};

/// Returns the members of the document that decide whether the path matches; `None` when any of them may.
pub(super) fn of(path: &Path) -> Option<Vec<String>> {
    let mut members = Vec::new();
    of_path(path, true, &mut members)?;
    Some(members)
}

/// Adds the members that a path reads and returns whether it ends at the document itself. `at_document` tells whether `@` is the
/// document.
fn of_path(path: &Path, at_document: bool, members: &mut Vec<String>) -> Option<bool> {
    let mut at_document = path.from_document || at_document;
    for segment in &path.segments {
        match segment {
            Segment::Filter(filter) => of_filter(filter, at_document, members)?,
            Segment::Name(name) if at_document => members.push(name.clone()),
            Segment::Names(names) if at_document => members.extend(names.iter().cloned()),
            Segment::Select(_) | Segment::Length if at_document => return None,
            Segment::Name(_) | Segment::Names(_) | Segment::Select(_) | Segment::Length => {}
        }
        at_document &= matches!(segment, Segment::Filter(_));
    }
    Some(at_document)
}

fn of_filter(filter: &Filter, at_document: bool, members: &mut Vec<String>) -> Option<()> {
    match filter {
        Filter::Any(filters) | Filter::All(filters) => filters.iter().try_for_each(|it| of_filter(it, at_document, members)),
        Filter::Not(inner) => of_filter(inner, at_document, members),
        Filter::Exists(path) => of_path(path, at_document, members).map(|_| ()),
        Filter::Compare(a, _, b) => [a, b].into_iter().try_for_each(|it| of_operand(it, at_document, members)),
        Filter::Matches(operand, _) => of_operand(operand, at_document, members),
    }
}

fn of_operand(operand: &Operand, at_document: bool, members: &mut Vec<String>) -> Option<()> {
    match operand {
        // The document itself is compared.
        Operand::Path(path) => of_path(path, at_document, members).filter(|ends_at_document| !ends_at_document).map(|_| ()),
        Operand::Literal(_) => Some(()),
    }
}
