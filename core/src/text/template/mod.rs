//! Templates: text with values, conditions and loops in it. (`spec/data-and-api.md` 4)
//!
//! Outputs are `{{e}}`, `#{e}`, `[${e}]` and `[(${e})]` (raw) and `[[${e}]]` (HTML-escaped), blocks `[# th:if="${e}"] … [/]`. An
//! expression reads variables and calls a few functions of texts, lists and maps: there is no way to code, files or types.
//! Inserted values are never scanned again.

mod block;
mod cursor;
mod evaluate;
mod expression;
mod formula;
mod function;
mod names;
mod parse;
mod render;
mod scan;
mod tag;
mod value;

pub use formula::Formula;

use serde_json::Value;

/// A compiled template; the default one is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Template {
    source: String,
    nodes: Vec<block::Node>,
    names: Vec<String>,
}

/// What a template became.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rendered {
    /// The text; an expression that has no value printed nothing.
    pub text: String,
    /// Why the first expression that could not be evaluated could not, or what limit was reached.
    pub error: Option<String>,
}

impl Template {
    /// Compiles a template.
    ///
    /// # Errors
    /// What is wrong, and at which character or line.
    pub fn compile(source: &str) -> Result<Template, String> {
        // ConvEngine: rows that went through SQL carry this in place of `${`; pinned by the pack `template_known_slips`.
        let mended = source.replace("$'||'{", "${");
        let nodes = block::blocks(scan::pieces(&mended)?)?;
        let names = names::names(&nodes);
        Ok(Template { source: source.to_owned(), nodes, names })
    }

    /// A template that is this text, whatever stands in it.
    pub fn plain(text: &str) -> Template {
        Template { source: text.to_owned(), nodes: vec![block::Node::Text(text.to_owned())], names: Vec::new() }
    }

    /// The text that it was compiled from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The text of a template that names no value.
    pub fn literal(&self) -> Option<&str> {
        match self.nodes.as_slice() {
            [] => Some(""),
            [block::Node::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The paths that the template reads, sorted, as far as they are names joined by dots; variables of its blocks are left out.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// Fills the template; a value that is missing prints as nothing.
    pub fn render<'v>(&self, lookup: impl Fn(&str) -> Option<&'v Value>) -> Rendered {
        render::render(&self.nodes, &lookup)
    }
}

#[cfg(test)]
mod tests;
