//! The layers that the attributes of a block tag wrap around its body.

use super::expression::LocatedExpr;
use super::node::TemplateNode;
use super::variables::is_variable_read;

/// A layer that one attribute of a tag wraps around the block.
#[derive(Debug)]
pub(super) enum Layer {
    Each { item: String, state: String, list: LocatedExpr },
    If { condition: LocatedExpr, expected: bool },
    Case(Option<LocatedExpr>),
    Switch(LocatedExpr),
    With { name: String, value: LocatedExpr },
    Text { value: LocatedExpr, escape: bool },
}

impl Layer {
    /// Returns the nesting order of attributes of one tag; the lowest is the outermost.
    pub fn rank(&self) -> usize {
        match self {
            Layer::Each { .. } => 0,
            Layer::If { .. } => 1,
            Layer::Case(_) => 2,
            Layer::Switch(_) => 3,
            Layer::With { .. } => 4,
            Layer::Text { .. } => 5,
        }
    }

    /// Wraps the layer around the body of its block.
    pub fn wrap(self, body: Vec<TemplateNode>) -> TemplateNode {
        match self {
            Layer::Each { item, state, list } => {
                let state = is_variable_read(&body, &state).then_some(state);
                TemplateNode::Each { item, state, list, body }
            }
            Layer::If { condition, expected: wanted } => TemplateNode::If { condition, expected: wanted, body },
            Layer::Case(value) => TemplateNode::Case { value, body },
            Layer::Switch(value) => TemplateNode::Switch { value, body },
            Layer::With { name, value } => TemplateNode::With { name, value, body },
            Layer::Text { value, escape } => TemplateNode::Output { value, escape },
        }
    }
}
