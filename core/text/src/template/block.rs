//! Builds the tree of nested blocks from the scanned pieces.

use super::layer::Layer;
use super::node::TemplateNode;
use super::parse::MAX_DEPTH;
use super::scan::TemplatePiece;
use super::tag::Tag;

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
