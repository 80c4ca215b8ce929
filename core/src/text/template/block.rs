//! Builds the tree of nested blocks from the scanned pieces.

use super::expression::LocatedExpr;
use super::parse::MAX_DEPTH;
use super::scan::TemplatePiece;
use super::tag::Tag;
use super::variables::is_variable_read;

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

    fn wrap(self, body: Vec<TemplateNode>) -> TemplateNode {
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

/// A block that is not closed yet, with the nodes before it.
struct OpenBlock {
    tag: Tag,
    preceding: Vec<TemplateNode>,
}

/// Builds the blocks of a template.
///
/// # Errors
/// The line of a block that is not closed, nests too deeply or is closed by another tag.
pub(super) fn build_blocks(pieces: Vec<TemplatePiece>) -> Result<Vec<TemplateNode>, String> {
    let mut open: Vec<OpenBlock> = Vec::new();
    let mut nodes = Vec::new();
    for piece in pieces {
        match piece {
            TemplatePiece::Text(text) => nodes.push(TemplateNode::Text(text)),
            TemplatePiece::Output { expression, escape } => nodes.push(TemplateNode::Output { value: expression, escape }),
            TemplatePiece::Tag(tag) => {
                check_placement(&tag, &open)?;
                if tag.is_self_closing {
                    nodes.extend(wrap_layers(tag, Vec::new()));
                } else {
                    open.push(OpenBlock { tag, preceding: std::mem::take(&mut nodes) });
                }
            }
            TemplatePiece::Close { name, line } => {
                let OpenBlock { tag, preceding: before } = open.pop().ok_or_else(|| {
                    format!("line {line}: the end of a block tag has no beginning; remove [/{name}] or add [# th:if=\"${{…}}\"] before it")
                })?;
                if tag.name != name {
                    return Err(format!("line {line}: the block of line {} is closed by [/{name}]; use [/{}]", tag.line, tag.name));
                }
                let body = std::mem::replace(&mut nodes, before);
                nodes.extend(wrap_layers(tag, body));
            }
        }
    }
    match open.pop() {
        None => Ok(nodes),
        Some(OpenBlock { tag, .. }) => Err(format!("line {}: a block tag has no end; add [/{}] where its block ends", tag.line, tag.name)),
    }
}

fn check_placement(tag: &Tag, open: &[OpenBlock]) -> Result<(), String> {
    let layers = || open.iter().flat_map(|it| &it.tag.layers);
    if layers().count() + open.len() + tag.layers.len() > MAX_DEPTH {
        return Err(format!("line {}: blocks nest deeper than {MAX_DEPTH}; simplify the template", tag.line));
    }
    let is_case = tag.layers.iter().any(|it| matches!(it, Layer::Case(_)));
    if is_case && !layers().any(|it| matches!(it, Layer::Switch(_))) {
        return Err(format!("line {}: th:case is outside of a block with th:switch; move it into one", tag.line));
    }
    Ok(())
}

/// Wraps the body in the layers of its tag; a tag without layers is just its body.
fn wrap_layers(tag: Tag, body: Vec<TemplateNode>) -> Vec<TemplateNode> {
    tag.layers.into_iter().rev().fold(body, |body, layer| vec![layer.wrap(body)])
}
