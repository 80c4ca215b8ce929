//! Converts web pages to Markdown.

use std::rc::Rc;

use htmd::element_handler::{HandlerResult, Handlers};
use htmd::{Element, HtmlToMarkdown};

use super::html_simplifier::{Refusal, simplify};

/// Deeper pages would exhaust the stack of the converter.
const MAX_DEPTH: usize = 200;

/// Elements without the text of the page.
const SKIPPED: [&str; 17] = [
    "script", "style", "noscript", "template", "head", "nav", "header", "footer", "aside", "form", "button", "select", "svg", "iframe",
    "object", "img", "dialog",
];

/// Elements of which only the text is kept: the addresses of links are not searched for, and marks of emphasis would divide words.
const PLAIN: [&str; 5] = ["a", "b", "strong", "i", "em"];

/// A web page.
#[derive(Debug)]
pub struct Page {
    /// Its title.
    pub title: Option<String>,
    /// Its main text.
    pub markdown: String,
}

/// Converts a page.
///
/// # Errors
/// The reason why it cannot be converted.
pub fn convert(html: &str) -> Result<Page, String> {
    let too_deep = || format!("its elements are nested more than {MAX_DEPTH} levels deep");
    let simplified = simplify(html).map_err(|Refusal::TooManyOpenElements| too_deep())?;
    let converter = HtmlToMarkdown::builder().skip_tags(SKIPPED.to_vec()).add_handler(PLAIN.to_vec(), text_of).build();
    let tree = converter.html_to_tree(&simplified).map_err(|_| "it cannot be parsed")?;
    let mut level = vec![Rc::clone(&tree)];
    for depth in 0.. {
        level = level.iter().flat_map(|node| node.children.borrow().iter().cloned().collect::<Vec<_>>()).collect();
        if level.is_empty() {
            break;
        }
        if depth > MAX_DEPTH {
            return Err(too_deep());
        }
    }
    Ok(Page { title: title(html), markdown: converter.tree_to_markdown(&tree) })
}

fn text_of(handlers: &dyn Handlers, element: Element<'_>) -> Option<HandlerResult> {
    Some(handlers.walk_children(element.node))
}

/// Returns the title, which is not part of the main text.
fn title(html: &str) -> Option<String> {
    let lower = html.to_ascii_lowercase();
    let start = lower.find("<title")?;
    let end = start + lower.get(start..)?.find("</title>")?;
    let inner = html.get(start..end)?.split_once('>')?.1;
    // Decodes character references; Markdown escapes punctuation.
    let text = htmd::convert(&inner.replace('<', "&lt;")).ok()?.replace('\\', "");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(text).filter(|it| !it.is_empty())
}
