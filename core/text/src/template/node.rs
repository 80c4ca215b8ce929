//! The tree of a compiled template.

use super::expression::LocatedExpr;

/// A node of a compiled template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TemplateNode {
    Text(String),
    Output {
        value: LocatedExpr,
        escape: bool,
    },
    Each {
        item: String,
        /// The name of the loop's state variable, if the body reads it.
        state: Option<String>,
        list: LocatedExpr,
        body: Vec<TemplateNode>,
    },
    If {
        condition: LocatedExpr,
        expected: bool,
        body: Vec<TemplateNode>,
    },
    Switch {
        value: LocatedExpr,
        body: Vec<TemplateNode>,
    },
    Case {
        /// The value to compare with; `None` always matches.
        value: Option<LocatedExpr>,
        body: Vec<TemplateNode>,
    },
    With {
        name: String,
        value: LocatedExpr,
        body: Vec<TemplateNode>,
    },
}
