//! Builds the tree of nested blocks from the scanned pieces.

use super::expression::Expression;
use super::names::mentions;
use super::parse::MAX_DEPTH;
use super::scan::Piece;
use super::tag::Tag;

/// A node of a compiled template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    Text(String),
    Output {
        value: Expression,
        escape: bool,
    },
    Each {
        item: String,
        /// The name of the loop's state variable, if the body reads it.
        state: Option<String>,
        list: Expression,
        body: Vec<Node>,
    },
    If {
        condition: Expression,
        wanted: bool,
        body: Vec<Node>,
    },
    Switch {
        value: Expression,
        body: Vec<Node>,
    },
    Case {
        /// The value to compare with; `None` always matches.
        value: Option<Expression>,
        body: Vec<Node>,
    },
    With {
        name: String,
        value: Expression,
        body: Vec<Node>,
    },
}

/// A layer that one attribute of a tag wraps around the block.
#[derive(Debug)]
pub(super) enum Layer {
    Each { item: String, state: String, list: Expression },
    If { condition: Expression, wanted: bool },
    Case(Option<Expression>),
    Switch(Expression),
    With { name: String, value: Expression },
    Text { value: Expression, escape: bool },
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

    fn around(self, body: Vec<Node>) -> Node {
        match self {
            Layer::Each { item, state, list } => {
                let state = mentions(&body, &state).then_some(state);
                Node::Each { item, state, list, body }
            }
            Layer::If { condition, wanted } => Node::If { condition, wanted, body },
            Layer::Case(value) => Node::Case { value, body },
            Layer::Switch(value) => Node::Switch { value, body },
            Layer::With { name, value } => Node::With { name, value, body },
            Layer::Text { value, escape } => Node::Output { value, escape },
        }
    }
}

/// A block that is not closed yet, with the nodes before it.
struct Open {
    tag: Tag,
    before: Vec<Node>,
}

/// Builds the blocks of a template.
///
/// # Errors
/// The line of a block that is not closed, nests too deeply or is closed by another tag.
pub(super) fn blocks(pieces: Vec<Piece>) -> Result<Vec<Node>, String> {
    let mut open: Vec<Open> = Vec::new();
    let mut nodes = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Text(text) => nodes.push(Node::Text(text)),
            Piece::Output { expression, escape } => nodes.push(Node::Output { value: expression, escape }),
            Piece::Tag(tag) => {
                fits(&tag, &open)?;
                if tag.closed {
                    nodes.extend(wrapped(tag, Vec::new()));
                } else {
                    open.push(Open { tag, before: std::mem::take(&mut nodes) });
                }
            }
            Piece::Close { name, line } => {
                let Open { tag, before } = open.pop().ok_or_else(|| {
                    format!(
                        "line {line}: the end of a block tag has no beginning; remove [/{name}] or add [# th:if=\"${{…}}\"] before it"
                    )
                })?;
                if tag.name != name {
                    return Err(format!("line {line}: the block of line {} is closed by [/{name}]; use [/{}]", tag.line, tag.name));
                }
                let body = std::mem::replace(&mut nodes, before);
                nodes.extend(wrapped(tag, body));
            }
        }
    }
    match open.pop() {
        None => Ok(nodes),
        Some(Open { tag, .. }) => Err(format!("line {}: a block tag has no end; add [/{}] where its block ends", tag.line, tag.name)),
    }
}

fn fits(tag: &Tag, open: &[Open]) -> Result<(), String> {
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
fn wrapped(tag: Tag, body: Vec<Node>) -> Vec<Node> {
    tag.layers.into_iter().rev().fold(body, |body, layer| vec![layer.around(body)])
}
