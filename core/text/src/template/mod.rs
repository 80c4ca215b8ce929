//! Templates of table rows: text with values, conditions and loops. (docs/spec/data-and-api.md#4)
//!
//! Outputs are `{{e}}`, `#{e}`, `[${e}]` and `[(${e})]` (raw) and `[[${e}]]` (HTML-escaped), blocks `[# th:if="${e}"] … [/]`. An
//! expression reads variables and calls a few functions of strings, lists and maps; it cannot reach code, files or types.
//! Inserted values are never parsed as templates.
//!
//! ```
//! use convengine_text::template::Template;
//! use serde_json::{Value, json};
//!
//! let template = Template::compile("Hello {{customer.name}}, [# th:if=\"${vip}\"]as always, [/]welcome.")?;
//! let values = json!({"customer": {"name": "Ada"}, "vip": true});
//! let rendered = template.render(|name| values.get(name));
//! assert_eq!(rendered.text, "Hello Ada, as always, welcome.");
//! assert!(Template::compile("[# th:if=\"${vip}\"]never closed").is_err());
//! # Ok::<(), String>(())
//! ```

mod block;
mod evaluate;
mod expression;
mod formula;
mod function;
mod java_format;
mod layer;
mod lexer;
mod node;
mod operator;
mod parse;
mod render;
mod scan;
mod tag;
mod value;
mod variables;

pub use formula::Formula;
pub use function::function_names;
pub use render::RenderedTemplate;

use serde_json::Value;

/// A compiled template; empty by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Template {
    source: String,
    nodes: Vec<node::TemplateNode>,
    names: Vec<String>,
}

impl Template {
    /// Compiles a template.
    ///
    /// # Errors
    /// The syntax error, with its character or line.
    pub fn compile(source: &str) -> Result<Template, String> {
        // ConvEngine: rows exported through SQL contain this instead of `${`; pinned by the pack `template_known_slips`.
        let repaired = source.replace("$'||'{", "${");
        let nodes = block::build_blocks(scan::scan_pieces(&repaired)?)?;
        let names = variables::collect_variables(&nodes);
        Ok(Template { source: source.to_owned(), nodes, names })
    }

    /// Creates a template that prints `text` verbatim.
    pub fn from_text(text: &str) -> Template {
        Template { source: text.to_owned(), nodes: vec![node::TemplateNode::Text(text.to_owned())], names: Vec::new() }
    }

    /// Returns the source text.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns the text of a template without expressions and blocks.
    pub fn literal(&self) -> Option<&str> {
        match self.nodes.as_slice() {
            [] => Some(""),
            [node::TemplateNode::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Returns the dotted paths that the template reads, sorted, without the variables of its own blocks.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// Renders the template; a missing value prints nothing.
    pub fn render<'v>(&self, lookup: impl Fn(&str) -> Option<&'v Value>) -> RenderedTemplate {
        render::render(&self.nodes, &lookup)
    }
}

#[cfg(test)]
mod tests;
